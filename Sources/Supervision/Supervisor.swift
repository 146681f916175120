/// OTP's supervisor as a value: decides what happens to children that start, stop and fail.
///
/// A supervisor takes events in the past tense and the time, and returns directives, which its owner carries out in order. It does nothing
/// by itself and reads no clock, so the same seed and the same events give the same directives.
///
/// The owner answers every ``Directive/start(_:_:attempt:)`` with `started`, `startFailed` or `exited`, every ``Directive/stop(_:_:_:)``
/// with `exited` (also when the child's start was still under way), and ``Directive/wake(at:)`` with `timePassed`. Events of an incarnation
/// that is over are ignored, and so are requests about unknown ids.
///
/// - Guarantees: At most one incarnation per id is alive at any time. When the supervisor ends, children that are still starting are
///   stopped at once, since no order is guaranteed for a child that was never ready, and the others by a partial order, ``StopPlace``: those
///   outside of the chain together, then those of the chain one at a time in reverse start order. A restart of siblings stops them one at a
///   time in reverse start order, whatever their places. A request to stop wins over a start, a backoff and a restart that is under way. The
///   supervisor ends once, and gives no directives after that.
/// - Cost: An event costs O(log n) at most, except those that concern all children: the supervisor's end, and a restart of siblings.
/// - Memory: A supervisor keeps the incarnations of its children and of at most 1,024 removed ids; beyond that new ids begin above 1.
///
/// Follows https://www.erlang.org/doc/apps/stdlib/supervisor.html, with a backoff added.
package struct Supervisor: Sendable {
    /// The state of actions on several children.
    enum Course: Sendable {
        /// No such action is under way. Can transition to: stoppingSiblings, ending.
        case steady
        /// The children that a failure concerns are being stopped. Can transition to: startingSiblings, ending.
        case stoppingSiblings(Turns, Siblings)
        /// The same children are being started again. Can transition to: steady, stoppingSiblings, ending.
        case startingSiblings(Turns, at: Duration)
        /// All children are being stopped. Can transition to: ended.
        case ending(Ending)
        /// No child lives, and no event has an effect any more. Can transition to: nothing.
        case ended
    }

    /// The children that are restarted together, and when.
    struct Siblings: Sendable {
        let inOrder: [String]
        /// The children that still take part.
        ///
        /// A child that was forgotten, and was added again since, doesn't.
        var members: Set<String>
        let at: Duration
    }

    /// The cause of the supervisor's end.
    enum Ending: Sendable {
        case escalated(ExitReason)
        case terminated(ExitReason)
        /// The significant children have ended.
        case automatic
    }

    /// The rules by which children are restarted; the event `policyChanged` replaces them.
    package internal(set) var policy: SupervisionPolicy

    var isolatesFailures: Bool
    var table = Children()
    var course = Course.steady
    /// The stops of the supervisor's end; empty before.
    var stops = Stops()
    /// The restarts that are counted together.
    var window = RestartWindow()
    /// The restarts of children that are counted separately.
    var ownWindows: [String: RestartWindow] = [:]
    var deadlines = Deadlines()
    var forgotten = ForgottenIncarnations()
    var random: SplitMix64
    /// The time of the event that is being handled.
    var now = Duration.zero
    /// The directives that the event that is being handled has led to so far, and the latest one until its owner has taken them.
    package internal(set) var directives: [Directive] = []
    /// The wake that was given to the owner last and whose time has not come yet.
    var announcedWake: Duration?

    /// Makes a supervisor without children.
    ///
    /// - Parameters:
    ///   - policy: The rules, which aren't checked here; see ``SupervisionPolicy/validate()``.
    ///   - seed: The seed of the random numbers in the backoff. Supervisors that must not restart in step need different seeds.
    ///   - isolatesFailures: Whether every child is counted separately, so that one over the intensity is given up alone and its siblings
    ///     go on. The root uses true, since it has no parent to escalate to, and so do groups of a configuration file that couple nothing.
    package init(policy: SupervisionPolicy = .init(), seed: UInt64 = 0, isolatesFailures: Bool = false) {
        self.policy = policy
        self.isolatesFailures = isolatesFailures
        self.random = SplitMix64(seed: seed)
    }

    /// Continues the numbering of an id that isn't a child: its next incarnation follows this one, or the last that is known here.
    package mutating func continueNumbering(of id: String, after incarnation: Incarnation) {
        guard incarnation > 0, table[id] == nil else { return }
        forgotten.remember(id, max(forgotten.recall(id), incarnation))
    }

    /// Handles an event and returns the directives that follow from it, in the order in which the owner carries them out.
    ///
    /// - Parameter now: The monotonic time since any fixed origin; it never runs backwards from one event to the next.
    package mutating func handle(_ event: Event, now: Duration) -> [Directive] {
        decide(event, now: now)
        return takeDirectives()
    }

    /// Handles an event, whose ``directives`` the owner reads before the next one, and takes or drops: most events have the room of the former
    /// ones for theirs.
    ///
    /// - Parameter name: The id of a child whose start was requested, if the owner has hashed it.
    package mutating func decide(_ event: Event, now: Duration, named name: HashedName? = nil) {
        assert(directives.isEmpty, "those of the event before were neither taken nor dropped")
        if case .ended = course { return }
        self.now = now
        switch event {
        case .startRequested(let specification):
            if accepts(specification) { request(specification.id, .startRequested(specification), name) }
        case .stopRequested(let id): request(id, .stopRequested)
        case .removeRequested(let id): request(id, .removeRequested)
        case .restartRequested(let id): request(id, .restartRequested)
        case .started(let id, let incarnation): observe(id, incarnation, .started)
        case .startFailed(let id, let incarnation, let reason): observe(id, incarnation, .startFailed(reason))
        case .exited(let id, let incarnation, let reason): observe(id, incarnation, .exited(reason))
        case .finished(let id, let incarnation):
            if !isEnding { observe(id, incarnation, .finished) }
        case .timePassed: startWhatIsDue()
        case .shutdownRequested(let reason): end(.terminated(reason))
        case .policyChanged(let policy): if accepts(policy) { self.policy = policy }
        case .specificationChanged(let specification):
            if accepts(specification) { request(specification.id, .specificationChanged(specification)) }
        }
        proceed()
        announceNextWake()
    }

    /// The directive of the event that was handled last, if it's the only one.
    package var soleDirective: Directive? { directives.count == 1 ? directives[0] : nil }

    /// Removes and returns the directives of the event that was handled last.
    package mutating func takeDirectives() -> [Directive] {
        defer { directives = [] }
        return directives
    }

    /// Removes the directives of the event that was handled last; the room of a few is kept.
    package mutating func dropDirectives() {
        if directives.count > 8 { directives = [] }
        while directives.popLast() != nil {}
    }
}

// MARK: - Refusing

extension Supervisor {
    private mutating func accepts(_ specification: ChildSpecification) -> Bool {
        if isEnding { return false }
        do throws(SupervisionError) {
            try specification.validate(under: policy.autoShutdown)
            return true
        } catch {
            directives.append(.refused(specification.id, error))
            return false
        }
    }

    private mutating func accepts(_ policy: SupervisionPolicy) -> Bool {
        do throws(SupervisionError) {
            try policy.validate()
            return true
        } catch {
            directives.append(.refused(nil, error))
            return false
        }
    }
}

// MARK: - Looking

extension Supervisor {
    /// All children in start order, stopped ones included, in O(n).
    package var children: [(specification: ChildSpecification, state: ChildState)] {
        table.inOrder.map { ($0.specification, $0.state) }
    }

    /// The ids of all children in start order, in O(n).
    package var ids: [String] {
        table.inOrder.map(\.id)
    }

    /// Returns the state of a child; nil if there is no such child.
    package func state(of id: String) -> ChildState? {
        table.place(of: id).map { table[$0].state }
    }

    /// Returns the state of a child, about which the next event is to be; nil if there is no such child.
    package mutating func find(_ id: String) -> ChildState? {
        table.find(id).map { table[$0].state }
    }

    /// Returns the specification of a child; nil if there is no such child.
    package func specification(of id: String) -> ChildSpecification? {
        table.place(of: id).map { table[$0].specification }
    }

    /// Returns the number of children in a state of this kind, in O(1).
    package func count(in kind: ChildState.Kind) -> Int {
        table.count(in: kind)
    }

    /// Whether all children are being stopped or have been; requests then have no effect.
    package var isEnding: Bool {
        switch course {
        case .steady, .stoppingSiblings, .startingSiblings: false
        case .ending, .ended: true
        }
    }
}

extension Supervisor {
    /// An event or a request that the supervisor decides about.
    package enum Event: Sendable, Hashable {
        /// The start of a child was requested. This has no effect if the child lives or is about to; a stopped one is started with this
        /// specification, one that is stopping as soon as it has ended. Refused if the specification isn't valid under the policy.
        case startRequested(ChildSpecification)
        /// A start has succeeded: the child is ready.
        case started(String, Incarnation)
        /// A start has failed, and nothing of it is left.
        case startFailed(String, Incarnation, ExitReason)
        /// An incarnation has ended, and nothing of it is left; before `started` this counts as a failed start.
        case exited(String, Incarnation, ExitReason)
        /// A child has nothing left to do: the supervisor stops and forgets it, whatever its restart type.
        ///
        /// A significant child then counts as one that has ended by itself.
        case finished(String, Incarnation)
        /// The stop of a child was requested; its specification is kept unless it is temporary.
        case stopRequested(String)
        /// The removal of a child was requested: the supervisor stops and forgets it.
        case removeRequested(String)
        /// The restart of a child was requested: a living one is stopped first, one that is stopped or waits is started at once. This is
        /// not a failure.
        case restartRequested(String)
        /// The time of the latest ``Directive/wake(at:)`` has come.
        case timePassed
        /// The end of the supervisor was requested.
        case shutdownRequested(ExitReason)
        /// The policy was replaced: from now on failures, and ends of significant children, are judged by this one. Earlier decisions
        /// stand.
        ///
        /// Children may stay significant under a policy whose automatic shutdown is off.
        case policyChanged(SupervisionPolicy)
        /// The specification of a child was replaced: the child goes on, and earlier decisions stand.
        case specificationChanged(ChildSpecification)
    }
}

extension Supervisor {
    /// An instruction that the owner carries out.
    package enum Directive: Sendable, Hashable {
        /// Start this incarnation; `attempt` is the number of restarts in a row, 0 for a start by request. A start for the sake of a sibling
        /// keeps the child's number, which is 0 if the child was stopped.
        case start(String, Incarnation, attempt: Int)
        /// Stop this incarnation, and report `exited` when it has ended. Given once per incarnation.
        case stop(String, Incarnation, Shutdown)
        /// Report a change of a child. The incarnation is the one that changed: for `restarting` and `gaveUp` the one that ended.
        case report(String, Incarnation, Change)
        /// The child is forgotten, its id unknown. Not given when the child was requested again while its removal was under way.
        case removed(String)
        /// Send `timePassed` at this time, and forget earlier wakes. Given when the next deadline has changed.
        case wake(at: Duration)
        /// The supervisor has given up, and all children have been stopped. Given once, as the last directive of all.
        case escalate(ExitReason)
        /// All children have been stopped, as was requested. Given once, as the last directive of all.
        case terminated(ExitReason)
        /// Significant children have ended, and all others have been stopped: the supervisor's exit reason is ``ExitReason/shutdown``,
        /// no failure. Given once, as the last directive of all.
        case autoShutdown
        /// The specification or policy that was given isn't valid, and nothing has changed; the id is nil when it was a policy.
        case refused(String?, SupervisionError)
    }

    /// A change of a child that is reported.
    package enum Change: Sendable, Hashable {
        /// The child is ready.
        case started
        /// The child ended as it was asked to, or as it should.
        case stopped(ExitReason)
        /// The child ended by itself, abnormally.
        case crashed(ExitReason)
        /// The child will be started again at that time; restarts in a row are numbered from 1.
        case restarting(attempt: Int, at: Duration)
        /// The child is ready again, without a request to start it.
        case restarted
        /// The child could not be started.
        case startFailed(ExitReason)
        /// The child will not be started again: the reason is permanent, or the supervisor gives up.
        case gaveUp(ExitReason)
    }
}
