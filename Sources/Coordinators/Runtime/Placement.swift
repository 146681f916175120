/// The place where a child runs: its parent's process, or a worker process of its own.
///
///     try await context.start(CartCoordinator.self, as: .cart, in: .worker)
///     try await context.start(RenderCoordinator.self, as: .render, in: .worker(spares: 1, recycling: Recycling(age: .seconds(3_600))))
public struct Placement: Sendable, Hashable {
    enum Place: Sendable, Hashable {
        case inProcess
        case worker(WorkerPlan)
    }

    let place: Place

    /// The process of the parent.
    public static let inProcess = Placement(place: .inProcess)

    /// A worker process of its own, which the child shares with its subtree.
    public static let worker = Placement(place: .worker(WorkerPlan()))

    /// Returns a placement in a worker process of its own, with further options.
    ///
    /// - Parameters:
    ///   - spares: The number of processes that are kept started and waiting, so that a restart takes one instead of spawning.
    ///   - recycling: The rules for replacing the process by a fresh one without a failure; none by default.
    ///   - memoryLimit: The bytes of memory (resident set, with that of descendants) above which the process is killed, for the reason
    ///     `memoryExceeded`; unlimited by default. Workers below it count by themselves. The memory is measured with the heartbeat, every second by default, so the process may exceed the limit by what it takes
    ///     in that time. A start is refused, with the number that it needs, if the coordinator is above the limit when it's ready.
    ///   - dataLimit: The bytes of data beyond which the kernel refuses the process more (`RLIMIT_DATA`); unlimited by default. Data are also
    ///     what is only reserved: eight megabytes of stack for each thread, of which a process has more on a machine with more processors.
    ///   - hang: The response to a coordinator whose executor runs nothing any more; it's reported by default.
    ///   - overlaps: Whether ``CoordinatorRuntime/replace(_:)`` starts the next life before the present one ends, so that the path lives twice
    ///     for a while: only for a coordinator without state of its own. False by default.
    public static func worker(
        spares: Int = 0,
        recycling: Recycling = Recycling(),
        memoryLimit: Int? = nil,
        dataLimit: Int? = nil,
        hang: HangResponse = .report,
        overlaps: Bool = false
    ) -> Placement {
        var plan = WorkerPlan(spares: max(spares, 0), recycling: recycling, hang: hang, overlaps: overlaps)
        (plan.memoryLimit, plan.dataLimit) = (memoryLimit, dataLimit)
        return Placement(place: .worker(plan))
    }
}

/// The response to a worker whose coordinator gets no processor time, since one of its handlers is busy or blocked without awaiting, or all
/// threads of the process's executor are.
///
/// The parent has the executor of the worker's first coordinator answer a ping every second. A process that is stopped or doesn't read its link is restarted in any case;
/// see ``CoordinatorRuntime/Options/heartbeatTimeout``.
public enum HangResponse: String, Sendable, Hashable, Codable, CaseIterable {
    /// The silence is logged and shown, in ``CoordinatorSnapshot/executorSilence`` and ``CoordinatorHealth/suspicions``: long computations are
    /// legitimate.
    case report
    /// The process is killed after ``CoordinatorRuntime/Options/heartbeatTimeout`` and restarted as its type says.
    case restart
}

/// The rules for when a worker's process is replaced by a fresh one: planned, drained, and not counted as a failure.
///
/// When a rule applies, new messages wait and those in the mailbox are handled, within the child's shutdown time. Then the process ends,
/// and the next one takes the messages that have waited.
public struct Recycling: Sendable, Hashable {
    /// The longest time that an incarnation may live, and that a spare may wait.
    public var age: Duration?
    /// The share of the age, from 0 to 1, by which it may differ at random, so that many workers don't end at once.
    public var jitter: Double
    /// The number of messages that an incarnation may be sent.
    public var messages: Int?
    /// The bytes of memory (resident set) that the process may occupy with its descendants; measured with the heartbeat, every second by default.
    ///
    /// Above it the process ends when it has handled what it has; above the `memoryLimit` of a ``Placement`` it's killed.
    public var memory: Int?

    /// Creates the rules; a limit of `nil` doesn't apply.
    public init(age: Duration? = nil, jitter: Double = 0.1, messages: Int? = nil, memory: Int? = nil) {
        self.age = age
        self.jitter = min(max(jitter, 0), 1)
        self.messages = messages
        self.memory = memory
    }

    /// The longest time that the next incarnation may live, jitter included.
    var nextAge: Duration? { age.map { $0 * (1 + jitter * Double.random(in: -1...1)) } }
}

/// The options of a worker's process, besides its program.
struct WorkerPlan: Sendable, Hashable {
    var spares = 0
    var recycling = Recycling()
    /// The resident bytes above which the process is killed.
    var memoryLimit: Int?
    /// The bytes of `RLIMIT_DATA`.
    var dataLimit: Int?
    var hang = HangResponse.report
    /// Whether a replacement starts the next life beside the present one.
    var overlaps = false
}
