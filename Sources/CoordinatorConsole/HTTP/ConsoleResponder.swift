import Control
import HTTPTypes
import Hummingbird

/// Answers the requests of browsers and of Prometheus.
struct ConsoleResponder: HTTPResponder {
    let configuration: ConsoleConfiguration
    let gate: RequestGuard
    let questions: Questions
    let changes: Changes
    let stream: TreeStream

    init(_ configuration: ConsoleConfiguration, daemon: DaemonConnection, feed: Feed) {
        self.configuration = configuration
        gate = RequestGuard(configuration)
        questions = Questions(daemon: daemon, feed: feed, isReadOnly: gate.isReadOnly)
        changes = Changes(daemon: daemon, traces: questions.traces)
        stream = TreeStream(feed: feed)
    }

    func respond(to request: Request, context: ConsoleRequestContext) async throws -> Response {
        do {
            try gate.checkHost(request.head)
            return try await answer(request, context)
        } catch let refusal as Refusal {
            return .refusal(refusal)
        } catch let error as ControlError {
            return .refusal(Refusal(error))
        }
    }

    private func answer(_ request: Request, _ context: ConsoleRequestContext) async throws -> Response {
        let path = request.uri.path
        switch request.method {
        case .get, .head:
            if Changes.operations.contains(path) { throw Self.methodNotAllowed }
            let response = try await show(path, request, context)
            return request.method == .head ? response.createHeadResponse() : response
        case .post:
            guard Changes.operations.contains(path) else {
                throw Questions.paths.contains(path) || Asset.all[path] != nil ? Self.methodNotAllowed : Self.noSuchPage
            }
            try gate.checkChange(request.head)
            return try await changes.carryOut(path, request, context)
        default: throw Self.methodNotAllowed
        }
    }

    private func show(_ path: String, _ request: Request, _ context: ConsoleRequestContext) async throws -> Response {
        if let asset = Asset.all[path] { return .asset(asset, known: request.headers[.ifNoneMatch]) }
        if path == "/api/v1/stream", request.method == .get { return try await stream.response(to: request, context) }
        guard let response = try await questions.answer(path, Parameters(request.uri)) else { throw Self.noSuchPage }
        return response
    }

    private static let methodNotAllowed = Refusal(.methodNotAllowed, "methodNotAllowed", "this address doesn't answer to the method")
    private static let noSuchPage = Refusal(.notFound, "noSuchPage", "there is no such page; see /openapi.json")
}
