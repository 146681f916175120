import ConcurrencySupport
import Coordinators
import Fixtures
import Glibc
import TestSupport
import Testing

@Suite("Lives that overlap", .timeLimit(minutes: 5))
struct OverlapTests {
    private static let replacements = rounds(short: 4, all: 12, long: 100)

    /// No failure at all is allowed: one that a replacement counted as such would be the end.
    private static func options(_ worker: NamedWorker) -> CoordinatorRuntime.Options { worker.options.allowing(restarts: 0) }

    @Test("The next life answers while the former one finishes what it has")
    func beside() async throws {
        let worker = try NamedWorker()
        try await LifecycleTree.run(Self.options(worker)) { tree in
            let child = try await tree.startOverlapping()
            let first = try await tree.whereIs("/a")
            let passing = Task.immediate { try await child.perform(.passGate, timeout: .seconds(60)) }
            try await eventually("it has begun") { tree.root.gate.waiting == 1 }
            let replacing = Task { try await tree.runtime.replace("/a") }
            try await eventually("the next life answers") { try await tree.whereIs("/a").incarnation == 2 }
            for _ in 0..<20 { #expect(try await tree.whereIs("/a").incarnation == 2) }
            #expect(tree.root.gate.waiting == 1 && worker.children.count == 2)
            // Neither of them can be replaced before the first one is gone.
            await Support.expect(.restarting) { try await tree.runtime.replace("/a") }
            tree.root.gate.open()
            #expect(try await passing.value == "passed")
            let snapshot = try await replacing.value
            #expect(snapshot.incarnation == 2 && snapshot.restarts == 0)
            #expect(!worker.children.contains { $0.processID == first.pid })
            try await eventually("one is left") { worker.children.count == 1 }
            #expect(tree.lines("start ", "stop ") == ["start /a", "start /a", "stop /a"])
            #expect(tree.runtime.deadLetters.count == 0)
            try await tree.runtime.replace("/a")
            #expect(try await tree.whereIs("/a").incarnation == 3)
        }
        try await eventually("no process is left") { worker.children.isEmpty }
    }

    @Test("When the next life can't start, the former one was never gone")
    func goesBack() async throws {
        let worker = try NamedWorker()
        try await LifecycleTree.run(Self.options(worker)) { tree in
            let child = try await tree.startOverlapping { $0.opening = .refusesWhenTold }
            let before = try await tree.whereIs("/a")
            let file = "\(tree.journal.file).refuses"
            try Files.write("", to: file)
            let load = ReplacementLoad()
            let asking = Task {
                while !load.isOver.withLock({ $0 }) {
                    do {
                        _ = try await child.ask(Fixture.WhereAmI(), timeout: .seconds(30))
                    } catch {
                        load.fail("\(error)")
                    }
                    load.asks.withLock { $0 += 1 }
                }
            }
            for _ in 0..<3 {
                let error = await #expect(throws: (any Error).self) { try await tree.runtime.replace("/a") }
                #expect(error as? Fixture.Refusal == Fixture.Refusal("won't start"), "\(String(describing: error))")
                #expect(try await tree.whereIs("/a") == before)
                #expect(worker.children.count == 1)
            }
            load.isOver.withLock { $0 = true }
            await asking.value
            #expect(load.failures.withLock { $0 } == [] && load.asks.withLock { $0 } > 3)
            #expect(tree.journal.lines == ["start /a"])
            #expect(try await tree.runtime.snapshot(of: "/a").incarnation == 1)
            Files.remove(file)
            try await tree.runtime.replace("/a")
            #expect(try await tree.whereIs("/a").incarnation == 2)
        }
    }

    @Test("No ask fails while lives are replaced, and there are never three")
    func load() async throws {
        let worker = try NamedWorker()
        try await LifecycleTree.run(Self.options(worker)) { tree in
            let child = try await tree.startOverlapping()
            await tree.replace(child, times: Self.replacements, "overlapping") {
                worker.children.count > 1 ? "\(worker.children)" : nil
            }
            // Each life begins before the one before it ends.
            let expected = ["start /a"] + (0..<Self.replacements).flatMap { _ in ["start /a", "stop /a"] }
            #expect(tree.lines("start ", "stop ") == expected)
        }
    }

    @Test("When the former life fails while the next one starts, that one follows it")
    func formerFails() async throws {
        let worker = try NamedWorker()
        try await LifecycleTree.run(worker.options) { tree in
            // The first life passes the gate, the next one waits at it.
            tree.root.gate.open()
            try await tree.startOverlapping { $0.opening = .passesGate }
            let first = try await tree.whereIs("/a")
            tree.root.gate.close()
            let replacing = Task { try await tree.runtime.replace("/a") }
            try await eventually("the next one starts") { tree.root.gate.waiting == 1 }
            #expect(kill(first.pid, SIGKILL) == 0)
            try await eventually("supervision goes on with the next one") { try await tree.runtime.snapshot(of: "/a").incarnation == 2 }
            #expect(tree.root.gate.waiting == 1 && worker.children.count == 1)
            tree.root.gate.open()
            #expect(try await replacing.value.incarnation == 2)
            #expect(try await tree.whereIs("/a").incarnation == 2)
            #expect(tree.lines("start ") == ["start /a", "start /a"])
            try await tree.runtime.replace("/a")
            #expect(try await tree.whereIs("/a").incarnation == 3)
        }
        try await eventually("no process is left") { worker.children.isEmpty }
    }

    @Test("A stop while two live returns when both are gone, and a start that is stopped leaves none", arguments: [true, false])
    func stopped(isReady: Bool) async throws {
        let worker = try NamedWorker()
        try await LifecycleTree.run(worker.options) { tree in
            tree.root.gate.open()
            let child = try await tree.startOverlapping { if !isReady { $0.opening = .passesGate } }
            _ = try await tree.whereIs("/a")
            tree.root.gate.close()
            let passing = isReady ? Task.immediate { try await child.perform(.passGate, timeout: .seconds(60)) } : nil
            if isReady { try await eventually("it has begun") { tree.root.gate.waiting == 1 } }
            let replacing = Task { try await tree.runtime.replace("/a") }
            try await eventually("two live") {
                isReady ? try await tree.whereIs("/a").incarnation == 2 : tree.root.gate.waiting == 1
            }
            let hasReturned = Lock(false)
            let stop = Task {
                _ = try await tree.runtime.stop("/a")
                hasReturned.withLock { $0 = true }
                return worker.children.count
            }
            // The former life still has a message when the next one is gone.
            try await eventually("it's stopping") { isReady ? child.state == .inactive : child.state != .active }
            if isReady {
                // A whole life later, the stop would have returned if it didn't wait for the former life.
                await (try tree.startChild("later", .worker)).remove()
                #expect(!hasReturned.withLock { $0 } && worker.children.count == 1)
            }
            tree.root.gate.open()
            if let passing { #expect(try await passing.value == "passed") }
            // What was only starting may be gone a moment later: it never was the child.
            let left = try await stop.value
            if isReady { #expect(left == 0) }
            _ = await replacing.result
            try await eventually("no process is left") { worker.children.isEmpty }
            #expect(try await tree.runtime.snapshot(of: "/a").state == .inactive)
            try await tree.runtime.start("/a")
            #expect(try await tree.whereIs("/a").incarnation == 3 || !isReady)
        }
    }

    @Test("The end of the tree waits for what the former life has taken")
    func ends() async throws {
        let worker = try NamedWorker()
        try await LifecycleTree.run(worker.options) { tree in
            let child = try await tree.startOverlapping()
            let waiting = Task.immediate { try? await child.perform(.wait(line: "go on"), timeout: .seconds(60)) }
            try await eventually("it has begun") { !tree.lines("waits").isEmpty }
            let replacing = Task { try await tree.runtime.replace("/a") }
            try await eventually("two live") { try await tree.whereIs("/a").incarnation == 2 }
            let stopping = Task { await tree.runtime.stop() }
            try await eventually("the next life has ended") { tree.lines("stop ").first == "stop /a" }
            tree.journal.note("go on")
            await stopping.value
            #expect(worker.children.isEmpty)
            // One that is killed writes nothing.
            #expect(tree.lines("stop ") == ["stop /a", "stop /a"])
            _ = await (waiting.value, replacing.result)
        }
    }

    @Test("A parent ends after both lives of its child: the former one has finished what it has taken")
    func parentEnds() async throws {
        let worker = try NamedWorker()
        try await LifecycleTree.run(worker.options) { tree in
            let parent = try await tree.startChild("p", .inProcess)
            try await parent.perform(.startOverlappingChild("a"))
            let waiting = Task.immediate { try? await tree.perform(.wait(line: "go on"), at: "/p/a") }
            try await eventually("it has begun") { !tree.lines("waits").isEmpty }
            let replacing = Task { try await tree.runtime.replace("/p/a") }
            try await eventually("two live") { try await tree.whereIs("/p/a").incarnation == 2 }
            let stopping = Task { try await tree.runtime.stop("/p") }
            try await eventually("the next life has ended") { tree.lines("stop ").first == "stop /p/a" }
            tree.journal.note("go on")
            _ = try await stopping.value
            #expect(worker.children.isEmpty)
            // Each of them writes at its end; so does the parent, which may need them until then.
            #expect(tree.lines("stop ") == ["stop /p/a", "stop /p/a", "stop /p"])
            _ = await (waiting.value, replacing.result)
        }
    }

    @Test("The end of the tree doesn't wait for a life that only starts beside another")
    func endsDuringStart() async throws {
        let worker = try NamedWorker()
        try await LifecycleTree.run(worker.options) { tree in
            try await tree.startOverlapping { $0.opening = .hangsWhenTold }
            try Files.write("", to: "\(tree.journal.file).hangs")
            defer { Files.remove("\(tree.journal.file).hangs") }
            let replacing = Task { try await tree.runtime.replace("/a") }
            try await eventually("two live") { !tree.lines("hangs").isEmpty }
            let clock = ContinuousClock.now
            await tree.runtime.stop()
            // A start is given half a minute.
            #expect(ContinuousClock.now - clock < .seconds(15) && worker.children.isEmpty)
            await #expect(throws: (any Error).self) { try await replacing.value }
            #expect(tree.lines("start ", "stop ") == ["start /a", "stop /a"])
        }
    }
}

extension LifecycleTree {
    @discardableResult
    fileprivate func startOverlapping(configure: (inout LifeChild.Configuration) -> Void = { _ in }) async throws -> Child<LifeChild> {
        try await context.start(LifeChild.self, as: "a", in: .worker(overlaps: true), shutdown: .timeout(.seconds(20))) {
            $0.journal = journal
            configure(&$0)
        }
    }
}
