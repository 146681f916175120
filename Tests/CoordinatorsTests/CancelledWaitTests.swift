import ConcurrencySupport
import Coordinators
import CoordinatorsTesting
import TestSupport
import Testing

/// What the tests of this file hold up, and what has happened.
private final class Stage: Sendable {
    /// Opened by the test: until then what waits for it isn't ended by a cancellation.
    let gate = OneShot<Void>()
    let starts = Lock(0)
    let heard = Lock<[Int]>([])
}

/// A service that is ready when the stage says so.
private final class SlowService: Sendable {
    static let stage = Stage()

    init() async { await Self.stage.gate.value }
}

extension DependencyKeys {
    fileprivate var stage: DependencyKey<Stage> { .init() }
    fileprivate var slowService: ServiceDependencyKey<SlowService, String> { .init { _ in await SlowService() } }
}

private enum Words {
    struct UseService: ResponderMessage {}
    struct Join: ResponderMessage {}
    struct Size: ResponderMessage { typealias Reply = Int }
    struct Resize: ResponderMessage {
        var size: Int
        var timeout: Duration
    }
    struct Fail: ResponderMessage {}
    struct Count: ResponderMessage { var to: Int }
    /// Hears the child's numbers, so many times as large, until the next call.
    struct Listen: ResponderMessage { var factor: Int }
    struct Unlisten: ResponderMessage {}
}

/// A child that fails when it's told to, and whose later starts, changes and events wait for the stage.
private actor HeldCoordinator: Coordinator {
    struct Configuration: CoordinatorConfiguration { var size = 1 }
    typealias Event = Int

    let context: Context
    init(_ context: Context) { self.context = context }

    private var stage: Stage? { context.dependencies.stage }

    func start() async throws {
        let number = stage?.starts.withLock { starts in
            starts += 1
            return starts
        }
        if number == 2 { await stage?.gate.value }
    }

    func reconfigured(from former: Configuration) async throws -> Reconfiguration {
        await stage?.gate.value
        return .taken
    }

    static let responders: Responders = [
        .respond(to: Words.Size.self) { me, _ in me.context.configuration.size },
        .respond(to: Words.Fail.self) { me, _ in me.context.fail(CancellationError()) },
        .respond(to: Words.Count.self) { me, count in for number in 1...count.to { me.context.delegates => number } },
    ]
}

private actor HoldingRoot: Coordinator {
    static var cancellationGrace: Duration { .milliseconds(100) }

    let context: Context
    private var subscription: Subscription?
    init(_ context: Context) { self.context = context }

    func start() async throws { try await context.start(HeldCoordinator.self, as: "held", restart: .permanent) }

    private func listen(_ factor: Int) {
        guard let stage = context.dependencies.stage else { return }
        subscription = context.child("held", as: HeldCoordinator.self)?.onEvent { number in
            stage.heard.withLock { $0.append(factor * number) }
            await stage.gate.value
        }
    }

    private func unlisten() { subscription?.cancel() }

    static let responders: Responders = [
        .respond(to: Words.UseService.self, needs: \.slowService) { _, _, _ in },
        .respond(to: Words.Join.self) { me, _ in try await me.context.start(HeldCoordinator.self, as: "held", restart: .permanent) },
        .respond(to: Words.Resize.self) { me, resize in
            try await me.context.child("held", as: HeldCoordinator.self)?.reconfigure(timeout: resize.timeout) { $0.size = resize.size }
        },
        .respond(to: Words.Listen.self) { me, listen in me.listen(listen.factor) },
        .respond(to: Words.Unlisten.self) { me, _ in me.unlisten() },
    ]
}

@Suite("What is waited for, and what becomes of it when the wait is given up", .timeLimit(.minutes(2)))
struct CancelledWaitTests {
    private func withStage(_ stage: Stage = Stage(), _ body: (CoordinatorRuntime, Stage) async throws -> Void) async throws {
        let dependencies = { (dependencies: inout Dependencies) in
            dependencies.stage = stage
            dependencies.describe(\.slowService, by: "")
        }
        try await withRuntime(HoldingRoot.self, options: Support.options, dependencies: dependencies) { runtime in
            try await body(runtime, stage)
        }
    }

    @Test("The making of a service goes on without a message whose time is over, and holds up no handler")
    func service() async throws {
        try await withStage(SlowService.stage) { runtime, stage in
            let error = await #expect(throws: CoordinatorError.self) {
                try await runtime.ask(Words.UseService(), at: "/", timeout: .milliseconds(50))
            }
            #expect(error?.code == .timedOut)
            try await eventually("the handler has ended") { try await runtime.snapshot(of: .root).mailbox?.running == 0 }
            stage.gate.settle(())
            try await runtime.ask(Words.UseService(), at: "/", timeout: .seconds(60))
        }
    }

    @Test("A cancelled start that has joined a child's restart leaves the child alone")
    func joined() async throws {
        try await withStage { runtime, stage in
            try await runtime.ask(Words.Fail(), at: "/held")
            try await eventually("the next life starts") { stage.starts.withLock { $0 } == 2 }
            let join = Task { try await runtime.ask(Words.Join(), at: "/", timeout: .seconds(60)) }
            try await eventually("the call waits") { try await runtime.snapshot(of: .root).mailbox?.running == 1 }
            join.cancel()
            await #expect(throws: CancellationError.self) { try await join.value }
            try await eventually("the call has ended") { try await runtime.snapshot(of: .root).mailbox?.running == 0 }
            stage.gate.settle(())
            try await eventually("the child lives") { try await runtime.ask(Words.Size(), at: "/held") == 1 }
            #expect(stage.starts.withLock { $0 } == 2)
        }
    }

    @Test("A configuration that was taken too late isn't kept, and takes back no later one")
    func late() async throws {
        try await withStage { runtime, stage in
            let error = await #expect(throws: CoordinatorError.self) {
                try await runtime.ask(Words.Resize(size: 2, timeout: .milliseconds(100)), at: "/")
            }
            #expect(error?.code == .timedOut)
            stage.gate.settle(())
            try await eventually("the former one is back") { try await runtime.ask(Words.Size(), at: "/held") == 1 }
            try await runtime.ask(Words.Resize(size: 3, timeout: .seconds(60)), at: "/", timeout: .seconds(60))
            #expect(try await runtime.ask(Words.Size(), at: "/held") == 3)
        }
    }

    @Test("A subscription that is cancelled gets none of the events that wait for it")
    func subscription() async throws {
        try await withStage { runtime, stage in
            try await runtime.ask(Words.Listen(factor: 1), at: "/")
            try await runtime.ask(Words.Count(to: 5), at: "/held")
            try await eventually("the first is heard") { stage.heard.withLock { $0 } == [1] }
            try await runtime.ask(Words.Unlisten(), at: "/")
            stage.gate.settle(())
            // What is told now would be heard after all that waited.
            try await runtime.ask(Words.Listen(factor: 10), at: "/")
            try await runtime.ask(Words.Count(to: 2), at: "/held")
            try await eventually("the other one hears") { stage.heard.withLock { $0.last } == 20 }
            #expect(stage.heard.withLock { $0 } == [1, 10, 20])
        }
    }
}
