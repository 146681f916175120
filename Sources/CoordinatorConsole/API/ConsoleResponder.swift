import Control
import Supervisord

/// Answers the requests of browsers and of Prometheus.
struct ConsoleResponder: Sendable {
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

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        do {
            try gate.checkForm(request)
            try gate.checkHost(request)
            return try await answer(request)
        } catch let refusal as Refusal {
            return .refusal(refusal)
        } catch let error as ControlError {
            return .refusal(Refusal(error))
        } catch {
            return .refusal(Refusal(.internalServerError, "internalError", "\(error)"))
        }
    }

    private func answer(_ request: HTTPRequest) async throws -> HTTPResponse {
        let path = request.path
        if let supervisord, path == SupervisordInterface.path {
            guard request.method == "POST" else {
                throw Refusal(.methodNotAllowed, "methodNotAllowed", "this address answers to POST alone", allowed: "POST")
            }
            return try await supervisord.respond(to: request)
        }
        if let logTail, path.hasPrefix(LogTail.path) {
            guard request.method == "GET" else {
                throw Refusal(.methodNotAllowed, "methodNotAllowed", "this address answers to GET alone", allowed: "GET")
            }
            return try await logTail.respond(to: request)
        }
        let isChange = Changes.operations.contains(path)
        guard isChange || Questions.paths.contains(path) || Asset.all[path] != nil else {
            throw Refusal(.notFound, "noSuchPage", "there is no such page; see /openapi.json")
        }
        switch request.method {
        case "GET" where !isChange, "HEAD" where !isChange: return try await show(path, request)
        case "POST" where isChange:
            try gate.checkChange(request)
            return try await changes.carryOut(path, request)
        default:
            let allowed = isChange ? "POST" : "GET, HEAD"
            throw Refusal(.methodNotAllowed, "methodNotAllowed", "this address answers to \(allowed) alone", allowed: allowed)
        }
    }

    private func show(_ path: String, _ request: HTTPRequest) async throws -> HTTPResponse {
        if let asset = Asset.all[path] { return .asset(asset, known: request[.ifNoneMatch]) }
        // The head of a stream would open it.
        if path == "/api/v1/stream" {
            guard request.method == "GET" else { return .text(.ok, "text/event-stream", .bytes([])) }
            return try await stream.response(to: request)
        }
        return try await questions.answer(path, to: request)
    }
}
