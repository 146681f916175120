import Control
import Coordinators
import Logging
import WireProtocol

/// Carries out what operators ask of the tree.
struct OperatorDesk: ControlHandler {
    private let runtime: CoordinatorRuntime
    private let shutdown: Shutdowns
    private let logger: Logger
    /// Operators who ask at the same time are shown the same tree, made once.
    private let tree: SharedCall<JSONValue>
    private let processes: SharedCall<JSONValue>

    init(runtime: CoordinatorRuntime, shutdown: Shutdowns, logger: Logger) {
        self.runtime = runtime
        self.shutdown = shutdown
        self.logger = logger
        tree = SharedCall { try ControlJSON.value(of: TreeNode(await runtime.snapshot())) }
        processes = SharedCall { try ControlJSON.value(of: ProcessList(await runtime.snapshot())) }
    }

    func handle(_ operation: Operation, from requester: Requester) async throws(ControlError) -> JSONValue {
        record(operation, from: requester)
        do {
            return try await perform(operation)
        } catch {
            throw ControlError(error)
        }
    }

    /// Who has changed what.
    private func record(_ operation: Operation, from requester: Requester) {
        guard operation.isMutating else { return }
        var metadata: Logger.Metadata = [
            "operation": "\(operation.name)", "operator.uid": "\(requester.userID)", "operator.pid": "\(requester.processID)",
        ]
        if let path = operation.path { metadata["coordinator.path"] = "\(path)" }
        // What is sent may be sent often.
        let isMessage = operation.name == "ask" || operation.name == "send"
        logger.log(level: isMessage ? .info : .notice, "an operator has asked", metadata: metadata)
    }

    private func perform(_ operation: Operation) async throws -> JSONValue {
        switch operation {
        case .tree: try await tree.value()
        case .ps: try await processes.value()
        case .status(let path): try ControlJSON.value(of: TreeNode(await runtime.snapshot(of: try place(path))))
        case .start(let path): try ControlJSON.value(of: LifecycleResult(await runtime.start(try place(path))))
        case .stop(let path): try ControlJSON.value(of: LifecycleResult(await runtime.stop(try place(path))))
        case .restart(let path): try ControlJSON.value(of: LifecycleResult(await runtime.restart(try place(path))))
        case .pause(let path): try ControlJSON.value(of: LifecycleResult(await runtime.pause(try place(path))))
        case .resume(let path): try ControlJSON.value(of: LifecycleResult(await runtime.resume(try place(path))))
        case .kill(let path): try ControlJSON.value(of: LifecycleResult(await runtime.kill(try place(path))))
        case .ask(let path, let message, let payload, let timeout):
            try await ask(message, payload, at: try place(path), timeout: timeout)
        case .send(let path, let message, let payload):
            try ControlJSON.value(of: SendResult(delivered: await runtime.send(named: message, payload: payload, at: try place(path))))
        case .deadLetters:
            try ControlJSON.value(of: DeadLetterList(runtime.deadLetters))
        case .ping:
            [:]
        case .shutdown(let now):
            await endEverything(now: now)
        }
    }

    private func ask(_ message: String, _ payload: JSONValue, at path: CoordinatorPath, timeout: Duration) async throws -> JSONValue {
        let start = ContinuousClock.now
        let reply = try await runtime.ask(named: message, payload: payload, at: path, timeout: timeout)
        let duration = ContinuousClock.now - start
        return try ControlJSON.value(of: AskResult(reply: reply, durationMicroseconds: Int64(duration / .microseconds(1))))
    }

    private func endEverything(now: Bool) async -> JSONValue {
        if now {
            shutdown.hasten(.brutalKill)
        } else if shutdown.isRequested {
            // Whoever asks again finds that it takes too long.
            shutdown.hasten(.timeout(Shutdowns.hurriedGrace))
        } else {
            shutdown.begin()
        }
        await shutdown.completed()
        return [:]
    }

    private func place(_ text: String) throws(ControlError) -> CoordinatorPath {
        guard let path = CoordinatorPath(text) else {
            throw ControlError(.invalidRequest, "'\(text)' is no path; one begins with a slash, as /shop/cart does")
        }
        return path
    }
}

extension ControlError {
    init(_ error: any Error) {
        switch error {
        case let error as ControlError: self = error
        case let error as CoordinatorError: self.init(Code(error.code), error.message)
        case let error as RemoteError: self.init(.failed, "\(error.type): \(error.description)")
        case is CancellationError: self.init(.cancelled, "the request was cancelled")
        default: self.init(.failed, "\(error)")
        }
    }
}

extension ControlError.Code {
    init(_ code: CoordinatorError.Code) {
        switch code {
        case .noSuchPath, .noSuchChild: self = .noSuchPath
        case .unhandled: self = .unhandled
        case .timedOut, .startTimedOut, .restarting: self = .timedOut
        case .stopped: self = .notRunning
        case .coding, .unsupported, .notAWorker: self = .invalidRequest
        default: self = .failed
        }
    }
}
