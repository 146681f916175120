import ConcurrencySupport
import Supervision
import WireProtocol

/// The features of a tree, and what each of them does in the life of a coordinator.
struct AllFeatures: TreeFeatures {
    func isMade(_ receiver: any MessageReceiver) { CoordinatorCell.of(receiver).callHeldTimers() }

    func prepare(_ instance: any Coordinator, of receiver: any MessageReceiver) async throws {
        try await (instance as? any DurableCoordinator)?.openFlow(in: .of(receiver))
    }

    func isReady(_ receiver: any MessageReceiver) {
        let cell = CoordinatorCell.of(receiver)
        cell.beginFlows()
        if let timeout = cell.type.idleTimeout { cell.watchIdleness(timeout) }
    }

    func hasStarted(_ instance: any Coordinator, of receiver: any MessageReceiver) {
        let cell = CoordinatorCell.of(receiver)
        if let scene = cell.scene(of: instance) { cell.attend(scene) }
    }

    func hasProvided(_ type: any Sendable.Type, at receiver: any MessageReceiver) {
        if type == FlowStore.self { CoordinatorCell.of(receiver).ownFlows() }
    }

    func isResumed(_ receiver: any MessageReceiver) {
        CoordinatorCell.of(receiver).callHeldTimers()
        CoordinatorCell.of(receiver).goOnWithFlows()
    }

    func beginsToEnd(_ receiver: any MessageReceiver) { CoordinatorCell.of(receiver).finishBroadcasts() }

    func close(_ instance: any Coordinator, of receiver: any MessageReceiver) async {
        await CoordinatorCell.of(receiver).scene(of: instance)?.close()
    }

    func hasEnded(_ receiver: any MessageReceiver) {
        let cell = CoordinatorCell.of(receiver)
        cell.cancelTimers()
        cell.endIdleWatch()
        cell.endFlows()
    }

    func isFlowAwaited(of receiver: any MessageReceiver) -> Bool {
        CoordinatorCell.of(receiver).existingFlows?.flow?.isAwaited == true
    }

    func flowsSnapshot(of receiver: any MessageReceiver) async -> CoordinatorSnapshot.Flows? {
        await CoordinatorCell.of(receiver).flowsSnapshot
    }

    func carryOut(
        _ operation: Operation,
        on rest: ArraySlice<Substring>,
        of receiver: any MessageReceiver,
        _ budget: TimeoutBudget
    ) async throws -> JSONValue {
        let cell = CoordinatorCell.of(receiver)
        return switch operation {
        case .flows: try await cell.listFlows(rest, budget)
        case .flowRecords: try await cell.readOpenFlows(budget)
        default: try await cell.operateFlow(at: rest, budget)
        }
    }

    func tryFlows(_ records: JSONValue) throws { try OpenFlows(decoding: records).check() }

    func childHasEnded(_ path: CoordinatorPath, of parent: any MessageReceiver) { CoordinatorCell.of(parent).rewind(path) }

    func childIsIdle(_ key: String, _ incarnation: Incarnation, of owner: any ChildOwner) {
        ChildSupervisor.of(owner).becameIdle(IncarnationID(key: key, incarnation: incarnation))
    }

    func passesDismissalOn(of child: CoordinatorPath, to parent: any MessageReceiver) -> Bool {
        CoordinatorCell.of(parent).isFirstOnOwnStack(child)
    }

    func handle(_ builtin: Builtin, _ envelope: Envelope, at receiver: any MessageReceiver) {
        let cell = CoordinatorCell.of(receiver)
        switch builtin {
        case .openRoute: cell.accept(envelope, CoordinatorCell.openRow)
        case .reconfigure: cell.accept(envelope, CoordinatorCell.reconfigureRow)
        case .readEvents: cell.streamEvents(envelope)
        case .watchChild: cell.watchChild(envelope)
        case .setPages:
            cell.carryOut(envelope) {
                cell.setPages(try envelope.message(as: SetPages.self).pages)
                return .none
            }
        case .retire: cell.carryOut(envelope) { .value(cell.retire()) }
        case .uncovered:
            cell.carryOut(envelope) {
                cell.post(.popped(try envelope.message(as: Uncovered.self).page))
                return .none
            }
        case .finishPopped:
            cell.carryOut(envelope) {
                let popped = try envelope.message(as: FinishPopped.self)
                cell.existingChildren?.dismiss(popped.key, popped.incarnation, "was popped")
                return .none
            }
        case .navigate, .readNavigation: cell.carryOut(envelope) { throw cell.unknown(envelope) }
        }
    }

    func handleOnItsWayUp(_ builtin: Builtin, _ envelope: Envelope, at receiver: any MessageReceiver) {
        CoordinatorCell.of(receiver).climbToPages(envelope, builtin)
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
