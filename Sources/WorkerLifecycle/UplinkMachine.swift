/// A worker's link to its parent as a value: when it dials, which link is in use, and when it gives the parent up.
///
/// The machine takes events in the past tense and the time, and returns directives for its owner to carry out in order. It does nothing by
/// itself and reads no clock, so the same events give the same directives.
///
/// The owner answers ``Directive/dial(_:within:)`` with `dialled`, `dialFailed` or `parentEnded`, ``Directive/greet(_:)`` with `welcomed` when
/// the parent has said welcome, and ``Directive/wake(at:)`` with `timePassed`. It says `linkLost` once for every link that was
/// greeted, after a ``Directive/close(_:)`` too.
///
/// - Guarantees: one dial is under way at a time, and none while there is a link. After `endRequested` no dial begins. A link is in use only
///   after its welcome. ``Directive/orphaned`` or ``Directive/unreachable(_:)`` is given at most once, and nothing but
///   ``Directive/close(_:)`` follows it.
/// - Cost: an event costs O(1).
public struct UplinkMachine: Sendable {
    /// A dial, and the link that it leads to, numbered by the machine; a number is used once.
    public typealias LinkID = UInt64

    /// The times that the worker and its parent are granted.
    public struct Limits: Sendable, Hashable {
        /// The time that a dial may take, and then the time until the welcome.
        public var handshake = Duration.seconds(15)
        /// The time that the worker looks for its parent after the link was lost.
        public var orphanGrace = Duration.seconds(2)
        /// The time after the first dial of a search that fails; it doubles with each dial, up to ``pause``.
        public var firstPause = Duration.milliseconds(10)
        /// The longest time between two dials.
        public var pause = Duration.milliseconds(100)
        /// Whether a parent that can't be dialled the first time is searched for too, because another may come in its place.
        public var searchesAtFirst = false

        /// Creates limits with their defaults.
        public init() {}
    }

    /// An event of the worker, of its parent or of a link.
    public enum Event: Sendable, Hashable {
        /// The parent is to be dialled for the first time.
        case connectRequested
        /// The dial has led to a link; nothing has been sent or received on it.
        case dialled(LinkID)
        /// The dial has failed, for this reason.
        case dialFailed(LinkID, String)
        /// The parent's process has ended, and the worker must not outlive it.
        case parentEnded
        /// The parent has said welcome on this link.
        case welcomed(LinkID)
        /// A link is gone.
        case linkLost(LinkID)
        /// The worker ends: a link that is lost from now on isn't replaced.
        case endRequested
        /// The time of the latest ``Directive/wake(at:)`` has come.
        case timePassed
    }

    /// A step that the owner has to carry out.
    public enum Directive: Sendable, Hashable {
        /// Dial the parent.
        case dial(LinkID, within: Duration)
        /// Begin to receive on this link, and say hello.
        case greet(LinkID)
        /// Tell the parent what is told on every link: the link is in use.
        case introduce(LinkID)
        /// Close a link that is of no use.
        case close(LinkID)
        /// End the worker: the parent could not be reached at all.
        case unreachable(String)
        /// End the worker: the parent is gone.
        case orphaned
        /// Expect no answer from the parent any more: the link was lost while the worker ended.
        case parentLeft
        /// Say `timePassed` at this time, and forget earlier wakes.
        case wake(at: Duration)
    }

    /// The state of the worker's connection to its parent.
    public enum State: Sendable, Hashable {
        /// Nothing has been dialled. Can transition to: connecting, ending.
        case idle
        /// The parent is dialled for the first time. Can transition to: greeting, searching, unreachable, ending.
        case connecting(LinkID)
        /// The hello has been sent, and the welcome is awaited. Can transition to: linked, searching, orphaned, ending.
        case greeting(Greeting)
        /// The parent has said welcome. Can transition to: searching, orphaned, ending.
        case linked(LinkID)
        /// The link was lost, and the parent is dialled again. Can transition to: greeting, orphaned, ending.
        case searching(Search)
        /// The worker ends, and no dial begins. Can transition to: ending (with less of a link).
        case ending(Farewell)
        /// The parent was given up. Can transition to: nothing.
        case orphaned
        /// The first dial has failed, and there is no search after it. Can transition to: nothing.
        case unreachable
    }

    /// A link on which the hello has been sent.
    public struct Greeting: Sendable, Hashable {
        let link: LinkID
        /// The time at which the welcome has taken too long.
        let deadline: Duration
        /// The time at which the worker gives its parent up; `nil`: the first link hasn't been lost.
        let surrender: Duration?
    }

    /// The search for a parent whose link was lost.
    public struct Search: Sendable, Hashable {
        /// The time at which the worker gives its parent up.
        let surrender: Duration
        /// The pause after the present dial, if it fails.
        var pause: Duration
        var attempt: Attempt
    }

    /// One dial of a search, or the pause before it.
    public enum Attempt: Sendable, Hashable {
        /// The next dial waits for this time. Can transition to: dialling.
        case pausing(until: Duration)
        /// A dial is under way. Can transition to: pausing.
        case dialling(LinkID)
    }

    /// The link that a worker which ends has to its parent.
    public enum Farewell: Sendable, Hashable {
        /// The welcome is awaited. Can transition to: linked, none.
        case greeting(LinkID)
        /// The parent reads from this link. Can transition to: none.
        case linked(LinkID)
        /// There is no link. Can transition to: nothing.
        case none
    }

    /// The limits on the time that each step may take.
    public let limits: Limits
    /// The state of the worker's connection to its parent.
    public private(set) var state = State.idle
    private var lastID: LinkID = 0
    private var now = Duration.zero
    private var directives: [Directive] = []

    /// Creates the machine of a worker that hasn't dialled.
    public init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// The link in use: messages may be sent on it.
    public var link: LinkID? {
        switch state {
        case .linked(let link), .ending(.linked(let link)): link
        case .idle, .connecting, .greeting, .searching, .ending(.greeting), .ending(.none), .orphaned, .unreachable: nil
        }
    }

    /// Whether a link is in use, or may still come.
    public var mayBeLinked: Bool {
        switch state {
        case .idle, .connecting, .greeting, .linked, .searching, .ending(.greeting), .ending(.linked): true
        case .ending(.none), .orphaned, .unreachable: false
        }
    }

    /// Whether the worker ends.
    public var isEnding: Bool {
        if case .ending = state { true } else { false }
    }

    /// Takes note of an event and returns the directives to carry out, in order.
    ///
    /// - Parameter now: the monotonic time since any fixed origin; it never runs backwards from one event to the next.
    public mutating func handle(_ event: Event, now: Duration) -> [Directive] {
        self.now = now
        state = nextState(event)
        defer { directives = [] }
        return directives
    }
}

// MARK: - Transitions

extension UplinkMachine {
    /// Decides about every pair of a state and an event, and returns the next state.
    private mutating func nextState(_ event: Event) -> State {
        switch state {
        case .idle: hearIdle(event)
        case .connecting(let dial): hearConnecting(event, dial)
        case .greeting(let greeting): hearGreeting(event, greeting)
        case .linked(let link): hearLinked(event, link)
        case .searching(let search): hearSearching(event, search)
        case .ending(let farewell): hearEnding(event, farewell)
        case .orphaned, .unreachable: hearGivenUp(event)
        }
    }

    private mutating func hearIdle(_ event: Event) -> State {
        switch event {
        case .connectRequested: return .connecting(dial(within: limits.handshake))
        case .endRequested: return .ending(.none)
        case .dialled, .dialFailed, .parentEnded, .welcomed, .linkLost, .timePassed: return state  // Nothing has been dialled.
        }
    }

    private mutating func hearConnecting(_ event: Event, _ dial: LinkID) -> State {
        switch event {
        case .dialled(dial): return greet(dial, surrender: nil)
        case .dialFailed(dial, let reason):
            return limits.searchesAtFirst ? search(until: nil, after: limits.firstPause) : beUnreachable(reason)
        case .parentEnded: return beUnreachable("its process has ended")
        case .endRequested: return .ending(.none)
        case .connectRequested, .dialled, .dialFailed, .welcomed, .linkLost, .timePassed: return state  // Another link's, or too soon.
        }
    }

    private mutating func hearGreeting(_ event: Event, _ greeting: Greeting) -> State {
        switch event {
        case .welcomed(greeting.link):
            directives.append(.introduce(greeting.link))
            return .linked(greeting.link)
        // A parent that is there, and hangs up, isn't dialled more often.
        case .linkLost(greeting.link): return search(until: greeting.surrender, after: limits.pause)
        case .timePassed:
            guard now >= greeting.deadline else { return rewake(at: greeting.deadline) }
            directives.append(.close(greeting.link))
            return search(until: greeting.surrender, after: limits.pause)
        case .endRequested: return .ending(.greeting(greeting.link))
        case .connectRequested, .dialled, .dialFailed, .parentEnded, .welcomed, .linkLost: return state  // Another link's, or a repetition.
        }
    }

    private mutating func hearLinked(_ event: Event, _ link: LinkID) -> State {
        switch event {
        case .linkLost(link): return search(until: nil, after: .zero)
        case .endRequested: return .ending(.linked(link))
        // The wake was for the welcome, which has come. The loss of the link tells that the parent has ended.
        case .connectRequested, .dialled, .dialFailed, .parentEnded, .welcomed, .linkLost, .timePassed: return state
        }
    }

    private mutating func hearSearching(_ event: Event, _ search: Search) -> State {
        switch event {
        case .dialled(let dial):
            return search.attempt == .dialling(dial) ? greet(dial, surrender: search.surrender) : state
        case .dialFailed(let dial, _):
            return search.attempt == .dialling(dial) ? self.search(until: search.surrender, after: search.pause) : state
        case .timePassed:
            guard case .pausing(let time) = search.attempt else { return state }
            return now >= time ? self.search(until: search.surrender, after: .zero, search.pause) : rewake(at: time)
        case .parentEnded: return beOrphaned()
        case .endRequested: return .ending(.none)
        case .connectRequested, .welcomed, .linkLost: return state  // Of a link that is gone already, or a repetition.
        }
    }

    private mutating func hearEnding(_ event: Event, _ farewell: Farewell) -> State {
        switch event {
        case .dialled(let dial):
            directives.append(.close(dial))
            return state
        case .welcomed(let link):
            guard farewell == .greeting(link) else { return state }
            directives.append(.introduce(link))
            return .ending(.linked(link))
        case .linkLost(let link):
            guard farewell == .greeting(link) || farewell == .linked(link) else { return state }
            directives.append(.parentLeft)
            return .ending(.none)
        case .connectRequested, .dialFailed, .parentEnded, .endRequested, .timePassed: return state  // A lost link isn't replaced.
        }
    }

    private mutating func hearGivenUp(_ event: Event) -> State {
        switch event {
        case .dialled(let dial): directives.append(.close(dial))
        case .connectRequested, .dialFailed, .parentEnded, .welcomed, .linkLost, .endRequested, .timePassed: break  // There is no parent.
        }
        return state
    }

    // MARK: Steps

    private mutating func dial(within time: Duration) -> LinkID {
        lastID += 1
        directives.append(.dial(lastID, within: time))
        return lastID
    }

    private mutating func greet(_ link: LinkID, surrender: Duration?) -> State {
        let deadline = now + limits.handshake
        directives += [.greet(link), .wake(at: deadline)]
        return .greeting(Greeting(link: link, deadline: deadline, surrender: surrender))
    }

    /// Dials again after a pause, or gives the parent up.
    ///
    /// - Parameters:
    ///   - surrender: when the parent is given up; `nil`: the search begins now.
    ///   - next: the pause after the dial, if that fails; `nil`: the first of a search.
    private mutating func search(until surrender: Duration?, after pause: Duration, _ next: Duration? = nil) -> State {
        let surrender = surrender ?? now + limits.orphanGrace
        if now >= surrender { return beOrphaned() }
        if pause == .zero {
            let dial = dial(within: min(limits.handshake, surrender - now))
            return .searching(Search(surrender: surrender, pause: next ?? limits.firstPause, attempt: .dialling(dial)))
        }
        let time = min(now + pause, surrender)
        directives.append(.wake(at: time))
        return .searching(Search(surrender: surrender, pause: min(pause * 2, limits.pause), attempt: .pausing(until: time)))
    }

    private mutating func beUnreachable(_ reason: String) -> State {
        directives.append(.unreachable(reason))
        return .unreachable
    }

    private mutating func beOrphaned() -> State {
        directives.append(.orphaned)
        return .orphaned
    }

    /// Repeats a wake that came before its time.
    private mutating func rewake(at time: Duration) -> State {
        directives.append(.wake(at: time))
        return state
    }
}
