import ConcurrencySupport
import Processes
import WireProtocol

/// The place of a key among a coordinator's children, which stays while lives come and go.
struct ChildSlot {
    /// The phase of the present life, and whether messages go to it.
    enum Phase {
        /// There is no life, and the next one is decided upon: messages wait. `nextAttempt`: the time at which it begins, if not at once.
        /// Can transition to: starting, down.
        case vacant(nextAttempt: MonotonicTime?)
        /// A life begins: messages wait. `earlyExit`: its end, when it has ended before the supervision machine was told of its start.
        /// Can transition to: held, starting, vacant, down.
        case starting(Life, earlyExit: ExitReason?)
        /// The life has begun and gets no messages, because it can't be reached, is being replaced or has crashed: messages wait.
        /// Can transition to: flushing, starting, vacant, down.
        case held(Life)
        /// The messages that have waited are being delivered, before any new one. Can transition to: active, held, starting, vacant, down.
        case flushing(Life)
        /// Messages go to the host. Can transition to: held, starting, vacant, down.
        case active(Life)
        /// There is no life, and only a request begins one. Can transition to: vacant, starting.
        case down(isFailed: Bool)
    }

    /// A life that has begun, and whose end hasn't been reported.
    struct Life {
        let host: any ChildHost
        /// The time at which the life became ready; `nil` before that, and once it has crashed.
        var readySince: MonotonicTime?
    }

    /// The values that hold from one start of the key by a request to the next.
    struct Tenancy {
        /// The number of the tenancy among those of all keys, so that a late clean-up can't affect a later tenancy of the same key.
        let number: UInt64
        let definition: ChildDefinition
    }

    /// The record of the lives so far.
    struct History {
        var incarnation: Incarnation = 0
        var restarts = 0
        var lastExit: ExitReason?
        var lastError: (any Error)?
        /// The output with which the present life has finished.
        var output: Answer?
    }

    /// The calls that wait for the child, and the side that has asked for the change under way.
    struct Requests {
        /// The calls that wait for the child to be ready.
        var starts: [Start] = []
        /// The side that has asked for the start; `nil`: supervision itself has decided.
        var startInitiator: ChildSupervisor.Initiator?
        /// The calls that wait for the end of the life that was told to stop, whatever comes after it.
        var stops: [Stop] = []
        var stopInitiator: ChildSupervisor.Initiator?
        /// The calls that wait for the child's end for good.
        var ends: [End] = []
        /// The requests that watch the present life.
        var watchers: [Envelope] = []
    }

    /// The reasons why the child is paused, which are kept through restarts.
    struct Pausing {
        var reasons: PauseReasons = []
        /// The lock under which pauses and resumes of the child come one after the other; made for the first of them.
        var turn: AsyncLock?
    }

    /// A call that waits for the end of a life that was told to stop.
    struct Stop {
        /// The incarnation that was stopped: a late report about an earlier one isn't the answer.
        let incarnation: Incarnation
        let end: OneShot<Void>
    }

    /// The result that a call gets that waits for the end.
    struct Outcome {
        let end: End
        let result: Result<Answer, any Error>

        func tell() { end.settle(result) }
    }

    typealias Start = OneShot<Result<Void, any Error>>
    typealias End = OneShot<Result<Answer, any Error>>

    var tenancy: Tenancy
    var phase = Phase.vacant(nextAttempt: nil)
    var parking = Parking()
    var history = History()
    var requests = Requests()
    var pausing = Pausing()
    var observers = ChildObservers()
    /// The processes that wait to become the next life.
    var spares: SparePool?

    init(_ tenancy: Tenancy) { self.tenancy = tenancy }

    /// Removes and returns the calls that wait for the end, with their outcomes.
    mutating func takeEnds(otherwise error: CoordinatorError) -> [Outcome] {
        let result: Result<Answer, any Error> = history.output.map { .success($0) } ?? .failure(history.lastError ?? error)
        defer { requests.ends = [] }
        return requests.ends.map { Outcome(end: $0, result: result) }
    }

    /// Ends all calls and messages that wait for the slot, which was removed.
    func settle(with error: CoordinatorError) {
        let failure = history.lastError ?? error
        for start in requests.starts { start.settle(history.output == nil ? .failure(failure) : .success(())) }
        for end in requests.ends { end.settle(history.output.map { .success($0) } ?? .failure(failure)) }
        for stop in requests.stops { stop.end.settle(()) }
        for message in parking.messages { message.envelope.end(.failure(error)) }
    }
}

extension ChildSlot.Phase {
    var life: ChildSlot.Life? {
        switch self {
        case .starting(let life, _), .held(let life), .flushing(let life), .active(let life): life
        case .vacant, .down: nil
        }
    }

    /// Whether messages wait for the next life, which begins at once, or for the present one to take them.
    var isBetweenLives: Bool {
        switch self {
        case .vacant(nextAttempt: nil), .starting, .held: true
        case .vacant, .flushing, .active, .down: false
        }
    }

    /// Holds back messages from the life from now on; without a life, the next one begins at once.
    mutating func hold() {
        switch self {
        case .starting, .held: break
        case .flushing(let life), .active(let life): self = .held(life)
        case .vacant, .down: self = .vacant(nextAttempt: nil)
        }
    }

    /// Does the same as ``hold()``, for a life that isn't ready any more.
    mutating func holdUnready() {
        hold()
        if case .held(let life) = self { self = .held(ChildSlot.Life(host: life.host)) }
    }
}

extension ChildSlot {
    /// The messages that wait for a child.
    struct Parking {
        struct Message {
            let envelope: Envelope
            let rest: ArraySlice<Substring>
            let isDirect: Bool
        }

        /// The number of messages that may wait for a child that isn't ready.
        static let limit = 1_024
        /// The number of bytes that those messages may have together; a single message may wait whatever its size.
        static let bytesLimit = 4 << 20

        private(set) var messages: [Message] = []
        /// The number of messages at the front that have come back from an ended link: they are older than all later ones.
        private var returned = 0
        /// Whether a thread delivers the messages that have waited; newer messages can't overtake them.
        var isBeingDelivered = false

        /// Whether there is a message that isn't handed to a host yet.
        var isBusy: Bool { !messages.isEmpty || isBeingDelivered }

        /// Takes a message, if there is room.
        mutating func take(_ message: Message) -> Bool {
            // A message whose asker has given up takes no room.
            if !hasRoom(for: message.envelope) { _ = remove(where: \.hasEnded) }
            guard hasRoom(for: message.envelope) else { return false }
            messages.append(message)
            return true
        }

        /// Takes a delivered message back, behind the others that have come back and before all later ones.
        mutating func takeBack(_ message: Message) {
            messages.insert(message, at: returned)
            returned += 1
        }

        /// Removes and returns all messages.
        mutating func removeAll() -> [Message] {
            defer { (messages, returned) = ([], 0) }
            return messages
        }

        /// Removes and returns the messages whose envelopes satisfy the condition.
        mutating func remove(where isUnwanted: (Envelope) -> Bool) -> [Message] {
            let removed = messages.filter { isUnwanted($0.envelope) }
            guard !removed.isEmpty else { return [] }
            let unwanted = Set(removed.map { ObjectIdentifier($0.envelope) })
            returned -= messages.prefix(returned).count { unwanted.contains(ObjectIdentifier($0.envelope)) }
            messages.removeAll { unwanted.contains(ObjectIdentifier($0.envelope)) }
            return removed
        }

        /// Returns whether there is room for a message; those that have come back aren't counted, since the limits of a link bound them.
        private func hasRoom(for envelope: Envelope) -> Bool {
            let new = messages.dropFirst(returned)
            guard new.count < Self.limit else { return false }
            return new.isEmpty || new.reduce(envelope.size) { $0 + $1.envelope.size } <= Self.bytesLimit
        }
    }
}

// MARK: - Transitions

extension ChildSlot {
    var definition: ChildDefinition { tenancy.definition }
    var incarnation: Incarnation { history.incarnation }
    /// The present life's host, also while it starts and while it stops.
    var host: (any ChildHost)? { phase.life?.host }

    /// Begins a new tenancy: nothing of the former one counts, although its life may still be stopping.
    mutating func renew(pausedFor reasons: PauseReasons, by initiator: ChildSupervisor.Initiator) {
        pausing.reasons = reasons
        history.output = nil
        history.lastError = nil
        requests.ends = []
        requests.startInitiator = initiator
        phase.hold()
    }

    struct Begun {
        let earlyExit: ExitReason?
        let spares: SparePool?
    }

    /// Notes that the machine is told that the life has begun; messages wait until the machine has reported that.
    mutating func begun(_ incarnation: Incarnation) -> Begun? {
        guard self.incarnation == incarnation, case .starting(let life, let earlyExit) = phase else { return nil }
        phase = .held(life)
        return Begun(earlyExit: earlyExit, spares: spares)
    }

    /// Decides what becomes of a message for the child.
    mutating func accept(_ message: Parking.Message, at path: CoordinatorPath) -> ChildSupervisor.Delivery {
        switch phase {
        case .active(let life): return .delivered(to: life.host)
        case .starting, .held, .flushing, .vacant(nextAttempt: nil): break
        case .vacant(let nextAttempt?):
            if let deadline = message.envelope.deadline, nextAttempt > deadline {
                return .refused(CoordinatorError(.restarting, "\(path) is being restarted, later than the deadline"))
            }
        case .down(let isFailed):
            return .refused(CoordinatorError(.stopped, "\(path) \(isFailed ? "has failed" : "has stopped")"))
        }
        if parking.take(message) { return .parked }
        return .refused(CoordinatorError(.mailboxFull, "as many messages, or bytes of them, wait for \(path) as may"))
    }

    /// Removes and returns the messages to be delivered next, unless a thread delivers already; without any, messages go to the host from
    /// now on.
    mutating func takeParked() -> (any ChildHost, [Parking.Message])? {
        guard case .flushing(let life) = phase, !parking.isBeingDelivered else { return nil }
        let messages = parking.removeAll()
        if messages.isEmpty {
            phase = .active(life)
            return nil
        }
        parking.isBeingDelivered = true
        return (life.host, messages)
    }
}

// MARK: - Description

extension ChildSlot {
    /// Returns the child's state as the operator sees it.
    func state(_ machine: ChildState?) -> CoordinatorSnapshot.State {
        switch machine {
        case .starting: history.restarts > 0 ? .restarting : .starting
        case .running: pausing.reasons.isEmpty ? .active : .paused
        case .stopping: .stopping
        case .waiting: .restarting
        case .stopped, nil:
            if case .down(isFailed: true) = phase { .failed } else { .inactive }
        }
    }

    func snapshot(at path: CoordinatorPath, _ machine: ChildState?) -> CoordinatorSnapshot {
        let placement: CoordinatorSnapshot.Placement =
            switch definition.kind {
            case .program: .program
            case .coordinator: definition.isInWorker ? .worker : .inProcess
            }
        let next = machine?.nextStart
        return CoordinatorSnapshot(
            path: path,
            type: definition.typeName,
            state: state(machine),
            placement: placement,
            processID: host?.process?.processID,
            processStartTime: host?.process?.startTime,
            incarnation: incarnation,
            restarts: history.restarts,
            restartAttempt: next?.attempt,
            nextStartMilliseconds: next.map { max(0, ($0.time - MonotonicTime.now.sinceOrigin).nanosecondsClamped / 1_000_000) },
            uptimeMilliseconds: phase.life?.readySince.map { Int64((MonotonicTime.now - $0).nanosecondsClamped / 1_000_000) },
            lastExit: history.lastExit?.description
        )
    }
}

extension ChildState {
    /// The time and the number of the next start, while the child waits for it.
    fileprivate var nextStart: (time: Duration, attempt: Int)? {
        if case .waiting(let time, let attempt) = self { (time, attempt) } else { nil }
    }
}

// MARK: - The slots of a coordinator

/// The slots of a coordinator's children, by key.
///
/// Each slot is in a box of its own and changed in place, because a table of a hundred thousand slots has as many empty places, which must
/// be small.
struct ChildSlots: Sendable {
    private var boxes: [String: Box<ChildSlot>] = [:]
    private var tenancies: UInt64 = 0

    /// Returns a copy of a slot; `nil` when there is none.
    subscript(key: String) -> ChildSlot? { boxes[key]?.value }

    func contains(_ key: String) -> Bool { boxes[key] != nil }

    /// Reads or changes a slot in place.
    ///
    /// - Returns: `nil` when there is none.
    func with<Result>(_ key: String, _ body: (inout ChildSlot) throws -> Result) rethrows -> Result? {
        guard let box = boxes[key] else { return nil }
        return try body(&box.value)
    }

    /// Gives a key to a child that is started by a request.
    ///
    /// - Returns: The slot as it was before; `nil` when there was none.
    mutating func begin(_ definition: ChildDefinition) -> ChildSlot? {
        tenancies += 1
        let tenancy = ChildSlot.Tenancy(number: tenancies, definition: definition)
        guard let box = boxes[definition.key] else {
            boxes[definition.key] = Box(ChildSlot(tenancy))
            return nil
        }
        let former = box.value
        box.value.tenancy = tenancy
        return former
    }

    mutating func remove(_ key: String) -> ChildSlot? { boxes.removeValue(forKey: key)?.value }

    mutating func removeAll() -> [ChildSlot] {
        defer { boxes = [:] }
        return boxes.values.map(\.value)
    }
}
