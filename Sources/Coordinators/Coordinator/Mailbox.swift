import ConcurrencySupport
import DequeModule
import WireProtocol

/// The waiting and the running messages of a coordinator, as plain state under its cell's lock.
///
/// Messages wait in three lanes, and each lane keeps its order: those of rows that interleave, those of the coordinator's own subtree, and
/// all others. Notices (what children's lives and events tell) are in one order with them, but neither a pause nor a full mailbox holds them
/// up. `bytes` and `count` are of all that waits or runs, and the policy bounds them; what waits for a dependency stays
/// counted. Closed, it takes no message, and has given back all that waited.
///
/// A handler that awaits takes a place, of which the policy has `running`. A row that doesn't await ends before the next message begins: it
/// needs a free place, and takes none. A one-way message for such a row, which finds nothing that waits in a lane, begins before all that
/// comes later: it needs neither an envelope nor a lane.
struct Mailbox {
    /// A message, or a notice to the coordinator; each begins in the order of its arrival.
    enum Item {
        case message(Envelope, MessageRow)
        case lifecycle(AnyChild, LifecycleChange)
        case event(AnyChild, Answer)
        case dismissal(AnyChild, OneShot<DismissalDecision>)
        case popped(JSONValue?)
        case unhandled(UnhandledMessage)

        var envelope: Envelope? {
            if case .message(let envelope, _) = self { envelope } else { nil }
        }

        /// Whether it's a message of a row that doesn't await.
        var endsAtOnce: Bool {
            if case .message(_, let row) = self { row.immediate != nil } else { false }
        }

        /// Whether the oldest is dropped when too many wait: other coordinators, also those of workers that mean harm, cause any number of them.
        var isEvent: Bool {
            switch self {
            case .event, .popped, .unhandled: true
            case .message, .lifecycle, .dismissal: false
            }
        }

        fileprivate var eventBytes: Int {
            switch self {
            case .event(_, let event): event.receivedBytes
            case .popped(let page): page?.bytesInMemory ?? 0
            case .unhandled(let message): message.name.utf8.count + message.sender.description.utf8.count
            case .message, .lifecycle, .dismissal: 0
            }
        }
    }

    /// The decision about a message that arrives.
    enum Admission {
        /// The message is accepted.
        case admitted
        /// The message is accepted, and its sender waits for it to begin.
        case delayed
        /// The message is accepted instead of these.
        case instead(of: [(Envelope, MessageRow)])
        case refused
        case dropped
    }

    /// The number of events of children, and of other notices that others cause, that may wait.
    static let eventLimit = 1_024
    /// The number of bytes of events from other processes that may wait for a parent, or for an observer; one may wait whatever its size.
    static let eventBytesLimit = 4 << 20

    /// The number of handlers of one kind that may run beyond the policy's limit: of rows that interleave, or for the coordinator's own
    /// subtree.
    static let interleavingLimit = 1_024

    /// The number of messages that begin with one look at the mailbox.
    static let batchLimit = 64

    /// The limit from which on only some handlers have to say when they wait.
    private static let manyHandlers = 256

    /// A notice and its turn among all items that have arrived.
    private struct Notice {
        let turn: UInt64
        let item: Item
    }

    /// A message that waits for the dependencies of its row.
    private struct Needing {
        let lane: WaitingMessages.Lane
        let envelope: Envelope
        let row: MessageRow
    }

    private struct Others: Emptiable {
        /// The notices, which neither a pause nor a full mailbox delays.
        var notices: Deque<Notice> = []
        var needing: Deque<Needing> = []
        /// The number of events that wait or are handled, and their bytes.
        var events = 0
        var eventBytes = 0

        var isEmpty: Bool { notices.isEmpty && needing.isEmpty && events == 0 }
    }

    private struct Flags: OptionSet {
        let rawValue: UInt8

        static let paused = Flags(rawValue: 1)
        static let running = Flags(rawValue: 2)
        static let closed = Flags(rawValue: 4)
        static let wasFull = Flags(rawValue: 8)

        mutating func set(_ flag: Flags, _ isSet: Bool) { if isSet { insert(flag) } else { remove(flag) } }
    }

    /// The policy of the coordinator's type, which never changes, and which all of its mailboxes share.
    private let limits: Box<MailboxPolicy>
    private var messages = WaitingMessages()
    /// The messages without envelopes, which are older than all that wait in lanes; `nil`: none wait or run.
    private var accepted: AcceptedMessages?
    private var storedOthers = LazyStorage<Others>()
    private var last: UInt64 = 0
    private(set) var bytes = 0
    private var runningBytes = 0
    /// The number of messages that the coordinator has handled, those that failed included.
    private(set) var handled: UInt64 = 0
    #if !SLOW_PATH_ONLY
    /// The asks that are on their way to the coordinator in their askers' tasks: nothing may overtake them.
    var reservations = Reservations()
    #endif
    private var flags: Flags = []
    /// The number of running handlers of rows that interleave.
    private var interleaving: Int16 = 0
    /// The number of messages that wait or run.
    ///
    /// This and the other small numbers take 32 bits each, because every coordinator has a mailbox.
    private var count: Int32 = 0
    private var running: Int32 = 0
    /// The number of running handlers that have taken a place.
    private var places: Int32 = 0
    /// The number of running handlers that have taken a place, and don't say when they wait for other coordinators.
    private var unobservedPlaces: Int32 = 0
    /// The number of running handlers that wait for other coordinators; for a moment it may be less than zero.
    private var waitingHandlers: Int32 = 0
    /// The number of messages for inline rows that wait or run here: later ones must not overtake them.
    private var inline: Int32 = 0
    /// The number of waiting messages that share an envelope with one before them.
    private var sharing: Int32 = 0
    private var arrivalsWhileFull: Int32 = 0

    init(_ limits: Box<MailboxPolicy>) { self.limits = limits }

    private(set) var isPaused: Bool {
        get { flags.contains(.paused) }
        set { flags.set(.paused, newValue) }
    }

    private(set) var isRunning: Bool {
        get { flags.contains(.running) }
        set { flags.set(.running, newValue) }
    }

    /// Whether there was no room for a message without an envelope, when one came last.
    private var wasFull: Bool {
        get { flags.contains(.wasFull) }
        set { flags.set(.wasFull, newValue) }
    }

    private var isClosed: Bool { flags.contains(.closed) }

    /// What is neither a message of a lane nor one without an envelope; most mailboxes never have any.
    private var others: Others {
        _read { yield storedOthers.value }
        _modify { yield &storedOthers.value }
    }

    private var hasNotices: Bool { !storedOthers.isEmpty && !others.notices.isEmpty }

    /// Returns a number that no other item, and no handler, has or had.
    mutating func nextNumber() -> UInt64 {
        last += 1
        return last
    }

    var policy: MailboxPolicy { limits.value }

    /// What will come without having been taken, and has its room; nothing without shortcuts.
    var reserved: (count: Int, bytes: Int) {
        #if !SLOW_PATH_ONLY
        (Int(reservations.count), reservations.bytes)
        #else
        (0, 0)
        #endif
    }

    /// Takes a message, as the policy demands.
    ///
    /// - Parameters:
    ///   - isFromSubtree: Whether its sender is a coordinator below, or one of the coordinator's own handlers.
    ///   - isNeeding: Whether a dependency of its row isn't provided yet.
    mutating func enqueue(_ envelope: Envelope, _ row: MessageRow, isFromSubtree: Bool = false, isNeeding: Bool) -> Admission {
        // A message must not begin before messages of the same row that wait already.
        let isNeeding = isNeeding || !row.needs.isEmpty && hasNeeding && others.needing.contains { $0.row.index == row.index }
        let lane: WaitingMessages.Lane = row.interleaves ? .interleaving : isFromSubtree ? .subtree : .ordinary
        let admission = makeRoom(for: envelope, in: isNeeding ? nil : lane)
        switch admission {
        case .refused, .dropped: return admission
        case .admitted, .delayed, .instead: break
        }
        count += Int32(envelope.count)
        bytes += envelope.size
        if row.inline != nil { inline += 1 }
        if isNeeding {
            others.needing.append(Needing(lane: lane, envelope: envelope, row: row))
        } else {
            append(envelope, row, to: lane)
        }
        return admission
    }

    /// Decides about a message, and drops others for it if the policy says so.
    ///
    /// - Parameter lane: The lane of the message; `nil` if it waits for a dependency.
    private mutating func makeRoom(for envelope: Envelope, in lane: WaitingMessages.Lane?) -> Admission {
        guard isFull(for: envelope, in: lane) else { return .admitted }
        forgetWithdrawn()
        guard isFull(for: envelope, in: lane) else { return .admitted }
        switch policy.whenFull {
        case .wait: return .delayed
        case .fail: return .refused
        case .dropNewest: return .dropped
        case .dropOldest:
            var oldest: [(Envelope, MessageRow)] = []
            // What has no room beside those that run would be no more welcome if nothing waited.
            if running > 0, runningBytes + reserved.bytes + envelope.size > policy.bytes { return .dropped }
            // A message that runs already can't be dropped.
            while isFull(for: envelope, in: lane), let next = removeOldestMessage() { oldest.append(next) }
            return oldest.isEmpty ? .dropped : .instead(of: oldest)
        }
    }

    /// Takes a one-way message without an envelope, unless something else is to be decided about it, or other messages or notices wait.
    mutating func take(_ message: @autoclosure () -> AcceptedMessage, of size: Int) -> Bool {
        guard places < policy.running, !isPaused, Int(count) == Int(running) + acceptedCount, !hasNotices else { return false }
        wasFull = isCrowded || !hasRoom || bytes + reserved.bytes + size > policy.bytes
        guard !wasFull else { return false }
        count += 1
        bytes += size
        let accepted = accepted ?? AcceptedMessages()
        accepted.append(message())
        self.accepted = accepted
        return true
    }

    /// Takes an item that isn't a message.
    ///
    /// - Returns: The events that were dropped to make room.
    mutating func append(_ item: Item) -> [Item] {
        others.notices.append(Notice(turn: nextNumber(), item: item))
        guard item.isEvent else { return [] }
        others.events += 1
        others.eventBytes += item.eventBytes
        var dropped: [Item] = []
        while others.events > Self.eventLimit || others.events > 1 && others.eventBytes > Self.eventBytesLimit,
            let oldest = others.notices.firstIndex(where: { $0.item.isEvent })
        {
            let item = others.notices.remove(at: oldest).item
            forgetEvent(item)
            dropped.append(item)
        }
        return dropped
    }

    private mutating func forgetEvent(_ item: Item) {
        others.events -= 1
        others.eventBytes -= item.eventBytes
    }

    /// The number of messages that wait or run.
    var messageCount: Int { Int(count) }

    /// The number of messages that have left the queue, and whose handlers have not ended.
    var takenCount: Int { Int(running) }

    /// The time at which the oldest message that waits for a handler was sent or arrived.
    var oldestArrival: MonotonicTime? { accepted?.oldestArrival ?? messages.oldestArrival }

    /// The messages that wait for the dependencies of their rows.
    var messagesForDependencies: some Sequence<Envelope> { others.needing.lazy.map(\.envelope) }

    /// The number of queued messages whose askers don't wait any more, as after a time-out: no handler will begin for them.
    var withdrawnCount: Int { messagesInEnvelopes.reduce(0) { $0 + ($1.isWithdrawn ? $1.count : 0) } }

    /// The messages that haven't begun.
    var waitingMessages: [Envelope] { (accepted?.all.map(\.envelope) ?? []) + messagesInEnvelopes }

    private var messagesInEnvelopes: [Envelope] { messages.all + others.needing.map(\.envelope) }

    /// Whether nothing waits and nothing runs.
    var isIdle: Bool { count == 0 && !hasNotices && flags.isDisjoint(with: [.paused, .running]) }

    /// Notes a message that is handled without a place here.
    mutating func noteHandled() { handled &+= 1 }

    /// Notes that draining begins, if there is a need.
    ///
    /// - Returns: Whether the caller has to begin draining.
    mutating func beginRun() -> Bool {
        guard count > 0 || hasNotices, !isRunning, reserved.count == 0 else { return false }
        return continuesRun()
    }

    /// Ends the run, unless there is more to begin.
    ///
    /// - Returns: Whether draining goes on.
    mutating func continuesRun() -> Bool {
        isRunning = !isClosed && (hasNotices || count > 0 && (!isPaused && acceptedCount > 0 || nextMessage != nil))
        if !isRunning { releaseMemory() }
        return isRunning
    }

    /// Removes and returns the next items to begin, about as many as a batch has; none when draining has ended.
    mutating func takeBatch() -> [Item] {
        var batch: [Item] = []
        var size = 0
        while size < Self.batchLimit, !isClosed, let item = takeNext() {
            batch.append(item)
            size += item.envelope?.count ?? 1
        }
        if batch.isEmpty {
            isRunning = false
            releaseMemory()
        }
        return batch
    }

    /// A mailbox that has nothing to do has no memory for messages.
    private mutating func releaseMemory() { if acceptedCount == 0 { accepted = nil } }

    /// Removes a batch of messages without envelopes, which begin before all other items.
    ///
    /// - Parameter taken: The place for them, which is empty; its memory is used again.
    mutating func takeAccepted(into taken: inout AcceptedMessages.Batch) {
        guard let accepted else { return }
        accepted.since = nil
        guard !isPaused, !isClosed else { return }
        runningBytes += accepted.take(into: &taken)
        running += Int32(taken.count)
    }

    /// The number of messages without envelopes that wait.
    private var acceptedCount: Int { accepted?.count ?? 0 }

    /// The arrival of the oldest of the messages without envelopes that are handled one after the other at the moment.
    var acceptedSince: MonotonicTime? { accepted?.since }

    /// Messages without envelopes that have ended, and are still counted.
    struct Tally {
        private(set) var count: Int32 = 0
        private(set) var bytes = 0

        mutating func add(_ size: Int) {
            count += 1
            bytes += size
        }
    }

    /// Forgets messages that have ended.
    mutating func forget(_ tally: Tally) {
        count -= tally.count
        running -= tally.count
        bytes -= tally.bytes
        runningBytes -= tally.bytes
        handled &+= UInt64(tally.count)
    }

    /// - Parameters:
    ///   - isHandled: Whether a handler has had the item, rather than that it has been withdrawn.
    ///   - wasUnobserved: Whether it has had a handler that didn't say when it waited.
    mutating func ended(_ item: Item, isHandled: Bool = true, wasUnobserved: Bool) {
        switch item {
        case .message(let envelope, let row):
            forget(envelope, row)
            if isHandled { handled &+= UInt64(envelope.count) }
            running -= Int32(envelope.count)
            runningBytes -= envelope.size
            if row.interleaves { interleaving -= 1 } else if row.immediate == nil { places -= 1 }
            if wasUnobserved, !row.interleaves { unobservedPlaces -= 1 }
        case .event, .popped, .unhandled: forgetEvent(item)
        case .lifecycle, .dismissal: break
        }
    }

    /// Notes that the handler of an item begins.
    ///
    /// Of many handlers that may run, only those need to be observed that begin when half of them run, or with half of the bytes: there are some
    /// before either limit is reached. What isn't a message takes no place: nothing is held back while it waits.
    ///
    /// - Returns: Whether the handler has to say when it waits for other coordinators.
    mutating func observesHandler(of item: Item) -> Bool {
        guard case .message(_, let row) = item else { return false }
        if policy.running < Self.manyHandlers || places > policy.running / 2 || runningBytes > policy.bytes / 2 { return true }
        if !row.interleaves { unobservedPlaces += 1 }
        return false
    }

    /// Notes that a running handler begins to wait for other coordinators: messages of the subtree may begin.
    mutating func handlerWaits() { waitingHandlers += 1 }

    /// Notes that a handler doesn't wait for other coordinators any more.
    mutating func handlerWaitsNoMore() { waitingHandlers -= 1 }

    /// Whether a message for an inline row needn't wait: no pause holds it back, and it overtakes no earlier one.
    var admitsInline: Bool { !isPaused && inline == 0 }

    /// Whether messages of other coordinators have to wait until one of the handlers ends, all of which wait themselves.
    var isHeldUp: Bool { waitingHandlers > 0 && waitingHandlers >= places && places >= policy.running && !isPaused }

    /// Whether any running handler waits for other coordinators.
    var isAnyHandlerWaiting: Bool { waitingHandlers > 0 }

    /// The asks that are held up.
    var heldUpMessages: [Envelope] { isHeldUp ? messages.ofOrdinaryLane.filter(\.isOpenAsk) : [] }

    /// Whether an ask is held up.
    var holdsUpAsks: Bool { isHeldUp && messages.ofOrdinaryLane.contains(where: \.isOpenAsk) }

    /// Removes an ask that is held up.
    ///
    /// - Returns: Whether it was there: it never begins then.
    mutating func removeHeldUp(_ envelope: Envelope) -> Bool {
        guard isHeldUp, let message = messages.removeOrdinary(envelope) else { return false }
        forget(message.envelope, message.row)
        return true
    }

    /// Closes the mailbox: no item begins any more.
    mutating func close() { flags.insert(.closed) }

    /// Pauses the mailbox: messages wait from now on, and handlers that have begun go on.
    mutating func pause() { isPaused = true }

    mutating func resume() { isPaused = false }

    /// Releases the messages that have waited for a dependency that is now provided, in order.
    ///
    /// - Parameter standing: What is there of what a row needs, which is asked once for each row: the answer may change meanwhile.
    /// - Returns: What those need that wait on until it's read.
    mutating func release(by standing: (MessageRow) -> MessageRow.Needs.Standing) -> [MessageRow.Needs] {
        let waiting = takeNeeding()
        var standings: [Int: MessageRow.Needs.Standing] = [:]
        var unread: [MessageRow.Needs] = []
        for message in waiting {
            if standings[message.row.index] == nil {
                let standing = standing(message.row)
                standings[message.row.index] = standing
                if standing == .unread { unread.append(message.row.needs) }
            }
            if standings[message.row.index] == .provided {
                append(message.envelope, message.row, to: message.lane)
            } else {
                others.needing.append(message)
            }
        }
        return unread
    }

    var hasNeeding: Bool { !storedOthers.isEmpty && !others.needing.isEmpty }

    private mutating func takeNeeding() -> Deque<Needing> {
        guard hasNeeding else { return [] }
        defer { others.needing = [] }
        return others.needing
    }

    /// Removes and returns the messages that wait.
    mutating func removeMessages() -> [Item] {
        defer { sharing = 0 }
        var waiting = accepted?.removeAll().map { ($0.envelope, $0.row) } ?? []
        waiting += messages.removeAll().map { ($0.envelope, $0.row) }
        waiting += takeNeeding().map { ($0.envelope, $0.row) }
        for (envelope, row) in waiting { forget(envelope, row) }
        return waiting.map { .message($0, $1) }
    }

    /// Removes and returns all waiting items.
    mutating func removeAll() -> [Item] {
        defer { storedOthers = LazyStorage() }
        return removeMessages() + others.notices.map(\.item)
    }

    private mutating func takeNext() -> Item? {
        guard let (lane, turn) = nextMessage else { return hasNotices ? others.notices.popFirst()?.item : nil }
        if hasNotices, let notice = others.notices.first, notice.turn < turn { return others.notices.popFirst()?.item }
        let message = messages.removeFirst(in: lane)
        running += Int32(message.envelope.count)
        runningBytes += message.envelope.size
        sharing -= Int32(message.envelope.count - 1)
        if message.row.interleaves { interleaving += 1 } else if message.row.immediate == nil { places += 1 }
        return message.item
    }

    /// The lane of the message that begins next, and its turn; `nil` when none may.
    private var nextMessage: (lane: WaitingMessages.Lane, turn: UInt64)? {
        if isPaused { return nil }
        var oldest: (lane: WaitingMessages.Lane, turn: UInt64)?
        consider(.ordinary, instead: &oldest)
        consider(.subtree, instead: &oldest)
        consider(.interleaving, instead: &oldest)
        return oldest
    }

    /// Takes a lane whose first message may begin, and is older than that of another.
    private func consider(_ lane: WaitingMessages.Lane, instead oldest: inout (lane: WaitingMessages.Lane, turn: UInt64)?) {
        guard let first = messages.first(in: lane), oldest.map({ $0.turn > first.turn }) ?? true else { return }
        if mayBegin(in: lane, bytes: first.bytes) { oldest = (lane, first.turn) }
    }

    private func mayBegin(in lane: WaitingMessages.Lane, bytes: Int) -> Bool {
        // Messages that were accepted beyond the limits wait for their turn.
        let hasBytes = running == 0 || runningBytes + bytes <= policy.bytes
        // The handlers that wait may wait for just this message, which therefore begins whatever its size, if no other handler will end and
        // leave room for it. Those that aren't observed have half of the bytes at most.
        let mustBegin = waitingHandlers >= places - unobservedPlaces
        return switch lane {
        case .ordinary: hasBytes && places < policy.running
        case .subtree: (places < policy.running || mayBeginBesides) && (hasBytes || mustBegin)
        // A handler may wait for it in a way that nobody sees: so one begins at any time, and more as long as there are twice the bytes.
        case .interleaving:
            interleaving < Self.interleavingLimit
                && (hasBytes || mustBegin || interleaving == 0 || runningBytes + bytes - policy.bytes <= policy.bytes)
        }
    }

    /// Whether a message of the subtree may begin though all places are taken.
    private var mayBeginBesides: Bool { waitingHandlers > 0 && Int(places) - Self.interleavingLimit < policy.running }

    private mutating func append(_ envelope: Envelope, _ row: MessageRow, to lane: WaitingMessages.Lane) {
        sharing += Int32(envelope.count - 1)
        messages.append(WaitingMessages.Message(turn: nextNumber(), envelope: envelope, row: row), to: lane)
    }

    private mutating func removeOldestMessage() -> (Envelope, MessageRow)? {
        let oldest: (envelope: Envelope, row: MessageRow)
        if let message = accepted?.removeFirst() {
            oldest = (message.envelope, message.row)
        } else if let lane = messages.oldestLane {
            let message = messages.removeFirst(in: lane)
            sharing -= Int32(message.envelope.count - 1)
            oldest = (message.envelope, message.row)
        } else if hasNeeding, let message = others.needing.popFirst() {
            oldest = (message.envelope, message.row)
        } else {
            return nil
        }
        forget(oldest.envelope, oldest.row)
        return oldest
    }

    /// Whether there is no room for a message, or it has to wait for its turn as if there were none.
    ///
    /// - Parameter lane: The lane of the message; `nil` if it waits for a dependency.
    private func isFull(for envelope: Envelope, in lane: WaitingMessages.Lane?) -> Bool {
        if expected > 0, bytes + reserved.bytes + envelope.size > policy.bytes { return true }
        if policy.whenFull == .wait, lane == .ordinary || lane == .subtree, isCrowded { return true }
        return !hasRoom && (lane.map { !findsPlace(in: $0) } ?? true)
    }

    /// Whether fewer messages wait than may, those not counted that the next drain begins; no more wait than there are.
    private var hasRoom: Bool { expected < policy.waiting || waiting < policy.waiting }

    /// Whether there was no room for a message without an envelope, and more than half of what may wait still does, though it could begin.
    ///
    /// Senders wait for their turn then, with envelopes, though there may be room: if one went on, all after it would need envelopes until nothing
    /// waits.
    var isCrowded: Bool {
        guard wasFull, !isPaused, places < policy.running else { return false }
        return expected - Int(running) > policy.waiting / 2 || bytes + reserved.bytes - runningBytes > policy.bytes / 2
    }

    /// The number of messages that wait or run, and of those that will come.
    var expected: Int { Int(count) + reserved.count }

    /// The number of messages that wait, without those that the next drain begins.
    private var waiting: Int {
        let forDependencies = hasNeeding ? others.needing.count : 0
        return forDependencies + max(claimants - freePlaces, 0) + max(messages.count(in: .interleaving) - freeInterleavingPlaces, 0)
    }

    /// Whether a message of a lane begins with the next drain.
    private func findsPlace(in lane: WaitingMessages.Lane) -> Bool {
        switch lane {
        case .ordinary: claimants < freePlaces
        case .subtree: claimants < freePlaces || !isPaused && mayBeginBesides
        case .interleaving: messages.count(in: .interleaving) < freeInterleavingPlaces
        }
    }

    /// The number of messages that have not begun and need a place.
    private var claimants: Int {
        acceptedCount + messages.count(in: .ordinary) + messages.count(in: .subtree) + Int(sharing) + reserved.count
    }

    private var freePlaces: Int { isPaused ? 0 : max(policy.running - Int(places), 0) }

    private var freeInterleavingPlaces: Int { isPaused ? 0 : Self.interleavingLimit - Int(interleaving) }

    /// Forgets messages whose askers have given up, so that they take no room; called now and then while the mailbox is full.
    private mutating func forgetWithdrawn() {
        arrivalsWhileFull += 1
        guard arrivalsWhileFull >= max(policy.waiting / 4, 1) else { return }
        arrivalsWhileFull = 0
        for message in messages.removeWithdrawn() {
            sharing -= Int32(message.envelope.count - 1)
            forget(message.envelope, message.row)
        }
        for message in takeNeeding() {
            if message.envelope.isWithdrawn { forget(message.envelope, message.row) } else { others.needing.append(message) }
        }
    }

    private mutating func forget(_ envelope: Envelope, _ row: MessageRow) {
        count -= Int32(envelope.count)
        bytes -= envelope.size
        if row.inline != nil { inline -= 1 }
    }
}

extension Envelope {
    /// Whether an answer is waited for still.
    fileprivate var isOpenAsk: Bool { !isOneWay && !hasEnded }
}
