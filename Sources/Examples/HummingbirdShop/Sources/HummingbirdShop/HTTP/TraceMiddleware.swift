import Coordinators
import HTTPTypes
import Hummingbird

/// Gives the trace of the request to the asks that its handler makes, through every process.
struct TraceMiddleware<Context: RequestContext>: RouterMiddleware {
    func handle(_ request: Request, context: Context, next: (Request, Context) async throws -> Response) async throws -> Response {
        let trace = request.headers[.traceparent].map(TraceContext.init(traceparent:))
        return try await TraceContext.$current.withValue(trace) { try await next(request, context) }
    }
}

extension HTTPField.Name {
    static let traceparent = Self("traceparent")!
}
