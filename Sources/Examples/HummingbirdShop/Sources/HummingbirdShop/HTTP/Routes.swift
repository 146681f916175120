import Coordinators
import CoordinatorsObservability
import HTTPTypes
import Hummingbird
import NIOCore

extension Cart.Contents: ResponseEncodable {}
extension Cart.Receipt: ResponseEncodable {}

/// Returns the routes of the shop: each asks a coordinator and returns its reply.
func shopRouter(_ runtime: CoordinatorRuntime) -> Router<BasicRequestContext> {
    let router = Router()
    router.addMiddleware {
        TraceMiddleware()
        ErrorMiddleware()
    }
    router.get("/cart") { _, _ in try await runtime.cart.ask(Cart.Show()) }
    router.post("/cart/:sku") { request, context in
        let sku = try context.parameters.require("sku")
        let text = request.uri.queryParameters.get("quantity") ?? "1"
        guard let quantity = Int(text) else { throw HTTPError(.badRequest, message: "the quantity is no number") }
        return try await runtime.cart.ask(Cart.Add(sku: sku, quantity: quantity), timeout: .seconds(2))
    }
    router.post("/checkout") { request, _ in
        let milliseconds = request.uri.queryParameters.get("milliseconds", as: Int.self) ?? 0
        let receipt = try await runtime.cart.ask(Cart.Checkout(milliseconds: milliseconds), timeout: .seconds(2))
        try await runtime.cart.ask(Cart.Clear())
        return receipt
    }
    router.get("/cart/changes") { request, _ in
        let sku = request.uri.queryParameters.get("sku")
        return eventStream(of: try await runtime.cart.stream(Cart.Watch(sku: sku)).accepted(), for: request)
    }
    router.get("/live") { _, _ in await runtime.health().isLive ? HTTPResponse.Status.ok : .serviceUnavailable }
    router.get("/ready") { _, _ in
        let health = await runtime.health()
        return EditedResponse(
            status: health.isReady ? .ok : .serviceUnavailable,
            response: health.findings.map(\.description).joined(separator: "\n")
        )
    }
    router.get("/metrics") { _, _ in
        let text = await runtime.prometheusText()
        let type = CoordinatorRuntime.prometheusMediaType
        return Response(status: .ok, headers: [.contentType: type], body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
    return router
}

extension CoordinatorRuntime {
    fileprivate var cart: CoordinatorHandle<CartCoordinator> {
        get throws { try coordinator(CartCoordinator.self, at: "/cart") }
    }
}
