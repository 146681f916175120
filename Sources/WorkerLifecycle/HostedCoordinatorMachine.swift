public import Supervision

/// The coordinator that a worker process hosts for its parent, as a value: from the wait for its start to the exit of the process.
///
/// The machine takes events in the past tense and the time, and returns directives for its owner to carry out in order. It does nothing by
/// itself and reads no clock, so the same events give the same directives.
///
/// The owner answers ``Directive/start`` with `ready` or `startFailed`, ``Directive/closeRuntime`` with `runtimeClosed`,
/// ``Directive/countTransmissions`` with `transmissionsCounted`, and ``Directive/wake(at:)`` with `timePassed`. It says `ended` once for a coordinator whose start has succeeded, when nothing is left of it;
/// that may come before `ready`.
///
/// - Guarantees: the coordinator is started at most once, and not after an end was requested. ``Directive/tellReady`` is given at most once,
///   before ``Directive/tellEnd(_:)``, and not after a start that failed. ``Directive/exit(_:)`` is given once, as the last directive of all,
///   after ``Directive/tellEnd(_:)`` with the same reason. A second request to end can only shorten what was granted.
/// - Cost: an event costs O(1).
public struct HostedCoordinatorMachine: Sendable {
    /// An event of the coordinator, of its parent or of the process.
    public enum Event: Sendable {
        /// The parent has requested the coordinator's start. The request arrives again on every link; only the first one counts.
        case startRequested
        /// The coordinator is ready.
        case ready
        /// The coordinator's start has thrown, and nothing is left of it.
        case startFailed(any Error)
        /// Nothing is left of the coordinator, whose start had succeeded.
        case ended(ExitReason)
        /// The parent, a signal or the runtime itself wants the process to end; the second time it can only be to end sooner.
        case endRequested(EndRequest)
        /// The runtime, which is all that the process has beside the coordinator, is closed.
        case runtimeClosed
        /// The process can't tell the parent of the end.
        case endNotTold
        /// The parent has taken note of the end, or has no link any more on which it could.
        case dismissed
        /// The number of transmissions that have left for the parent; the answer to ``Directive/countTransmissions``.
        case transmissionsCounted(UInt64)
        /// The time of the latest ``Directive/wake(at:)`` has come.
        case timePassed
    }

    /// A wish that the process ends.
    public struct EndRequest: Sendable, Hashable {
        /// The time that the end may take; `nil`: as long as it does.
        public let grace: Duration?
        /// Whether the coordinator first finishes what it has taken, within the grace.
        public let drains: Bool
        /// The reason that is told, unless something goes wrong meanwhile.
        public let reason: ExitReason

        /// Creates a request.
        public init(grace: Duration?, drains: Bool = false, reason: ExitReason) {
            self.grace = grace
            self.drains = drains
            self.reason = reason
        }
    }

    /// A step that the owner has to carry out.
    public enum Directive: Sendable {
        /// Start the coordinator.
        case start
        /// Tell the parent, on this link and on later ones, that the coordinator is ready.
        case tellReady
        /// Tell the parent why the start has failed.
        case tellStartFailed(any Error)
        /// Stop the coordinator, or its start; when it stops already, in less time. `drains`: after it has finished what it has taken.
        case stop(within: Duration?, drains: Bool)
        /// Dial the parent no more, and close what the process has beside the coordinator.
        case closeRuntime
        /// Tell the parent why the process ends, behind everything else that was sent, or say `endNotTold`.
        case tellEnd(ExitReason)
        /// Count what has left for the parent: while the number grows, the parent reads.
        case countTransmissions
        /// Say `timePassed` at this time, and forget earlier wakes.
        case wake(at: Duration)
        /// Exit for this reason. Given once, as the last directive of all.
        case exit(ExitReason)
    }

    /// The progress of the process's work for the parent.
    public enum State: Sendable, Hashable {
        /// The parent hasn't requested the start yet. Can transition to: starting, closing.
        case waiting
        /// The coordinator starts. Can transition to: ready, ending, closing.
        case starting(Starting)
        /// The coordinator is ready, which the parent was told. Can transition to: ending, closing.
        case ready
        /// The coordinator is ready and was told to end. Can transition to: closing.
        case ending(Ending)
        /// Nothing is left of the coordinator, and the rest of the process is being closed. Can transition to: leaving.
        case closing(ExitReason)
        /// The parent was told of the end, and is to take note of it. Can transition to: left.
        case leaving(Leaving)
        /// The process exits. Can transition to: nothing.
        case left(ExitReason)
    }

    /// A start that hasn't ended.
    public struct Starting: Sendable, Hashable {
        /// The end that was requested meanwhile.
        var ending: Ending?
        /// The reason to be told, of a coordinator that has ended before the parent was told that it's ready.
        var earlyEnd: ExitReason?
    }

    /// An end that was requested.
    public struct Ending: Sendable, Hashable {
        let reason: ExitReason
        /// The time at which the grace is over; `nil`: never.
        var deadline: Duration?
    }

    /// A wait for the parent to take note of the end.
    public struct Leaving: Sendable, Hashable {
        let reason: ExitReason
        /// The number of transmissions when they were last counted.
        var transmissions: UInt64?
        /// The time at which the transmissions are counted again; `nil`: they are being counted.
        var deadline: Duration?
    }

    /// The time that the parent is granted between two signs that it reads.
    public let farewell: Duration
    /// The progress of the process's work for the parent.
    public private(set) var state = State.waiting
    private var now = Duration.zero
    private var directives: [Directive] = []

    /// Creates the machine of a process that waits to be told what to start.
    public init(farewell: Duration = .seconds(5)) {
        self.farewell = farewell
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

extension HostedCoordinatorMachine {
    /// Decides about every pair of a state and an event, and returns the next state.
    private mutating func nextState(_ event: Event) -> State {
        switch state {
        case .waiting: hearWaiting(event)
        case .starting(let starting): hearStarting(event, starting)
        case .ready: hearReady(event)
        case .ending(let ending): hearEnding(event, ending)
        case .closing(let reason): hearClosing(event, reason)
        case .leaving(let leaving): hearLeaving(event, leaving)
        case .left: hearLeft(event)
        }
    }

    private mutating func hearWaiting(_ event: Event) -> State {
        switch event {
        case .startRequested:
            directives.append(.start)
            return .starting(Starting())
        case .endRequested(let request): return close(request.reason)
        case .ready, .startFailed, .ended, .runtimeClosed, .endNotTold, .dismissed, .transmissionsCounted, .timePassed:
            return state  // Nothing was started, and the parent was told nothing.
        }
    }

    private mutating func hearStarting(_ event: Event, _ starting: Starting) -> State {
        var starting = starting
        switch event {
        case .ready:
            directives.append(.tellReady)
            if let reason = starting.earlyEnd { return close(reason) }
            return starting.ending.map { .ending($0) } ?? .ready
        case .startFailed(let error):
            if let ending = starting.ending { return close(ending.reason) }
            directives.append(.tellStartFailed(error))
            return close(.startFailed(String(describing: error)))
        case .ended(let reason):
            starting.earlyEnd = starting.earlyEnd ?? reasonToTell(reason, starting.ending)
        case .endRequested(let request):
            if let ending = starting.ending {
                starting.ending = shorten(ending, request)
            } else {
                // What a start has taken isn't handled before it's ready.
                starting.ending = stop(EndRequest(grace: request.grace, reason: request.reason))
            }
        case .startRequested, .runtimeClosed, .endNotTold, .dismissed, .transmissionsCounted, .timePassed:
            break  // It starts already, and the parent was told of no end.
        }
        return .starting(starting)
    }

    private mutating func hearReady(_ event: Event) -> State {
        switch event {
        case .ended(let reason): return close(reason)
        case .endRequested(let request): return .ending(stop(request))
        case .startRequested, .ready, .startFailed, .runtimeClosed, .endNotTold, .dismissed, .transmissionsCounted, .timePassed:
            return state  // It has started, and the parent was told of no end.
        }
    }

    private mutating func hearEnding(_ event: Event, _ ending: Ending) -> State {
        switch event {
        case .ended(let reason): return close(reasonToTell(reason, ending))
        case .endRequested(let request): return .ending(shorten(ending, request))
        case .startRequested, .ready, .startFailed, .runtimeClosed, .endNotTold, .dismissed, .transmissionsCounted, .timePassed:
            return state  // It has started, and the parent was told of no end.
        }
    }

    private mutating func hearClosing(_ event: Event, _ reason: ExitReason) -> State {
        switch event {
        case .runtimeClosed:
            directives += [.tellEnd(reason), .countTransmissions]
            return .leaving(Leaving(reason: reason))
        case .startRequested, .ready, .startFailed, .ended, .endRequested, .endNotTold, .dismissed, .transmissionsCounted,
            .timePassed:
            return state  // Nothing is left to be ended, and the parent was told of no end.
        }
    }

    private mutating func hearLeaving(_ event: Event, _ leaving: Leaving) -> State {
        switch event {
        case .endNotTold, .dismissed: return leave(leaving.reason)
        case .timePassed:
            guard let deadline = leaving.deadline else { return state }
            if now < deadline {
                directives.append(.wake(at: deadline))
                return state
            }
            directives.append(.countTransmissions)
            return .leaving(Leaving(reason: leaving.reason, transmissions: leaving.transmissions))
        case .transmissionsCounted(let count):
            // The parent has read nothing since: it's not waited for.
            if leaving.transmissions == count { return leave(leaving.reason) }
            directives.append(.wake(at: now + farewell))
            return .leaving(Leaving(reason: leaving.reason, transmissions: count, deadline: now + farewell))
        case .startRequested, .ready, .startFailed, .ended, .endRequested, .runtimeClosed:
            return state  // Nothing is left to be ended.
        }
    }

    private func hearLeft(_ event: Event) -> State {
        switch event {
        case .startRequested, .ready, .startFailed, .ended, .endRequested, .runtimeClosed, .endNotTold, .dismissed,
            .transmissionsCounted, .timePassed:
            return state  // The process exits.
        }
    }

    // MARK: Steps

    private mutating func stop(_ request: EndRequest) -> Ending {
        directives.append(.stop(within: request.grace, drains: request.drains))
        return Ending(reason: request.reason, deadline: request.grace.map { now + $0 })
    }

    /// Shortens an end, unless the request was repeated on a new link or grants more time.
    private mutating func shorten(_ ending: Ending, _ request: EndRequest) -> Ending {
        guard let grace = request.grace, ending.deadline.map({ now + grace < $0 }) ?? true else { return ending }
        return stop(EndRequest(grace: grace, reason: ending.reason))
    }

    /// Returns the reason to tell: that of the request to end, if there is one, unless its reason is normal and the end isn't.
    private func reasonToTell(_ reason: ExitReason, _ ending: Ending?) -> ExitReason {
        guard let ending, reason.isNormal || !ending.reason.isNormal else { return reason }
        return ending.reason
    }

    private mutating func close(_ reason: ExitReason) -> State {
        directives.append(.closeRuntime)
        return .closing(reason)
    }

    private mutating func leave(_ reason: ExitReason) -> State {
        directives.append(.exit(reason))
        return .left(reason)
    }
}
