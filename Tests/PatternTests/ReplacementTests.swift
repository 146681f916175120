import ConcurrencySupport
import Coordinators
import Fixtures
import Glibc
import TestSupport
import Testing

@Suite("Replacement of lives", .timeLimit(minutes: 5))
struct ReplacementTests {
    /// The number of replacements under load.
    private static let replacements = rounds(short: 5, all: 15, long: 100)

    /// No failure at all is allowed: one that a replacement counted as such would be the end.
    private static let options = Support.options.allowing(restarts: 0)

    @Test(
        "The next process waits, the present life finishes what it has, and what is asked meanwhile gets the next",
        arguments: Where.allCases
    )
    func handover(_ place: Where) async throws {
        try await LifecycleTree.run(Self.options) { tree in
            let child = try await tree.startChild("a", place)
            let first = try await tree.whereIs("/a")
            let passing = Task.immediate { try await child.perform(.passGate, timeout: .seconds(60)) }
            try await eventually("it has begun") { tree.root.gate.waiting == 1 }
            let replacing = Task { try await tree.runtime.replace("/a") }
            // The handover has begun when messages wait.
            try await eventually("it's stopping") { child.state == .stopping }
            let parked = (0..<20).map { _ in Task.immediate { try await child.ask(Fixture.WhereAmI(), timeout: .seconds(60)) } }
            try await eventually("they wait") { try await tree.runtime.snapshot(of: "/a").mailbox?.waiting == 20 }
            #expect(tree.journal.lines == ["start /a"])
            tree.root.gate.open()
            #expect(try await passing.value == "passed")
            let snapshot = try await replacing.value
            for ask in parked { #expect(try await ask.value.incarnation == 2) }
            let second = try await tree.whereIs("/a")
            #expect(second.incarnation == 2 && snapshot.incarnation == 2)
            #expect((second.pid == first.pid) == (place == .inProcess))
            // It never lived twice, and nothing was a failure.
            #expect(tree.lines("start ", "stop ") == ["start /a", "stop /a", "start /a"])
            #expect(try await tree.runtime.snapshot(of: "/a").restarts == 0)
            #expect(tree.runtime.deadLetters.count == 0)
        }
    }

    @Test(
        "Asks don't fail while lives are replaced; in one process some may have to be asked again",
        arguments: Where.allCases
    )
    func load(_ place: Where) async throws {
        try await LifecycleTree.run(Self.options) { tree in
            let child = try await tree.startChild("a", place)
            _ = try await child.perform(.startChild("b", inWorker: place.isWorker))
            // What was on its way when the handover began; it wasn't handled, and may be asked again.
            let isForgiven: @Sendable (CoordinatorError) -> Bool = {
                place == .inProcess && $0.code == .draining && $0.provesNothingExecuted
            }
            await tree.replace(child, times: Self.replacements, "\(place)", isForgiven: isForgiven)
            let expected = ["start /a"] + (0..<Self.replacements).flatMap { _ in ["stop /a", "start /a"] }
            #expect(tree.lines("start /a", "stop /a").filter { $0.hasSuffix("/a") } == expected)
        }
    }

    @Test("A process that ends, or doesn't know the coordinator, changes nothing", arguments: [true, false])
    func useless(_ ends: Bool) async throws {
        let worker = try NamedWorker()
        try await LifecycleTree.run(worker.options) { tree in
            try await tree.startChild("a", .worker)
            let before = try await tree.whereIs("/a")
            try worker.become(ends ? "/bin/false" : BuiltProgram("OldBuild").path)
            let error = await #expect(throws: CoordinatorError.self) { try await tree.runtime.replace("/a") }
            #expect(error?.code == (ends ? .startFailed : .unknownType), "\(String(describing: error))")
            #expect(error?.message.contains(ends ? "/a has ended while it waited for its life: exited with code 1" : "LifeChild") == true)
            let after = try await tree.whereIs("/a")
            #expect(after == before)
            #expect(tree.journal.lines == ["start /a"])
            try worker.become(Support.worker.path)
            try await tree.runtime.replace("/a")
            #expect(try await tree.whereIs("/a").incarnation == 2)
        }
        try await eventually("no process is left") { worker.children.isEmpty }
    }

    @Test("When the next life can't start the call fails with its error, and supervision tries again")
    func failingStart() async throws {
        try await LifecycleTree.run { tree in
            let file = "\(tree.journal.file).refuses"
            try await tree.context.start(LifeChild.self, as: "b", in: .worker) {
                $0.journal = tree.journal
                $0.opening = .refusesWhenTold
            }
            try Files.write("", to: file)
            let error = await #expect(throws: (any Error).self) { try await tree.runtime.replace("/b") }
            #expect(error as? Fixture.Refusal == Fixture.Refusal("won't start"), "\(String(describing: error))")
            Files.remove(file)
            try await eventually("it's back") { try await tree.whereIs("/b").incarnation > 2 }
        }
    }

    @Test("What doesn't run, is paused, or isn't there, isn't replaced")
    func refused() async throws {
        try await LifecycleTree.run { tree in
            try await tree.startChild("a", .worker)
            try await tree.runtime.pause("/a")
            await Support.expect(.unsupported) { try await tree.runtime.replace("/a") }
            try await tree.runtime.resume("/a")
            try await tree.runtime.stop("/a")
            await Support.expect(.stopped) { try await tree.runtime.replace("/a") }
            await Support.expect(.noSuchPath) { try await tree.runtime.replace("/nothing") }
            await Support.expect(.unsupported) { try await tree.runtime.replace(.root) }
        }
    }

    @Test("Two replacements at the same time: one is made, or one after the other")
    func concurrent() async throws {
        let worker = try NamedWorker()
        try await LifecycleTree.run(worker.options) { tree in
            try await tree.startChild("a", .worker)
            let tasks = (0..<4).map { _ in Task { try await tree.runtime.replace("/a") } }
            var made: UInt32 = 0
            for task in tasks {
                do {
                    _ = try await task.value
                    made += 1
                } catch let error as CoordinatorError {
                    #expect(error.code == .restarting || error.code == .stopped, "\(error)")
                }
            }
            #expect(made >= 1)
            #expect(try await tree.whereIs("/a").incarnation == made + 1)
            try await eventually("no process waits") { worker.children.count == 1 }
        }
        try await eventually("no process is left") { worker.children.isEmpty }
    }

    @Test("A stop during the handover wins, and leaves no process")
    func stopped() async throws {
        let worker = try NamedWorker()
        try await LifecycleTree.run(worker.options) { tree in
            let child = try await tree.startChild("a", .worker)
            let passing = Task.immediate { try await child.perform(.passGate, timeout: .seconds(60)) }
            try await eventually("it has begun") { tree.root.gate.waiting == 1 }
            let replacing = Task { try await tree.runtime.replace("/a") }
            try await eventually("it's stopping") { child.state == .stopping }
            let stop = Task { try await tree.runtime.stop("/a") }
            tree.root.gate.open()
            #expect(try await passing.value == "passed")
            _ = try await stop.value
            await #expect(throws: CoordinatorError.self) { try await replacing.value }
            try await eventually("no process is left") { worker.children.isEmpty }
        }
    }

    @Test("A coordinator in a worker is replaced there, by the path")
    func below() async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild("a", .worker)
            _ = try await child.perform(.startChild("b", inWorker: true))
            let before = try await tree.whereIs("/a/b")
            let snapshot = try await tree.runtime.replace("/a/b")
            let after = try await tree.whereIs("/a/b")
            #expect(snapshot.path == "/a/b" && after.incarnation == 2 && after.pid != before.pid)
            #expect(try await tree.whereIs("/a").incarnation == 1)
        }
    }
}

/// The outcomes of asks that are made until a test is over.
final class ReplacementLoad: Sendable {
    let asks = Lock(0)
    let failures = Lock<[String]>([])
    let isOver = Lock(false)

    func fail(_ words: String) { failures.withLock { $0.append(words) } }
}

extension LifecycleTree {
    /// Replaces a child's life again and again while callers ask it, and expects that no ask fails.
    ///
    /// - Parameters:
    ///   - fault: What is wrong after a replacement, if anything is.
    ///   - isForgiven: Whether an ask may have failed so.
    func replace(
        _ child: Child<LifeChild>,
        times: Int,
        _ title: String,
        fault: () -> String? = { nil },
        isForgiven: @escaping @Sendable (CoordinatorError) -> Bool = { _ in false }
    ) async {
        let load = ReplacementLoad()
        await withTaskGroup(of: Void.self) { group in
            for caller in 0..<8 {
                group.addTask {
                    while !load.isOver.withLock({ $0 }) {
                        do {
                            if caller.isMultiple(of: 2) {
                                _ = try await child.ask(Fixture.WhereAmI(), timeout: .seconds(30))
                            } else {
                                _ = try await child.perform(.work(milliseconds: 10 * caller), timeout: .seconds(30))
                            }
                            load.asks.withLock { $0 += 1 }
                        } catch let error as CoordinatorError where isForgiven(error) {
                            continue
                        } catch {
                            load.fail("\(error)")
                        }
                    }
                }
            }
            for number in 1...times {
                do {
                    let snapshot = try await runtime.replace(child.path)
                    if snapshot.incarnation != UInt32(number) + 1 { load.fail("\(snapshot.incarnation)") }
                    if let fault = fault() { load.fail(fault) }
                } catch {
                    load.fail("replacement \(number): \(error)")
                }
            }
            load.isOver.withLock { $0 = true }
        }
        let (asks, failures) = (load.asks.withLock { $0 }, load.failures.withLock { $0 })
        print("\(title): \(times) replacements, \(asks) asks, \(failures.count) failed")
        #expect(failures == [])
        #expect(asks > times)
    }
}
