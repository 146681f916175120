import ConcurrencySupport
import Supervision
import WireProtocol

/// The features of a tree, and what each of them does in the life of a coordinator.
struct AllFeatures: TreeFeatures {
    func isMade(_ receiver: any MessageReceiver) { Node.of(receiver).callHeldTimers() }

    func isReady(_ receiver: any MessageReceiver) {
        let node = Node.of(receiver)
        if let timeout = node.type.idleTimeout { node.watchIdleness(timeout) }
    }

    func hasStarted(_ instance: any Coordinator, of receiver: any MessageReceiver) {
        let node = Node.of(receiver)
        if let scene = node.scene(of: instance) { node.attend(scene) }
    }

    func isResumed(_ receiver: any MessageReceiver) { Node.of(receiver).callHeldTimers() }

    func beginsToEnd(_ receiver: any MessageReceiver) { Node.of(receiver).finishBroadcasts() }

    func close(_ instance: any Coordinator, of receiver: any MessageReceiver) async { await Node.of(receiver).scene(of: instance)?.close() }

    func hasEnded(_ receiver: any MessageReceiver) {
        let node = Node.of(receiver)
        node.cancelTimers()
        node.endIdleWatch()
    }

    func childHasEnded(_ path: CoordinatorPath, of parent: any MessageReceiver) { Node.of(parent).rewind(path) }

    func childIsIdle(_ key: String, _ incarnation: Incarnation, of owner: any ChildOwner) {
        ChildSupervisor.of(owner).becameIdle(ChildInstance(key: key, incarnation: incarnation))
    }

    func passesDismissalOn(of child: CoordinatorPath, to parent: any MessageReceiver) -> Bool { Node.of(parent).isFirstOnOwnStack(child) }

    func handle(_ builtin: Builtin, _ envelope: Envelope, at receiver: any MessageReceiver) {
        let node = Node.of(receiver)
        switch builtin {
        case .openRoute: node.accept(envelope, Node.openRow)
        case .reconfigure: node.accept(envelope, Node.reconfigureRow)
        case .readEvents: node.streamEvents(envelope)
        case .watchChild: node.watchChild(envelope)
        case .setPages:
            node.carryOut(envelope) {
                node.setPages(try envelope.message(as: SetPages.self).pages)
                return .none
            }
        case .retire: node.carryOut(envelope) { .value(node.retire()) }
        case .uncovered:
            node.carryOut(envelope) {
                node.post(.popped(try envelope.message(as: Uncovered.self).page))
                return .none
            }
        case .finishPopped:
            node.carryOut(envelope) {
                let popped = try envelope.message(as: FinishPopped.self)
                node.existingChildren?.dismiss(popped.key, popped.incarnation, "was popped")
                return .none
            }
        case .navigate, .readNavigation: node.carryOut(envelope) { throw node.unknown(envelope) }
        }
    }

    func handleOnItsWayUp(_ builtin: Builtin, _ envelope: Envelope, at receiver: any MessageReceiver) {
        Node.of(receiver).climbToPages(envelope, builtin)
    }
}

extension Builtin {
    var type: any BuiltinMessage.Type {
        switch self {
        case .navigate: Navigate.self
        case .readNavigation: ReadNavigation.self
        case .setPages: SetPages.self
        case .uncovered: Uncovered.self
        case .finishPopped: FinishPopped.self
        case .readEvents: ReadEvents.self
        case .watchChild: WatchChild.self
        case .openRoute: OpenRoute.self
        case .reconfigure: Reconfigure.self
        case .retire: Retire.self
        }
    }
}
