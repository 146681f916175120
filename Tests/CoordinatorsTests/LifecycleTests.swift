import Coordinators
import Fixtures
import TestSupport
import Testing

@Suite("Starting, stopping and finishing", .timeLimit(minutes: 2))
struct LifecycleTests {
    @Test("A child is configured before it starts", arguments: Where.allCases)
    func configuration(_ place: Where) async throws {
        try await withRoot { runtime in
            let path = try await runtime.startChild("child", place, greeting: "good morning")
            #expect(path == "/child")
            #expect(try await runtime.perform(.configuration, at: "/child") == "good morning")
        }
    }

    @Test("A hundred concurrent starts of one key make one child", arguments: Where.allCases)
    func coalescing(_ place: Where) async throws {
        try await withRoot { runtime in
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<100 { group.addTask { try await runtime.startChild("one", place) } }
                for try await path in group { #expect(path == "/one") }
            }
            let snapshot = try await runtime.snapshot()
            #expect(snapshot.children.map(\.incarnation) == [1])
            #expect(snapshot.children.map(\.state) == [.active])
        }
    }

    @Test("A key of a living child of another type is in use")
    func keyInUse() async throws {
        try await withRoot("taken", in: .inProcess) { runtime in
            await expect(.keyInUse) {
                try await runtime.ask(Fixture.StartBroken("taken", inWorker: false, how: "codable"))
            }
        }
    }

    @Test("A key that can't be part of a path is refused", arguments: ["", "a/b", "/", "\u{301}b", "a\u{600}"])
    func invalidKey(_ key: String) async throws {
        try await withRoot { runtime in
            await expect(.invalidKey) { try await runtime.startChild(key, .inProcess) }
        }
    }

    @Test("A start that fails leaves nothing, and says why", arguments: Where.allCases, ["codable", "other", "exit", "missing"])
    func failingStart(_ place: Where, _ how: String) async throws {
        // In one process `exit` would end the tests; a missing program needs a worker.
        if place == .inProcess, how == "exit" || how == "missing" { return }
        var options = Support.options
        if how == "missing" { options.workerExecutable = "/nonexistent/program" }
        try await withRoot(options: options) { runtime in
            do {
                try await runtime.ask(Fixture.StartBroken("broken", inWorker: place.isWorker, how: how), timeout: .seconds(20))
                Issue.record("the start must fail")
            } catch let error as Fixture.Refusal {
                #expect(error == Fixture.Refusal("won't start"))
                #expect(how == "codable")
            } catch let error as RemoteError {
                #expect(how == "other" && error.type == "Fixture.LocalRefusal")
            } catch let error as CoordinatorError {
                #expect(error.code == (how == "exit" ? .startFailed : .spawnFailed))
                #expect(error.message.contains(how == "exit" ? "code 3" : "/nonexistent/program"))
            }
            #expect(try await runtime.snapshot().children.isEmpty)
        }
    }

    @Test("A start that takes too long is ended", arguments: Where.allCases)
    func startTimeout(_ place: Where) async throws {
        try await withRoot(options: Support.options.with { $0.startTimeout = .seconds(3) }) { runtime in
            await expect(.startTimedOut) {
                try await runtime.ask(Fixture.StartBroken("slow", inWorker: place.isWorker, how: "hang"), timeout: .seconds(20))
            }
            let children = try await runtime.snapshot().children
            #expect(children.isEmpty)
        }
    }

    @Test("Stop ends the subtree and frees the key", arguments: Where.allCases)
    func stop(_ place: Where) async throws {
        try await withRoot { runtime in
            try await runtime.startChild("parent", place, greeting: "stopped parent")
            _ = try await runtime.perform(.startGrandchild("stopped child", inWorker: place.isWorker), at: "/parent")
            try await runtime.ask(Fixture.StopChild("parent"), timeout: .seconds(20))
            #expect(try await runtime.snapshot().children.isEmpty)
            try await eventually("both are out of memory") {
                LiveInstances.count(of: "stopped parent") == 0 && LiveInstances.count(of: "stopped child") == 0
            }
            await expect(.noSuchChild) { try await runtime.ask(Fixture.StopChild("parent")) }
            try await runtime.startChild("parent", place)
            // The key's lives are counted on.
            #expect(try await runtime.snapshot(of: "/parent").incarnation == 2)
        }
    }

    @Test("A key is free as soon as a stop has returned, and the old child's late end doesn't touch its successor")
    func immediateSuccessor() async throws {
        try await withRoot { runtime in
            for round in 1...rounds(short: 400, all: 2_000, long: 20_000) {
                try await runtime.startChild("again", .inProcess)
                #expect(try await runtime.snapshot(of: "/again").incarnation == UInt32(round))
                try await runtime.ask(Fixture.StopChild("again"), timeout: .seconds(20))
            }
        }
    }

    @Test("A run starts a child, waits for its finish, removes it, and returns the output", arguments: Where.allCases, [true, false])
    func run(_ place: Where, _ finishesAtOnce: Bool) async throws {
        try await withRoot { runtime in
            let flow = Fixture.RunChild("flow", inWorker: place.isWorker, greeting: "done", finishesAtOnce: finishesAtOnce)
            let output = Task { try await runtime.ask(flow, timeout: .seconds(20)) }
            if !finishesAtOnce {
                try await eventually("the flow is there") { try await runtime.snapshot().children.first?.state == .active }
                #expect(try await runtime.perform(.finish("output"), at: "/flow") == "finishing")
            }
            let expected = finishesAtOnce ? "done" : "output"
            #expect(try await output.value == expected)
            #expect(try await runtime.snapshot().children.isEmpty)
        }
    }

    @Test("A run of a child that another caller stops throws", arguments: Where.allCases)
    func runStopped(_ place: Where) async throws {
        try await withRoot { runtime in
            let flow = Fixture.RunChild("flow", inWorker: place.isWorker, greeting: "", finishesAtOnce: false)
            let output = Task { try await runtime.ask(flow, timeout: .seconds(20)) }
            try await eventually("the flow is there") { try await runtime.snapshot().children.first?.state == .active }
            try await runtime.stop("/flow")
            await #expect(throws: CoordinatorError.self) { try await output.value }
        }
    }

    @Test("A parent gets the changes that it requested as returns, and all others as events", arguments: Where.allCases)
    func events(_ place: Where) async throws {
        try await withRoot("child", in: place) { runtime in
            try await runtime.stop("/child")
            try await runtime.start("/child")
            _ = try await runtime.perform(.fail, at: "/child")
            try await eventually("it's restarted") { try await runtime.ask(Fixture.Lifecycle()).contains("child restarted") }
            try await runtime.ask(Fixture.StopChild("child"), timeout: .seconds(20))
            #expect(try await runtime.ask(Fixture.Lifecycle()) == ["child stopped", "child started", "child crashed", "child restarted"])
        }
    }

    @Test("A handler that ignores its cancellation past the grace is abandoned, and the stop goes on", arguments: Where.allCases)
    func stubbornHandler(_ place: Where) async throws {
        try await withRoot("stubborn", in: place) { runtime in
            let stuck = Task.immediate {
                try await runtime.perform(.ignoreCancellation, at: "/stubborn", timeout: .seconds(120))
            }
            try await eventually("it's reachable") {
                try await runtime.ask(Fixture.WhereAmI(), at: "/stubborn").path == "/stubborn"
            }
            try await runtime.ask(Fixture.StopChild("stubborn"), timeout: .seconds(60))
            #expect(try await runtime.snapshot().children.isEmpty)
            let error = await #expect(throws: CoordinatorError.self) { try await stuck.value }
            #expect(error?.code == .stopped || error?.code == .peerLost)
        }
    }
}
