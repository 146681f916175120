import Control
import HTTPTypes
import Hummingbird
import Supervisord

/// Answers the requests of browsers and of Prometheus.
struct ConsoleResponder: HTTPResponder {
    let configuration: ConsoleConfiguration
    let gate: RequestGuard
    let questions: Questions
    let changes: Changes
    let stream: TreeStream
    /// What answers clients of supervisord, where the configuration allows it.
    let supervisord: SupervisordInterface?
    /// What follows logs for them.
    let logTail: LogTail?

    init(_ configuration: ConsoleConfiguration, daemon: DaemonConnection, feed: Feed) {
        self.configuration = configuration
        gate = RequestGuard(configuration)
        questions = Questions(daemon: daemon, feed: feed, isReadOnly: gate.isReadOnly)
        changes = Changes(daemon: daemon, traces: questions.traces)
        stream = TreeStream(feed: feed)
        let methods = configuration.answersSupervisorctl ? SupervisordMethods(daemon: daemon) : nil
        supervisord = methods.map { [gate] in SupervisordInterface(methods: $0, gate: gate) }
        logTail = methods.map { [gate] in LogTail(methods: $0, gate: gate) }
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
        if let supervisord, path == SupervisordInterface.path {
            guard request.method == .post else {
                throw Refusal(.methodNotAllowed, "methodNotAllowed", "this address answers to POST alone", allowed: "POST")
            }
            return try await supervisord.respond(to: request, context)
        }
        if let logTail, path.hasPrefix(LogTail.path) {
            guard request.method == .get else {
                throw Refusal(.methodNotAllowed, "methodNotAllowed", "this address answers to GET alone", allowed: "GET")
            }
            return try await logTail.respond(to: request, context)
        }
        let isChange = Changes.operations.contains(path)
        guard isChange || Questions.paths.contains(path) || Asset.all[path] != nil else {
            throw Refusal(.notFound, "noSuchPage", "there is no such page; see /openapi.json")
        }
        switch request.method {
        case .get where !isChange: return try await show(path, request, context)
        case .head where !isChange: return try await show(path, request, context).createHeadResponse()
        case .post where isChange:
            try gate.checkChange(request.head)
            return try await changes.carryOut(path, request, context)
        default:
            let allowed = isChange ? "POST" : "GET, HEAD"
            throw Refusal(.methodNotAllowed, "methodNotAllowed", "this address answers to \(allowed) alone", allowed: allowed)
        }
    }

    private func show(_ path: String, _ request: Request, _ context: ConsoleRequestContext) async throws -> Response {
        if let asset = Asset.all[path] { return .asset(asset, known: request.headers[.ifNoneMatch]) }
        // The head of a stream would open it.
        if path == "/api/v1/stream" {
            guard request.method == .get else { return .text(.ok, "text/event-stream", ResponseBody()) }
            return try await stream.response(to: request, context)
        }
        return try await questions.answer(path, Parameters(request.uri))
    }
}
