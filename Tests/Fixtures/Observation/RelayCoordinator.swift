public import Coordinators
import Glibc

/// The messages of the tests.
public enum Relay {
    /// Asks for the numbers of the processes from here down, by one hop after the other.
    public struct Processes: ResponderMessage {
        public typealias Reply = [Int32]
        public init() {}
    }

    /// The same as a message that isn't answered.
    public struct Pass: ResponderMessage {
        public init() {}
    }

    /// Takes as long as it says.
    public struct Wait: ResponderMessage {
        public var milliseconds: Int
        public init(milliseconds: Int) { self.milliseconds = milliseconds }
    }

    /// Asks for what the backends of this process have.
    public struct Look: ResponderMessage {
        public typealias Reply = Seen
        public init() {}
    }

    /// Asks for the trace that the message belongs to.
    public struct Trace: ResponderMessage {
        public typealias Reply = String
        public init() {}
    }

    public struct Crash: ResponderMessage {
        public init() {}
    }
}

/// A coordinator that has one like itself below it, in a process of its own, as deep as it's told.
public actor RelayCoordinator: Coordinator {
    public struct Configuration: CoordinatorConfiguration {
        /// The number of processes below.
        public var depth = 0
        public init() {}
        public init(depth: Int) { self.depth = depth }
    }

    public nonisolated let context: Context
    private var next: Child<RelayCoordinator>?

    public init(_ context: Context) { self.context = context }

    public func start() async throws {
        let depth = context.configuration.depth
        guard depth > 0 else { return }
        next = try await context.start(RelayCoordinator.self, as: "next", in: .worker) { $0.depth = depth - 1 }
    }

    public static let responders: Responders = [
        .respond(to: Relay.Processes.self) { me, message in
            let below = try await me.next?.ask(message, timeout: .seconds(30)) ?? []
            return [getpid()] + below
        },
        .respond(to: Relay.Pass.self) { me, message in _ = try await me.next?.send(message) },
        .respond(to: Fixture.Refuse.self) { _, _ in throw Fixture.Refusal("told to fail") },
        .respond(to: Relay.Wait.self) { me, wait in try await me.context.clock.sleep(for: .milliseconds(wait.milliseconds)) },
        .respond(to: Relay.Look.self) { _, _ in ProcessBackends.seen },
        .respond(to: Relay.Trace.self) { _, _ in TraceContext.current?.traceparent ?? "" },
        .respond(to: Relay.Crash.self) { _, _ in _ = kill(getpid(), SIGKILL) },
    ]
}
