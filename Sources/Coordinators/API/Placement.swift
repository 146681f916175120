/// Where a child lives.
///
///     try await context.start(CartCoordinator.self, as: .cart, in: .worker)
///     try await context.start(RenderCoordinator.self, as: .render, in: .worker(spares: 1, recycling: Recycling(age: .seconds(3_600))))
public struct Placement: Sendable, Hashable {
    enum Place: Sendable, Hashable {
        case inProcess
        case worker(WorkerPlan)
    }

    let place: Place

    /// In the process of its parent.
    public static let inProcess = Placement(place: .inProcess)

    /// In a worker process of its own, together with its subtree.
    public static let worker = Placement(place: .worker(WorkerPlan()))

    /// In a worker process of its own, with more to say about it.
    ///
    /// - Parameters:
    ///   - spares: how many processes are kept started and waiting to become the next life: a restart takes one instead of spawning.
    ///   - recycling: when the process is replaced by a fresh one, without a failure; never by default.
    ///   - memoryLimit: the bytes of memory (`RLIMIT_DATA`) at which the kernel refuses it more; none by default.
    public static func worker(spares: Int = 0, recycling: Recycling = Recycling(), memoryLimit: Int? = nil) -> Placement {
        Placement(place: .worker(WorkerPlan(spares: max(spares, 0), recycling: recycling, memoryLimit: memoryLimit)))
    }
}

/// When a worker's process is replaced by a fresh one: planned, drained, and counted as no failure.
///
/// From then on new messages wait; those that are there are handled, within the child's shutdown time; then the process ends and the next
/// takes what has waited.
public struct Recycling: Sendable, Hashable {
    /// How long a life may be, and how long a spare may wait for one.
    public var age: Duration?
    /// By how much an age may differ, as a share from 0 to 1, so that many workers don't end at once.
    public var jitter: Double
    /// How many messages a life may be sent.
    public var messages: Int?
    /// How many bytes of memory it may occupy (resident set); looked at every second.
    public var memory: Int?

    /// Creates the rules; those that are left out don't count.
    public init(age: Duration? = nil, jitter: Double = 0.1, messages: Int? = nil, memory: Int? = nil) {
        self.age = age
        self.jitter = min(max(jitter, 0), 1)
        self.messages = messages
        self.memory = memory
    }

    /// How long the next life may be, jitter included.
    var nextAge: Duration? { age.map { $0 * (1 + jitter * Double.random(in: -1...1)) } }
}

/// What there is to say about a worker's process, beside the program.
struct WorkerPlan: Sendable, Hashable {
    var spares = 0
    var recycling = Recycling()
    var memoryLimit: Int?
}
