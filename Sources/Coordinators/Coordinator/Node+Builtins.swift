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
        // Pages that are shown below must be rewound from here.
        runtime.hasNavigated.store(true, ordering: .relaxed)
        guard let node = navigationOwner else { return leaveProcess(envelope) }
        node.carryOut(envelope) {
            switch Builtin(named: envelope.body.name) {
            case .navigate:
                node.apply(try envelope.message(as: Navigate.self))
                return .none
            case .readNavigation: return .value(node.ownNavigation?.entries ?? [])
            default: throw CoordinatorError(.unhandled, "\(node.path) doesn't know \(envelope.body.name)")
            }
        }
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
        switch Builtin(named: envelope.body.name) {
        case .openRoute: accept(envelope, Self.openRow)
        case .reconfigure: accept(envelope, Self.reconfigureRow)
        case .readEvents: streamEvents(envelope)
        case .watchChild: watchChild(envelope)
        case .setPages:
            carryOut(envelope) {
                setPages(try envelope.message(as: SetPages.self).pages)
                return .none
            }
        case .retire: carryOut(envelope) { .value(retire()) }
        case .uncovered:
            carryOut(envelope) {
                post(.popped(try envelope.message(as: Uncovered.self).page))
                return .none
            }
        case .finishPopped:
            carryOut(envelope) {
                let popped = try envelope.message(as: FinishPopped.self)
                existingSupervision?.dismiss(popped.key, popped.incarnation, "was popped")
                return .none
            }
        case .navigate, .readNavigation, nil:
            carryOut(envelope) { throw CoordinatorError(.unhandled, "\(path) doesn't know \(envelope.body.name)") }
        }
    }

    private func watchChild(_ envelope: Envelope) {
        guard let key = try? envelope.message(as: WatchChild.self).key, let children = existingSupervision else {
            return envelope.end(.failure(CoordinatorError(.noSuchPath, "\(path) has no children")))
        }
        children.watch(key, envelope)
    }

    private func carryOut(_ envelope: Envelope, _ body: () throws -> Answer) {
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
