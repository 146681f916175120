import ConcurrencySupport
import Logging
import Synchronization

extension Node {
    /// Sends a request between runtimes, and waits for the answer.
    func request(
        _ message: some BuiltinMessage,
        by deadline: MonotonicTime? = nil,
        dispatch: (Envelope) -> Void
    ) async throws -> Answer {
        try await Envelope(.value(message), sender: path, deadline: deadline, isBuiltin: true).delivered(in: openAsks, by: dispatch)
    }

    /// Handles a message of the runtime on its way up.
    func climbBuiltin(_ envelope: Envelope) {
        guard let builtin = Builtin(named: envelope.body.name) else { return carryOut(envelope) { throw unknown(envelope) } }
        runtime.features.handleOnItsWayUp(builtin, envelope, at: self)
    }

    /// Handles a message of the runtime for this coordinator, or has the node handle it that has the child which it's about.
    func acceptBuiltin(_ envelope: Envelope) {
        // The root's children may be on other nodes.
        if parent == nil, let nodes = runtime.placed, let key = child(of: envelope) {
            let message = ParkedMessage(envelope: envelope, rest: [], isDirect: false)
            if nodes.take(message, for: key) { return }
        }
        acceptBuiltinHere(envelope)
    }

    /// Returns the key of the child that a message of the runtime is about.
    private func child(of envelope: Envelope) -> String? {
        switch Builtin(named: envelope.body.name) {
        case .readEvents: try? envelope.message(as: ReadEvents.self).key
        case .watchChild: try? envelope.message(as: WatchChild.self).key
        default: nil
        }
    }

    /// Handles a message of the runtime for this coordinator, on this node.
    func acceptBuiltinHere(_ envelope: Envelope) {
        guard let builtin = Builtin(named: envelope.body.name) else { return carryOut(envelope) { throw unknown(envelope) } }
        runtime.features.handle(builtin, envelope, at: self)
    }

    func unknown(_ envelope: Envelope) -> CoordinatorError {
        CoordinatorError(.unhandled, "\(path) doesn't know \(envelope.body.name)")
    }

    func watchChild(_ envelope: Envelope) {
        guard let key = try? envelope.message(as: WatchChild.self).key, let children = existingSupervision else {
            return envelope.end(.failure(CoordinatorError(.noSuchPath, "\(path) has no children")))
        }
        children.watch(key, envelope)
    }

    func carryOut(_ envelope: Envelope, _ body: () throws -> Answer) {
        do {
            envelope.complete(.success(try body()))
        } catch {
            let metadata: Logger.Metadata = [
                "coordinator.path": "\(path)", "message.name": "\(envelope.body.name.shortened)", "error": "\("\(error)".shortened)",
            ]
            runtime.violations.note(by: path.description) { [logger = runtime.logger] others in
                logger.error("a message of the runtime failed", metadata: metadata.counting(others))
            }
            envelope.complete(.failure(error))
        }
        envelope.release()
    }
}
