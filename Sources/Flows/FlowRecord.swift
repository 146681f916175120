package import WireProtocol

/// A durable flow, as it is stored: its state, its pages, what it is to send, and what it has taken.
///
/// This is a machine whose state is data. Each of its changes is one commit of a store: a shell makes a copy of the record, lets an event happen
/// to it, and goes on with the copy once that is on disk. What follows is told by ``work`` and ``outgoing``, and is the same after a crash.
///
/// A page that is shown is performed, and one that is popped is undone. Work is carried out at least once, under a key that is the same at each
/// attempt, one page at a time:
/// - The pages begin from the bottom up, each when the one before is known to be done.
/// - A popped page whose outcome isn't known is performed until it is, and then undone: an attempt that was given up may still arrive.
/// - Popped pages are undone from the top down, before any page begins.
///
/// The record is over when nothing is left of that; it's kept for a while then, with its outcome.
package struct FlowRecord: Sendable, Hashable, Decodable {
    /// The progress of the whole flow.
    package enum Standing: Sendable, Hashable, Decodable {
        /// Can transition to: unwinding, finishing, finished, unwound.
        case open
        /// All pages are undone. Can transition to: unwound.
        case unwinding(because: String)
        /// The output is known, and what was begun or popped before comes to its end. Can transition to: finished.
        case finishing(JSONValue)
        case finished(JSONValue)
        case unwound(because: String)
    }

    /// A page, from the time when it's shown until it's known to be undone.
    package struct Showing: Sendable, Hashable {
        package enum Phase: String, Sendable, Decodable {
            /// Nothing has been done for the page. Can transition to: begun.
            case waiting
            /// The page may have been performed. Can transition to: performed.
            case begun
            /// The page is known to have been performed.
            case performed
        }

        /// The number of the showing among all of its flow.
        package let number: UInt64
        package fileprivate(set) var page: JSONText
        package fileprivate(set) var phase = Phase.waiting
        package fileprivate(set) var isPopped = false
        /// The failures of attempts, since the last success or an operator's word.
        package fileprivate(set) var failures = 0
        /// The ends of whole processes while the page was worked on.
        package fileprivate(set) var interruptions = 0
        /// The latest failure, in words.
        package fileprivate(set) var error: String?
        /// The time before which no other attempt begins.
        package fileprivate(set) var resumption: WallTime?

        fileprivate mutating func forgetFailures() { (failures, interruptions, error, resumption) = (0, 0, nil, nil) }
    }

    /// A page that is to be worked on.
    package enum Work: Sendable, Hashable {
        case perform(Showing)
        case undo(Showing)

        package var showing: Showing {
            switch self {
            case .perform(let showing), .undo(let showing): showing
            }
        }

        /// Returns the time before which no attempt begins.
        ///
        /// - Parameter longest: The longest pause between attempts.
        package func resumption(at now: WallTime, longestPause longest: Duration) -> WallTime {
            showing.resumption?.endingPause(at: now, longest: longest) ?? now
        }

        /// Whether it's the same work on the same page, whatever has become of its attempts.
        package func isSame(as other: Work?) -> Bool {
            switch (self, other) {
            case (.perform(let showing), .perform(let other)?), (.undo(let showing), .undo(let other)?): showing.number == other.number
            case (.perform, _), (.undo, _): false
            }
        }
    }

    /// One step of a change.
    package enum Edit: Sendable, Hashable {
        case show(JSONText)
        case pop
        case unwind(because: String)
        case finish(JSONValue)
        case send(Outgoing)
        /// The messages of these names that haven't left yet are dropped.
        case cancel([String])
    }

    /// What one commit changes.
    package struct Change: Sendable, Hashable {
        /// The state after it; `nil`: as before.
        package var state: JSONText?
        package var edits: [Edit]

        package init(state: JSONText? = nil, _ edits: [Edit] = []) { (self.state, self.edits) = (state, edits) }

        /// Whether the page whose attempt returns this has done nothing.
        fileprivate var unwinds: Bool {
            edits.contains { if case .unwind = $0 { true } else { false } }
        }
    }

    /// A stop of all work until an operator says how to go on.
    package struct Parking: Sendable, Hashable, Decodable {
        package let error: String
        package let since: WallTime
    }

    /// A message that leaves the flow, at its time or later.
    package struct Outgoing: Sendable, Hashable, Decodable {
        /// The opening of the store in which it was numbered, or a part of that, and its number there: what its receiver knows it by.
        package var origin: UInt64
        package var number: UInt64
        package let name: String
        package let message: JSONValue
        package let due: WallTime
        package fileprivate(set) var failures = 0
        package fileprivate(set) var error: String?
        package fileprivate(set) var resumption: WallTime?

        package init(origin: UInt64 = 0, number: UInt64 = 0, name: String, message: JSONValue, due: WallTime) {
            (self.origin, self.number, self.name, self.message, self.due) = (origin, number, name, message, due)
        }

        /// The longest pause before it's sent again.
        package static let longestPause = Duration.seconds(60)

        /// The time before which it doesn't leave, unless the clock has been set back since that was noted.
        package var departure: WallTime { resumption ?? due }

        /// Returns the time before which it doesn't leave.
        package func departure(at now: WallTime) -> WallTime { resumption?.endingPause(at: now, longest: Self.longestPause) ?? due }
    }

    /// The number of the form in which records are kept, and of the tables that keep them.
    ///
    /// Since 2 a record leaves out what is as usual; what was written before is read, too.
    package static let form = 2

    /// The name of the coordinator's type.
    package let type: String
    /// The type's name for the compiler, by which another build finds the type before any coordinator of it begins.
    package var symbol: String?
    /// The number of the form of the state and the pages.
    package private(set) var version: Int
    /// A number that no other flow has, also not a later one under the same key.
    package let id: UInt64
    package let configuration: JSONValue
    package private(set) var state: JSONText
    /// The pages that aren't known to be undone, bottom first.
    ///
    /// What looks for one goes by indices: a function of the elements would get a copy of each.
    package private(set) var showings: [Showing] = []
    package private(set) var standing = Standing.open
    package private(set) var parking: Parking?
    /// The messages that haven't been taken by their receivers, in order.
    package private(set) var outgoing: [Outgoing] = []
    package private(set) var inbox = Inbox()
    /// The time of the latest change.
    package private(set) var changed: WallTime
    private(set) var nextNumber: UInt64 = 1
    /// The opening that has noted the latest end of the process.
    private(set) var latestInterruption: UInt64?

    /// Begins a flow.
    package init(
        type: String,
        version: Int,
        id: UInt64,
        configuration: JSONValue,
        state: JSONText,
        page: JSONText?,
        at now: WallTime
    ) {
        (self.type, self.version, self.id, self.configuration, self.state) = (type, version, id, configuration, state)
        changed = now
        if let page { show(page) }
        goOn()
    }

    // MARK: What is to be done

    /// The pages that are shown, bottom first.
    package var pages: [JSONText] { showings.lazy.filter { !$0.isPopped }.map(\.page) }

    /// Whether nothing of the flow goes on, but for messages that haven't left.
    package var isOver: Bool {
        switch standing {
        case .open, .unwinding, .finishing: false
        case .finished, .unwound: true
        }
    }

    /// The page that is to be worked on; `nil`: none, before something else happens.
    package var work: Work? { parking == nil ? pending : nil }

    /// The page that is worked on, or would be if the flow weren't parked.
    package var pending: Work? {
        if isOver { return nil }
        if let last = showings.indices.last(where: { showings[$0].isPopped }) {
            return showings[last].phase == .performed ? .undo(showings[last]) : .perform(showings[last])
        }
        return showings.indices.first { showings[$0].phase == .begun }.map { .perform(showings[$0]) }
    }

    /// The time from which on the flow has something to do; `nil`: it waits for messages only.
    package var due: WallTime? {
        let departure = outgoing.lazy.map(\.departure).min()
        guard let work else { return departure }
        let resumption = work.showing.resumption ?? .distantPast
        return departure.map { min($0, resumption) } ?? resumption
    }

    // MARK: Events

    /// A change that a message, or the flow's own code, has made.
    package mutating func change(_ change: Change, at now: WallTime) {
        begin(now)
        apply(change, counts: standing == .open)
        goOn()
    }

    /// The page was performed, as is known now, and this is what follows.
    package mutating func performed(_ number: UInt64, _ change: Change, at now: WallTime) {
        guard let index = index(of: number, .begun) else { return }
        begin(now)
        let counts = standing == .open && !showings[index].isPopped
        // With room for what the change shows: the copy is made once.
        showings.reserveCapacity(showings.count + 1)
        showings[index].forgetFailures()
        showings[index].phase = .performed
        // An attempt that unwinds says that its page has done nothing, at whatever time that is.
        if change.unwinds { showings.remove(at: index) }
        apply(change, counts: counts)
        goOn()
    }

    /// The page was undone, as is known now.
    package mutating func undone(_ number: UInt64, at now: WallTime) {
        guard let index = index(of: number, .performed), showings[index].isPopped else { return }
        begin(now)
        showings.remove(at: index)
        goOn()
    }

    /// An attempt has failed, and nothing is known of its outcome; one at work that isn't this flow's any more, since an operator has skipped it,
    /// changes nothing.
    ///
    /// - Parameter resumption: Returns the time of the next attempt after so many failures; `nil`: there is none, and the flow is parked.
    package mutating func failed(_ work: Work, _ error: String, at now: WallTime, resumption: (_ failures: Int) -> WallTime?) {
        guard work.isSame(as: pending), let index = showings.firstIndex(where: { $0.number == work.showing.number }) else { return }
        begin(now)
        showings[index].failures &+= 1
        showings[index].error = error
        showings[index].resumption = resumption(showings[index].failures)
        if showings[index].resumption == nil { parking = Parking(error: error, since: now) }
    }

    /// The process has ended while there was work, as a later opening of the store knows, which may say so several times.
    ///
    /// - Parameter limit: The number of such ends after which the flow is parked.
    package mutating func interrupted(before opening: UInt64, limit: Int, at now: WallTime) {
        guard latestInterruption != opening else { return }
        latestInterruption = opening
        // What waited for its next attempt has done the process no harm.
        guard let showing = work?.showing, showing.resumption ?? now <= now,
            let index = showings.firstIndex(where: { $0.number == showing.number })
        else { return }
        begin(now)
        showings[index].interruptions &+= 1
        guard showings[index].interruptions >= limit else { return }
        parking = Parking(error: "the process has ended \(limit) times while the page was worked on", since: now)
    }

    /// The flow can't go on before somebody has looked at it.
    package mutating func park(_ error: String, at now: WallTime) {
        begin(now)
        parking = Parking(error: error, since: now)
    }

    /// An operator wants the work that has failed to be tried again.
    package mutating func retry(at now: WallTime) {
        begin(now)
        parking = nil
        for index in showings.indices { showings[index].forgetFailures() }
        for index in outgoing.indices { (outgoing[index].failures, outgoing[index].resumption) = (0, nil) }
    }

    /// An operator says that the page that is worked on has come to its end, outside of the flow, and that this follows.
    package mutating func skip(_ change: Change, at now: WallTime) {
        parking = nil
        switch work {
        case .perform(let showing)?: performed(showing.number, change, at: now)
        case .undo(let showing)?:
            undone(showing.number, at: now)
            if change.state != nil, !isOver { self.change(change, at: now) }
        case nil: self.change(change, at: now)
        }
    }

    /// A message has come to its end at its receiver, or is handled by this very change.
    package mutating func left(_ origin: UInt64, _ number: UInt64, at now: WallTime) {
        begin(now)
        outgoing.removeAll { $0.origin == origin && $0.number == number }
    }

    /// A message couldn't be brought to its end.
    ///
    /// - Parameter identity: What it's known by from now on, because its receiver has had it by the former number; `nil`: as before.
    package mutating func stayed(
        _ origin: UInt64,
        _ number: UInt64,
        _ error: String,
        resumption: WallTime,
        as identity: (origin: UInt64, number: UInt64)? = nil,
        at now: WallTime
    ) {
        guard let index = outgoing.firstIndex(where: { $0.origin == origin && $0.number == number }) else { return }
        begin(now)
        outgoing[index].failures &+= 1
        (outgoing[index].error, outgoing[index].resumption) = (error, resumption)
        if let identity { (outgoing[index].origin, outgoing[index].number) = identity }
    }

    /// A message leaves for the first time, and is known by this from now on.
    package mutating func leaves(_ origin: UInt64, _ number: UInt64, as identity: (origin: UInt64, number: UInt64)) {
        guard let index = outgoing.firstIndex(where: { $0.origin == origin && $0.number == number }) else { return }
        (outgoing[index].origin, outgoing[index].number) = identity
    }

    /// Whether a message hasn't come to its end.
    package func sends(_ origin: UInt64, _ number: UInt64) -> Bool { outgoing.contains { $0.origin == origin && $0.number == number } }

    /// A message from elsewhere was handled by a change, with this reply.
    package mutating func took(_ origin: UInt64, _ number: UInt64, _ reply: JSONValue) { inbox.take(origin, number, reply) }

    /// An origin says below which number it has the ends of all messages.
    package mutating func forget(below floor: UInt64, of origin: UInt64) { inbox.forget(below: floor, of: origin) }

    /// Takes over the state and the pages in another form.
    ///
    /// - Parameter pages: The pages, as many as there are showings, those that were popped included.
    package mutating func migrate(to version: Int, state: JSONText, pages: [JSONText]) {
        (self.version, self.state) = (version, state)
        for (index, page) in pages.enumerated() where index < showings.count { showings[index].page = page }
    }

    // MARK: -

    private mutating func begin(_ now: WallTime) { changed = now }

    private func index(of number: UInt64, _ phase: Showing.Phase) -> Int? {
        showings.indices.first { showings[$0].number == number && showings[$0].phase == phase }
    }

    private mutating func show(_ page: JSONText) {
        showings.append(Showing(number: nextNumber, page: page))
        nextNumber &+= 1
    }

    /// - Parameter counts: Whether the change may move the pages; its state and its messages count always.
    private mutating func apply(_ change: Change, counts: Bool) {
        if let state = change.state { self.state = state }
        for edit in change.edits {
            switch edit {
            case .send(let message): outgoing.append(message)
            case .cancel(let names): outgoing.removeAll { names.contains($0.name) }
            case .show(let page): if counts, standing == .open { show(page) }
            case .pop:
                guard counts, standing == .open, let top = showings.lastIndex(where: { !$0.isPopped }) else { continue }
                showings[top].isPopped = true
            case .unwind(let reason):
                guard counts, standing == .open else { continue }
                standing = .unwinding(because: reason)
                for index in showings.indices { showings[index].isPopped = true }
            case .finish(let output): if counts, standing == .open { standing = .finishing(output) }
            }
        }
    }

    /// Drops the pages that nothing has been done for and nothing will be, begins the next one, and ends the flow when nothing is left.
    private mutating func goOn() {
        let isOpen = standing == .open
        for index in showings.indices.reversed() where showings[index].phase == .waiting && (showings[index].isPopped || !isOpen) {
            showings.remove(at: index)
        }
        let isSettled = !showings.indices.contains { showings[$0].isPopped || showings[$0].phase == .begun }
        switch standing {
        case .open:
            if isSettled, let next = showings.indices.first(where: { showings[$0].phase == .waiting }) { showings[next].phase = .begun }
        case .unwinding(let reason): if isSettled { standing = .unwound(because: reason) }
        case .finishing(let output): if isSettled { standing = .finished(output) }
        case .finished, .unwound: break
        }
    }
}
