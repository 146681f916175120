public import Coordinators
import Glibc

/// Messages of which the process dies that handles them.
public enum Crash {
    /// The way in which a life ends while it handles a message.
    public enum Way: String, Codable, Sendable, CaseIterable {
        case trap, exit, exitWithZero, exitForGood
        /// An allocation is refused.
        case memory
        /// In process: the coordinator fails.
        case fail
        /// The test ends the process, by SIGKILL or as an operator does: the handler only waits for that, or for the line "go on".
        case kill, operatorsKill

        /// Whether it's the handler that ends the life.
        public var isOfHandler: Bool { self != .kill && self != .operatorsKill }
    }

    /// What a handler does.
    public struct Deed: Codable, Sendable {
        /// The name under which it's noted down.
        public var name: String
        /// The line of the notebook for which it waits first.
        public var gate: String?
        /// The way in which it ends the life then.
        public var way: Way?

        public init(_ name: String, after gate: String? = nil, _ way: Way? = nil) { (self.name, self.gate, self.way) = (name, gate, way) }
    }

    public struct Once: ResponderMessage {
        public var deed: Deed
        public init(_ deed: Deed) { self.deed = deed }
    }

    public struct Repeatable: ResponderMessage {
        public static var isIdempotent: Bool { true }
        public var deed: Deed
        public init(_ deed: Deed) { self.deed = deed }
    }
}

/// A member of a pool that handles two messages at a time, and notes down of each what it handles beside.
public actor CrashCoordinator: Coordinator {
    public typealias Configuration = NotebookConfiguration

    public nonisolated let context: Context
    private var handled: [String] = []
    public init(_ context: Context) { self.context = context }

    public static let mailbox = MailboxPolicy(running: 2)

    public static let responders: Responders = [
        .respond(to: Crash.Once.self) { me, once in try await me.perform(once.deed) },
        .respond(to: Crash.Repeatable.self) { me, repeatable in try await me.perform(repeatable.deed) },
    ]

    private func perform(_ deed: Crash.Deed) async throws {
        notebook.note("\(deed.name) begins beside \(handled.count)")
        handled.append(deed.name)
        defer { handled.removeAll { $0 == deed.name } }
        if let gate = deed.gate { try await notebook.wait(for: gate) }
        switch deed.way {
        case nil: return
        case .trap: fatalError("as planned")
        case .exit: exit(3)
        case .exitWithZero: exit(0)
        case .exitForGood: exit(78)
        case .memory:
            var limit = rlimit(rlim_cur: 0, rlim_max: 0)
            setrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &limit)
            let bytes = [UInt8](repeating: 1, count: 1 << 28)
            notebook.note("has \(bytes.count) bytes")
        case .fail:
            context.fail(Fixture.Refusal("as planned"))
            try await Fixture.untilCancelled()
        case .kill, .operatorsKill: try await notebook.wait(for: "\(deed.name) may go on")
        }
    }
}

/// A program whose root gives its only child up, because that ends with the exit code that the test sets.
public enum Doomed {
    /// The variable with the exit code; without it another program runs.
    public static let variable = "FIXTURE_DOOMED"

    /// Ends the process that handles it.
    struct Die: ResponderMessage {}

    public static var exitCode: Int32? { getenv(variable).flatMap { Int32(String(cString: $0)) } }

    public static func main() async throws {
        try await CoordinatorRuntime.main(DoomedRoot.self, coordinators: [DoomedChild.self])
    }
}

private actor DoomedRoot: Coordinator {
    nonisolated let context: Context
    init(_ context: Context) { self.context = context }

    func run() async throws {
        try await context.start(SmallestCoordinator.self, as: "healthy")
        let limits = RestartLimits(intensity: 1, backoff: Backoff.none)
        let doomed = try await context.start(DoomedChild.self, as: "doomed", in: .worker, restartLimits: limits)
        for _ in 0..<2 { _ = try? await doomed.ask(Doomed.Die(), timeout: .seconds(60)) }
        try await Fixture.untilCancelled()
    }
}

private actor DoomedChild: Coordinator {
    nonisolated let context: Context
    init(_ context: Context) { self.context = context }

    static let responders: Responders = [.respond(to: Doomed.Die.self) { _, _ in exit(Doomed.exitCode ?? 1) }]
}
