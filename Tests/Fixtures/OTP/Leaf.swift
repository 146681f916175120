public import Coordinators
import Glibc

/// A child that does what its plan and the test say: OTP's worker.
public actor Leaf: Coordinator {
    public typealias Configuration = Plan
    public nonisolated let context: Context
    private let configuration: Plan
    private let ends: AsyncStream<OTP.Way>
    private let end: AsyncStream<OTP.Way>.Continuation

    public init(_ context: Context) {
        self.context = context
        configuration = context.configuration
        (ends, end) = AsyncStream<OTP.Way>.makeStream()
    }

    public static let responders: Responders = [
        .respond(to: OTP.End.self) { me, request in me.end.yield(request.how) },
        .respond(to: OTP.Describe.self) { me, _ in "\(me.configuration.key) \(me.context.incarnation)" },
    ]

    public func start() async throws {
        if configuration.fails(in: context.incarnation) { throw Fixture.Refusal("planned") }
        // OTP's `ignore`.
        if configuration.declines(in: context.incarnation) { context.finish() }
    }

    public func run() async throws {
        if let ending = configuration.ending {
            try await SharedFile.wait(for: ending.gate)
            try Self.end(ending.way)
            return
        }
        for await way in ends { return try Self.end(way) }
    }

    /// Ends in the given way; returning is one of them.
    private static func end(_ way: OTP.Way) throws {
        switch way {
        case .normally: break
        case .abnormally: throw Fixture.Refusal("told to fail")
        case .exiting(let code): _exit(code)
        case .killed: Glibc.kill(getpid(), SIGKILL)
        }
    }

    public func stopped() async {
        if let code = configuration.stopExitCode { _exit(code) }
        // The waits run in tasks of their own, which aren't cancelled.
        if let gate = configuration.stopGate {
            SharedFile.create("\(gate).begun")
            await Task { try? await SharedFile.wait(for: gate) }.value
        }
        guard configuration.stopMilliseconds > 0 else { return }
        let duration = Duration.milliseconds(configuration.stopMilliseconds)
        await Task { try? await context.clock.sleep(for: duration) }.value
    }
}
