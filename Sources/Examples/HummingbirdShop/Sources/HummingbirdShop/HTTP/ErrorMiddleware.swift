import Coordinators
import HTTPTypes
import Hummingbird

/// Turns the errors of asks into responses: those of the cart by what they mean, those of the runtime by their codes.
struct ErrorMiddleware<Context: RequestContext>: RouterMiddleware {
    func handle(_ request: Request, context: Context, next: (Request, Context) async throws -> Response) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as Cart.UnknownProduct {
            throw HTTPError(.notFound, message: "there is no product \(error.sku)")
        } catch let error as Cart.SoldOut {
            throw HTTPError(.conflict, message: "only \(error.left) of \(error.sku) are left")
        } catch let error as Cart.InvalidQuantity {
            throw HTTPError(.badRequest, message: "the quantity \(error.quantity) isn't one from 1 to 100")
        } catch let error as CoordinatorError {
            if error.status.kind == .serverError { context.logger.warning("A request has failed", metadata: ["error": "\(error)"]) }
            let mayRetry = error.status == .serviceUnavailable
            throw HTTPError(error.status, headers: mayRetry ? [.retryAfter: "1"] : [:], message: error.code.description)
        }
    }
}

extension CoordinatorError {
    /// The status of a response to a request that has failed with this error.
    var status: HTTPResponse.Status {
        switch code {
        case .unhandled, .noSuchPath, .noSuchChild: .notFound
        case .timedOut: .gatewayTimeout
        case .messageTooLarge where !maybeExecuted: .contentTooLarge
        case .messageTooLarge, .coding, .unsupported: .internalServerError
        // Nothing was executed, and the client may send the request again.
        case _ where provesNothingExecuted: .serviceUnavailable
        // The handler may have begun: only the client knows whether to repeat the request.
        case .peerLost, .stopped: .badGateway
        default: .internalServerError
        }
    }
}
