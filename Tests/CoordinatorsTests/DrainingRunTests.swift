import ConcurrencySupport
import CoordinatorsTesting
import Fixtures
import ServiceLifecycle
import TestSupport
import Testing

@testable import Coordinators

@Suite("Draining and `run` hooks", .timeLimit(minutes: 3))
struct DrainingRunTests {
    /// How a child has come to be.
    enum Beginning: CaseIterable { case started, awaitedByAHandler }

    @Test("A job in a `run` hook ends within the drain, whether a handler awaits its child or not", arguments: Beginning.allCases)
    func jobs(_ beginning: Beginning) async throws {
        try await Works.run(.draining(.seconds(600))) { works in
            var paths: [CoordinatorPath] = []
            for place in Where.allCases {
                for hook in [JobCoordinator.Hook.job, .lastJob] {
                    let key = "\(place)-\(hook)"
                    paths.append(CoordinatorPath.root.appending(key))
                    try await works.begin(key, hook, place, beginning, .draining(.seconds(500)))
                }
            }
            let stop = Task { await works.runtime.stop() }
            let drained = paths.filter { "\($0)".hasSuffix("lastJob") }
            try await eventually("those that look learn of the drain") {
                // Children that were started drain together.
                drained.allSatisfy { works.notebook.words(at: $0) == ["begins", "drains"] }
            }
            works.notebook.note("go on")
            await stop.value
            for path in paths {
                let words = works.notebook.words(at: path)
                #expect(words == (drained.contains(path) ? ["begins", "drains", "ends"] : ["begins", "ends"]), "\(path)")
            }
        }
    }

    @Test("At the end of its time a job is cancelled", arguments: Where.allCases)
    func budget(_ place: Where) async throws {
        try await Works.run(.draining(.seconds(600))) { works in
            try await works.begin("job", .job, place, .started, .draining(.seconds(2)))
            await works.runtime.stop()
            #expect(works.notebook.words(at: "/job") == ["begins", "is cancelled"])
        }
    }

    @Test("A hook that goes on for ever, and looks at no drain, doesn't hold one up", arguments: Where.allCases)
    func forever(_ place: Where) async throws {
        try await Works.run(.draining(.seconds(600))) { works in
            try await works.begin("ever", .forever, place, .started, .timeout(.seconds(600)))
            let began = ContinuousClock.now
            await works.runtime.stop()
            #expect(ContinuousClock.now - began < .seconds(60))
            #expect(works.notebook.words(at: "/ever") == ["begins", "is cancelled"])
        }
    }

    @Test("Without a drain there is none to wait for, and the sequence ends with the coordinator")
    func noDrain() async throws {
        try await Works.run(.timeout(.seconds(60))) { works in
            let draining = DrainSignal(beginning: try works.runtime.root.awaitDrain())
            let elements = Task { await draining.reduce(0) { count, _ in count + 1 } }
            await works.runtime.stop()
            #expect(await elements.value == 0 && !draining.hasBegun)
        }
    }

    @Test("A graceful shutdown makes a service unready first, then waits, then ends it", arguments: [false, true])
    func unready(_ hasReadiness: Bool) async throws {
        let virtual = VirtualTime()
        let options = Support.options.with { ($0.unreadyDelay, $0.time) = (.seconds(30), TimeSource(virtual: virtual)) }
        let runtime = CoordinatorRuntime(RootCoordinator.self, options: options)
        let server = Server()
        let services: [any Service] = [runtime, server] + (hasReadiness ? [runtime.readiness] : [])
        let group = ServiceGroup(services: services, logger: options.logger)
        async let end: Void = group.run()
        try await runtime.ready()
        #expect(await runtime.health().isReady)
        await group.triggerGracefulShutdown()
        try await eventually("it isn't ready") { await !runtime.health().isReady }
        // Load balancers may not have noticed yet.
        #expect(await runtime.health().isLive)
        #expect(try await runtime.ask(Fixture.Echo("still there")) == "still there")
        #expect(server.hasEnded.isSettled != hasReadiness, "the server ends before what is listed before it")
        await virtual.move(by: .seconds(29))
        #expect(try await runtime.ask(Fixture.Echo("still there")) == "still there")
        virtual.letPass(true)
        try await end
        #expect(await !runtime.health().isLive)
    }
}

/// A service beside a runtime.
private final class Server: Service {
    let hasEnded = OneShot<Void>()

    func run() async throws {
        try? await gracefulShutdown()
        hasEnded.settle()
    }
}

/// A tree with jobs.
private struct Works {
    let runtime: CoordinatorRuntime
    let notebook: Notebook

    static func run(_ shutdown: Shutdown, _ body: (Works) async throws -> Void) async throws {
        let notebook = try Notebook.temporary()
        defer { notebook.remove() }
        let options = Support.options.with { $0.shutdown = shutdown }
        try await withRuntime(Foreman.self, options: options) { try await body(Works(runtime: $0, notebook: notebook)) }
    }

    func begin(
        _ key: String,
        _ hook: JobCoordinator.Hook,
        _ place: Where,
        _ beginning: DrainingRunTests.Beginning,
        _ shutdown: Shutdown
    ) async throws {
        let isAwaited = beginning == .awaitedByAHandler
        let begin = Foreman.Begin(
            key: key,
            hook: hook,
            isInWorker: place.isWorker,
            isAwaited: isAwaited,
            shutdown: shutdown,
            notebook: notebook
        )
        if isAwaited { try await runtime.send(begin, at: .root) } else { try await runtime.ask(begin, at: .root, timeout: .seconds(60)) }
        try await eventually("\(key) begins") { notebook.words(at: CoordinatorPath.root.appending(key)) == ["begins"] }
    }
}

private actor Foreman: Coordinator {
    struct Begin: ResponderMessage {
        var key: String
        var hook: JobCoordinator.Hook
        var isInWorker: Bool
        var isAwaited: Bool
        var shutdown: Shutdown
        var notebook: Notebook
    }

    let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Begin.self) { me, begin in
            let placement: Placement = begin.isInWorker ? .worker : .inProcess
            var job = JobCoordinator.Configuration()
            (job.notebook, job.hook, job.finishes) = (begin.notebook, begin.hook, begin.isAwaited)
            let (key, shutdown) = (begin.key, begin.shutdown)
            if begin.isAwaited {
                _ = try await me.context.run(JobCoordinator.self, as: key, in: placement, shutdown: shutdown, with: job)
            } else {
                try await me.context.start(JobCoordinator.self, as: key, in: placement, shutdown: shutdown, with: job)
            }
        }
    ]
}
