import ConcurrencySupport
import Supervision

extension ChildSlot {
    /// A planned change from the present life to the next one, which begins when the present one has finished what it has taken; beside it, if
    /// the child's lives may overlap.
    struct Handover {
        /// The incarnation that gives way.
        let former: Incarnation
        /// The definition that the next life begins with, if it begins beside the present one.
        let definition: ChildDefinition
        /// The process that was prepared for the next life, and hasn't been given it; `nil` for a child without a process that could wait.
        var successor: WorkerHost?
        /// The wait of the handover's caller: for the next life, or for the first failure to start it.
        let start: Start

        /// Whether the process that was prepared is still of use: it waits for its life, or has begun it beside the present one.
        var isUsable: Bool {
            guard let successor else { return true }
            return successor.isAlive && (successor.plan.overlaps || successor.isWaiting)
        }
    }

    /// Removes and returns the process that was prepared for the next life, if it still lives and suits the definition.
    mutating func takeSuccessor() -> WorkerHost? {
        guard let handover, let successor = handover.successor, handover.isUsable,
            !successor.plan.overlaps || handover.definition === definition, case .coordinator(let coordinator) = definition.kind,
            case .worker(_, let program, let plan) = coordinator.place,
            successor.program == program, successor.plan == plan
        else { return nil }
        record.handover?.successor = nil
        return successor
    }
}

extension ChildSupervisor.State {
    /// Notes that a life is told to stop; of several times the first one counts.
    func noteStop(of key: String, _ incarnation: Incarnation) {
        let now = time.now
        slots.with(key) { slot in
            if slot.incarnation == incarnation, slot.record.stoppingSince == nil { slot.record.stoppingSince = now }
        }
    }

    /// Notes that a life leaves beside its successor, which has begun: supervision goes on with that at once.
    ///
    /// - Returns: The life's host; `nil` when the life has no such successor: its end is awaited.
    mutating func leave(_ key: String, _ incarnation: Incarnation) -> WorkerHost? {
        guard phase == .open, isAlive(key), let handover = slots.with(key, \.handover) ?? nil, handover.former == incarnation,
            handover.successor?.plan.overlaps == true, handover.isUsable, let host = host(of: key) as? WorkerHost
        else { return nil }
        leaving.append(host)
        return host
    }

    /// Whether this life of a child gives way to one that was prepared.
    func isHandingOver(_ key: String, from incarnation: Incarnation) -> Bool {
        slots.with(key) { $0.handover?.former == incarnation } == true
    }
}

extension Shutdown {
    /// A time without an end, for what has to have one.
    private static let forEver = Duration.seconds(365 * 86_400)

    /// The same time to end, of which the child uses what it needs to finish what it has taken.
    var drainingFirst: Shutdown {
        switch self {
        case .brutalKill, .draining: self
        case .timeout(let duration): .draining(duration)
        case .infinity: .draining(Self.forEver)
        }
    }
}
