import Coordinators
import Fixtures
import TestSupport
import Testing

@Suite("Recycling", .timeLimit(minutes: 3))
struct WorkerRecyclingTests {
    /// No failure at all is allowed: one that recycling counted as such would be the end.
    private static let options = Support.options.allowing(restarts: 0)

    @Test("Recycling by messages loses none of two hundred concurrent asks, and counts no failure", arguments: [0, 1])
    func messages(_ spares: Int) async throws {
        try await LifecycleTree.run(Self.options) { tree in
            let child = try await tree.startChild(in: .worker(spares: spares, recycling: Recycling(messages: 50)))
            let places = try await withThrowingTaskGroup(of: Fixture.Place.self) { group in
                for _ in 0..<200 { group.addTask { try await child.ask(Fixture.WhereAmI(), timeout: .seconds(60)) } }
                return try await group.reduce(into: [Fixture.Place]()) { $0.append($1) }
            }
            #expect(places.count == 200)
            try await eventually("it was replaced, and is back") { child.incarnation >= 2 && child.state == .active }
            // The next fifty go to other lives than the first.
            let later = try await child.ask(Fixture.WhereAmI(), timeout: .seconds(60))
            #expect(later.incarnation >= 2)
            #expect(Set(places.map(\.incarnation)).count == Set(places.map(\.pid)).count)
            try await tree.expectNoFailure()
        }
    }

    @Test("Recycling by messages answers asks one after the other")
    func sequential() async throws {
        try await LifecycleTree.run(Self.options) { tree in
            let child = try await tree.startChild(in: .worker(recycling: Recycling(messages: 10)))
            var incarnations: [UInt32] = []
            for _ in 0..<40 { incarnations.append(try await child.ask(Fixture.WhereAmI(), timeout: .seconds(60)).incarnation) }
            #expect(incarnations == incarnations.sorted())
            #expect(Set(incarnations).count >= 3)
            try await tree.expectNoFailure()
        }
    }

    @Test("Messages under way are handled by the incarnation that has accepted them")
    func underWay() async throws {
        try await LifecycleTree.run(Self.options) { tree in
            let child = try await tree.startChild(in: .worker(recycling: Recycling(messages: 2)))
            let passing = Task.immediate { try await child.perform(.passGate, timeout: .seconds(60)) }
            try await eventually("it has begun") { tree.root.gate.waiting == 1 }
            let second = try await child.ask(Fixture.WhereAmI(), timeout: .seconds(60))
            #expect(second.incarnation == 1)
            let third = Task.immediate { try await child.ask(Fixture.WhereAmI(), timeout: .seconds(60)) }
            // The gate is still closed, so the first incarnation goes on.
            try await tree.isParked()
            #expect(tree.journal.count(of: "stop /a") == 0)
            tree.root.gate.open()
            let passed = try await passing.value
            #expect(passed == "passed")
            let next = try await third.value
            #expect(next.incarnation == 2)
            #expect(tree.journal.count(of: "stop /a") == 1)
            try await tree.expectNoFailure()
        }
    }

    @Test("Messages under way below the worker are handled too, in its process and in another", arguments: Where.allCases)
    func underWayBelow(_ place: Where) async throws {
        try await LifecycleTree.run(Self.options) { tree in
            let child = try await tree.startChild(in: .worker(recycling: Recycling(messages: 4)))
            _ = try await child.perform(.startChild("b", inWorker: place.isWorker))
            let passing = Task.immediate { try await tree.perform(.passGate, at: "/a/b") }
            try await eventually("it has begun") { tree.root.gate.waiting == 1 }
            for _ in 0..<2 { _ = try await child.ask(Fixture.WhereAmI(), timeout: .seconds(60)) }
            let next = Task.immediate { try await child.ask(Fixture.WhereAmI(), timeout: .seconds(60)) }
            try await tree.isParked()
            tree.root.gate.open()
            let passed = try await passing.value
            #expect(passed == "passed")
            let there = try await next.value
            #expect(there.incarnation == 2)
            try await tree.expectNoFailure()
        }
    }

    @Test("A paused worker is replaced when it's resumed, and its waiting messages are handled before")
    func paused() async throws {
        try await LifecycleTree.run(Self.options) { tree in
            // The time to end is shorter than the pause below, which a replacement that doesn't wait for the resume would not survive.
            let placement = Placement.worker(recycling: Recycling(messages: 3))
            let child = try await tree.startChild(in: placement, shutdown: .timeout(.seconds(1)))
            try await tree.runtime.pause("/a")
            let waiting = (0..<3).map { _ in Task.immediate { try await child.ask(Fixture.WhereAmI(), timeout: .seconds(60)) } }
            try await realTime(.milliseconds(1_500), because: "the time to end is counted in the worker, and kills it")
            #expect(tree.journal.count(of: "stop /a") == 0)
            try await tree.runtime.resume("/a")
            for ask in waiting {
                let place = try await ask.value
                #expect(place.incarnation == 1)
            }
            let next = try await tree.place(of: "/a", incarnation: 2)
            #expect(next.incarnation == 2)
        }
    }

    @Test("Recycling by age goes on while asks arrive")
    func age() async throws {
        try await LifecycleTree.run(Self.options) { tree in
            let child = try await tree.startChild(in: .worker(recycling: Recycling(age: .milliseconds(400), jitter: 0.2)))
            var incarnations: Set<UInt32> = []
            let deadline = ContinuousClock.now + .seconds(30)
            while incarnations.count < 4, ContinuousClock.now < deadline {
                incarnations.insert(try await child.ask(Fixture.WhereAmI(), timeout: .seconds(60)).incarnation)
            }
            #expect(incarnations.count == 4)
            try await tree.expectNoFailure()
        }
    }

    @Test(
        "Recycling by memory counts no failure",
        .disabled(if: Sanitizer.isOn, "the sanitizer's own memory is many times the limit")
    )
    func memory() async throws {
        try await LifecycleTree.run(Self.options) { tree in
            let child = try await tree.startChild(in: .worker(recycling: Recycling(memory: 200 << 20)))
            let first = try await child.ask(Fixture.WhereAmI(), timeout: .seconds(60))
            // The memory is measured every second: after two measurements a worker that needs little must still live.
            try await realTime(.milliseconds(2_500), because: "the kernel's count of the memory is read once a second")
            let still = try await child.ask(Fixture.WhereAmI(), timeout: .seconds(60))
            #expect(still.pid == first.pid)
            _ = try await child.perform(.grow(megabytes: 256), timeout: .seconds(60))
            try await eventually("it was replaced, and is back") { child.incarnation == 2 && child.state == .active }
            let second = try await child.ask(Fixture.WhereAmI(), timeout: .seconds(60))
            #expect(second.pid != first.pid)
            try await tree.expectNoFailure()
        }
    }

    @Test(
        "A worker above its memory limit is ended as such, and its restart isn't counted",
        .disabled(if: Sanitizer.isOn, "the sanitizer's own memory is many times the limit")
    )
    func memoryLimit() async throws {
        try await LifecycleTree.run(Self.options) { tree in
            let limit = 200 << 20
            // What is only reserved doesn't count: the stacks of the process's threads are more.
            let child = try await tree.startChild(in: .worker(memoryLimit: limit))
            let grown = try await child.perform(.grow(megabytes: 32), timeout: .seconds(60))
            #expect(grown == String(32 << 20))
            for incarnation in 2...3 as ClosedRange<UInt32> {
                _ = try? await child.perform(.grow(megabytes: 256), timeout: .seconds(60))
                let place = try await tree.place(of: "/a", incarnation: incarnation)
                #expect(place.incarnation == incarnation)
            }
            let exit = try await tree.runtime.snapshot(of: "/a").lastExit
            guard case .memoryExceeded(let bytes, limit) = exit, bytes > limit else { throw Unexpected(exit) }
            try await eventually("the parent hears the reason") {
                await tree.root.heard.filter { $0.hasPrefix("crashed /a") }.count == 2
            }
        }
    }

    @Test(
        "A memory limit that a worker can't start with is refused with the number that it needs",
        .disabled(if: Sanitizer.isOn, "the sanitizer's own memory is many times the limit")
    )
    func impossibleMemoryLimit() async throws {
        try await LifecycleTree.run(Self.options) { tree in
            var needed = 1 << 20
            let error = await #expect(throws: CoordinatorError.self) { _ = try await tree.startChild(in: .worker(memoryLimit: needed)) }
            #expect(error?.code == .startFailed && tree.context.children.isEmpty, "\(error?.message ?? "")")
            let numbers = error?.message.split { !$0.isNumber }.compactMap { Int($0) } ?? []
            #expect(numbers.last == needed)
            needed = try #require(numbers.max())
            #expect(needed > 2 << 20)
            // What it says is enough, but for what differs from process to process.
            _ = try await tree.startChild(in: .worker(memoryLimit: needed + needed / 4))
        }
    }

    @Test(
        "An allocation beyond the data limit ends the worker, which is restarted",
        .disabled(if: Sanitizer.isOn, "the sanitizer's own memory is many times the limit")
    )
    func dataLimit() async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild(in: .worker(dataLimit: 768 << 20))
            let grown = try await child.perform(.grow(megabytes: 64), timeout: .seconds(60))
            #expect(grown == String(64 << 20))
            await Support.expect(.peerLost) { _ = try await child.perform(.grow(megabytes: 1_024), timeout: .seconds(60)) }
            let place = try await tree.place(of: "/a", incarnation: 2)
            #expect(place.incarnation == 2)
            try await eventually("the parent hears of it") { await tree.root.heard.contains { $0.hasPrefix("crashed") } }
        }
    }

    @Test("A stop of a worker that is about to be replaced wins")
    func stopped() async throws {
        try await LifecycleTree.run(Self.options) { tree in
            for _ in 0..<5 {
                let child = try await tree.startChild(in: .worker(recycling: Recycling(messages: 1)))
                _ = try await child.ask(Fixture.WhereAmI(), timeout: .seconds(60))
                await child.remove()
                #expect(child.state == .inactive)
                #expect(tree.context.children.isEmpty)
            }
        }
    }
}

/// Another end than the test has expected.
private struct Unexpected: Error {
    let exit: ExitReason?

    init(_ exit: ExitReason?) { self.exit = exit }
}

extension LifecycleTree {
    fileprivate func startChild(
        in placement: Placement,
        shutdown: Shutdown = .timeout(.seconds(20))
    ) async throws -> Child<LifeChild> {
        try await context.start(LifeChild.self, as: "a", in: placement, shutdown: shutdown) { $0.journal = journal }
    }

    /// Waits until a message waits for the next life; what was told to the present life before has come when it has answered for itself.
    fileprivate func isParked() async throws {
        try await eventually("it waits") { try await runtime.snapshot(of: "/a").mailbox?.waiting == 1 }
        _ = try await runtime.snapshot(of: "/a")
    }

    /// A later event of one more child stands behind all that there could still be of the first.
    fileprivate func expectNoFailure() async throws {
        try await startChild("last", .inProcess)
        try await runtime.stop("/last")
        try await eventually("the last is heard") { await root.heard.contains("stopped /last") }
        let heard = await root.heard
        #expect(!heard.contains { $0.hasPrefix("crashed") || $0.hasPrefix("gaveUp") || $0.hasPrefix("startFailed") }, "\(heard)")
        #expect(runtime.deadLetters.count == 0)
    }
}
