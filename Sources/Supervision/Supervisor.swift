/// Decides what happens to children that fail, stop and start: OTP's supervisor as a value.
///
/// It takes events in the past tense and the time, and returns directives for its owner to carry out in order. It does nothing by
/// itself and reads no clock, so the same seed and the same events give the same directives.
///
/// The owner answers every ``Directive/start(_:_:attempt:)`` with `started`, `startFailed` or `exited`, every
/// ``Directive/stop(_:_:_:)`` with `exited` (also when the child's start was still under way), and ``Directive/wake(at:)`` with
/// `timePassed`. Signs of a life that is over are ignored, and so are requests about ids that it doesn't know.
///
/// - Guarantees: at most one life per id at any time; when it ends, children that are only starting are stopped at once, since no order
///   is owed to what was never ready, and the others one at a time in reverse start order; a request to stop wins over a start, a backoff
///   and a restart that is under way; it ends once, and answers nothing after that.
/// - Cost: an event costs O(log n) at most, except those that concern all children: ending, and a restart of siblings.
/// - Memory: per child, and for at most 1,024 removed ids, whose incarnations it keeps apart; beyond that new ids begin above 1.
///
/// Follows https://www.erlang.org/doc/apps/stdlib/supervisor.html, with a backoff added.
public struct Supervisor<ID: Hashable & Sendable>: Sendable {
    /// What is going on beyond single children.
    enum Course: Sendable {
        /// Nothing. Can transition to: stoppingSiblings, ending.
        case steady
        /// Children that a failure concerns are being stopped. Can transition to: startingSiblings, ending.
        case stoppingSiblings(Turns, Siblings)
        /// The same children are being started again. Can transition to: steady, stoppingSiblings, ending.
        case startingSiblings(Turns, at: Duration)
        /// All children are being stopped. Can transition to: ended.
        case ending(Turns, Ending)
        /// No child lives, and nothing is answered any more.
        case ended
    }

    /// Children whose turns come one after the other.
    struct Turns: Sendable {
        private let ids: [ID]
        private var position = 0

        init(_ ids: [ID]) {
            self.ids = ids
        }

        var current: ID? { position < ids.count ? ids[position] : nil }
        var remaining: ArraySlice<ID> { ids[position...] }

        mutating func advance() {
            position += 1
        }
    }

    /// The children that are restarted together, and when.
    struct Siblings: Sendable {
        let inOrder: [ID]
        /// Those that are still concerned: a child that was forgotten, and has come again since, isn't.
        var members: Set<ID>
        let at: Duration
    }

    /// Why the supervisor ends.
    enum Ending: Sendable {
        case escalated(ExitReason)
        case terminated(ExitReason)
        /// Its significant children have ended.
        case automatic
    }

    /// What the supervisor does about children that fail; see `policyChanged`.
    public internal(set) var policy: SupervisionPolicy

    let isolatesFailures: Bool
    var table = Children<ID>()
    var course = Course.steady
    /// The restarts that are counted together.
    var window = RestartWindow()
    /// Those of children that are counted by themselves.
    var ownWindows: [ID: RestartWindow] = [:]
    var deadlines = Deadlines<ID>()
    var forgotten = ForgottenIncarnations<ID>()
    var random: SplitMix64
    /// The time of the event that is being handled.
    var now = Duration.zero
    /// What the event that is being handled has led to so far.
    var directives: [Directive] = []
    /// The wake that the owner has been told of and that has not come yet.
    var announcedWake: Duration?

    /// Makes a supervisor without children.
    ///
    /// - Parameters:
    ///   - policy: taken as it is; see ``SupervisionPolicy/validate()``.
    ///   - seed: where the chance in the backoff comes from. Supervisors that shall not restart in step need different seeds.
    ///   - isolatesFailures: every child is counted by itself, one over the intensity is given up alone, and its siblings live on. For the
    ///     root, which has nobody to escalate to.
    public init(policy: SupervisionPolicy = .init(), seed: UInt64 = 0, isolatesFailures: Bool = false) {
        self.policy = policy
        self.isolatesFailures = isolatesFailures
        self.random = SplitMix64(seed: seed)
    }

    /// Takes note of an event and returns what is to be done, in this order.
    ///
    /// - Parameter now: the monotonic time since any fixed origin; it never runs backwards from one event to the next.
    @_specialize(where ID == String)  // Three times as fast for the ids that this package uses; other types work as well.
    public mutating func handle(_ event: Event, now: Duration) -> [Directive] {
        if case .ended = course { return [] }
        self.now = now
        switch event {
        case .startRequested(let specification):
            if accepts(specification) { request(specification.id, .startRequested(specification)) }
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
        defer { directives = [] }
        return directives
    }
}

// MARK: - Refusing

extension Supervisor {
    private mutating func accepts(_ specification: ChildSpecification<ID>) -> Bool {
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
    public var children: [(specification: ChildSpecification<ID>, state: ChildState)] {
        table.inOrder.map { ($0.specification, $0.state) }
    }

    /// The ids of all children in start order, in O(n).
    public var ids: [ID] {
        table.inOrder.map(\.id)
    }

    /// The state of a child; nil when there is no such child.
    public func state(of id: ID) -> ChildState? {
        table[id]?.state
    }

    /// The specification of a child; nil when there is no such child.
    public func specification(of id: ID) -> ChildSpecification<ID>? {
        table[id]?.specification
    }

    /// How many children are in a state of this kind, in O(1).
    public func count(in kind: ChildState.Kind) -> Int {
        table.count(in: kind)
    }

    /// Whether all children are being stopped, or have been: no request has an effect any more.
    public var isEnding: Bool {
        switch course {
        case .steady, .stoppingSiblings, .startingSiblings: false
        case .ending, .ended: true
        }
    }
}
