import Control
import Coordinators
import WireProtocol

/// Carries out what operators ask of the tree.
struct OperatorDesk: ControlHandler {
    let runtime: CoordinatorRuntime
    let shutdown: Shutdowns

    func handle(_ operation: Operation) async throws(ControlError) -> JSONValue {
        do {
            return try await perform(operation)
        } catch {
            throw ControlError(error)
        }
    }

    private func perform(_ operation: Operation) async throws -> JSONValue {
        switch operation {
        case .tree: try ControlJSON.value(of: TreeNode(await runtime.snapshot()))
        case .ps: try ControlJSON.value(of: ProcessList(await runtime.snapshot()))
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
        case .shutdown:
            await endEverything()
        }
    }

    private func ask(_ message: String, _ payload: JSONValue, at path: CoordinatorPath, timeout: Duration) async throws -> JSONValue {
        let start = ContinuousClock.now
        let reply = try await runtime.ask(named: message, payload: payload, at: path, timeout: timeout)
        let duration = ContinuousClock.now - start
        return try ControlJSON.value(of: AskResult(reply: reply, durationMicroseconds: Int64(duration / .microseconds(1))))
    }

    private func endEverything() async -> JSONValue {
        shutdown.request()
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
