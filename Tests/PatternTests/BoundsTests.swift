import ConcurrencySupport
import Coordinators
import Fixtures
import Glibc
import TestSupport
import Testing

/// Tests that a slow coordinator costs others no more than the room that is set aside for it.
///
/// Ratios are printed and never asserted: they are the machine's affair.
@Suite("Pattern: bounds", .serialized, .timeLimit(minutes: 5))
struct BoundsTests {
    // MARK: Observers

    @Test("A slow observer delays no coordinator", arguments: Where.allCases)
    func slowObserver(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.step("child", place)
            // Once for what is made when it's first needed.
            _ = try await tree.timeOfFiftyEvents(child)
            let alone = try await tree.timeOfFiftyEvents(child)
            let slow = Dawdler()
            child.delegates += slow
            let together = try await tree.timeOfFiftyEvents(child)
            try await eventually("the slow one is at its first") { slow.count == 1 }
            print("50 events, \(place): \(Measure.ratio(together, alone)) times as long with a slow observer (\(alone), \(together))")
        }
    }

    // MARK: Memory

    /// The growth that a process may have for other reasons: allocator, thread stacks, first uses of the runtime.
    ///
    /// Other suites run in the process of the tests at the same time. Without a bound the senders would take gigabytes.
    private static func noise(of pid: Int32) -> Int { pid == getpid() ? 64 << 20 : 4 << 20 }
    /// `SlowCoordinator.mailbox.bytes`, and a tenth; where a thousand handlers run at once each holds its message decoded, and the
    /// allocator keeps what the encoded ones took.
    private static func allowed(blocks: Bool) -> Int { SlowCoordinator.mailbox.bytes * (blocks ? 11 : 30) / 10 }

    @Test(
        "Ten fast senders are held to the pace of a slow coordinator",
        .disabled(if: Sanitizer.isOn, "the sanitizer's own memory grows with everything that a process does"),
        arguments: Where.allCases,
        [false, true]
    )
    func slowCoordinator(_ senders: Where, _ blocks: Bool) async throws {
        let isShort = TestTier.current == .short
        // The slow one is always in a worker; what differs is where the senders are, and whether it blocks or awaits.
        try await PageTree.run { tree in
            let shutdown = Shutdown.timeout(blocks ? .milliseconds(200) : .seconds(5))
            let slow = try await tree.start(SlowCoordinator.self, as: "slow", .worker, shutdown: shutdown) {
                ($0.blocks, $0.milliseconds) = (blocks, isShort ? 200 : 1_000)
                $0.senders = senders.isWorker ? 10 : 0
            }
            // On the link that is flooded: behind the slow one's process, or one of the senders, whose asks pass it on their way up.
            let prober: CoordinatorPath = senders.isWorker ? "/slow/sender0" : "/slow/neighbour"
            _ = try await tree.roundTrips(to: prober, for: .milliseconds(isShort ? 100 : 500))
            let alone = try await tree.roundTrips(to: prober, for: .milliseconds(isShort ? 200 : 1_000))

            var pids: [Int32] = []
            try await eventually("all processes tell of themselves") {
                pids = try await tree.pids()
                return pids.count == (senders.isWorker ? 12 : 2)
            }
            let before = pids.map { Measure.residentBytes(of: $0) }
            let flood = FixtureFlow.Flood(milliseconds: isShort ? 1_500 : 5_000, bytes: 16 << 10)
            let flooding = Task { try await tree.flood(slow, from: senders, flood) }
            var most = 0
            func look() throws {
                for (pid, former) in zip(pids, before) {
                    let growth = Measure.residentBytes(of: pid) - former
                    if growth > Self.allowed(blocks: blocks) + Self.noise(of: pid) { throw Grown(pid: pid, bytes: growth) }
                    most = max(most, growth)
                }
            }
            let together = try await tree.roundTrips(to: prober, for: .milliseconds(isShort ? 1_000 : 4_000), look)
            let flooded = try await flooding.value
            try look()
            // They are the same processes still.
            try await eventually("the same processes tell of themselves") { try await tree.pids() == pids }

            // Every send has ended, and what was taken has begun or is in the mailbox.
            #expect(flooded.begun == flooded.taken + flooded.refused + flooded.failed)
            #expect(flooded.refused == 0)
            #expect(flooded.taken > 0)
            let letters = Int(tree.runtime.deadLetters.count)
            let began = tree.count("/slow load")
            #expect(began > 0)
            #expect(flooded.taken <= began + SlowCoordinator.mailbox.waiting + letters)
            try await tree.root.remove("slow")
            // What it has taken and never begins is a dead letter; one that blocks past its grace is killed, with all it knows.
            if !blocks {
                try await eventually("what was taken has begun or is counted as dropped") {
                    let letters = Int(tree.runtime.deadLetters.count)
                    return flooded.taken <= tree.count("/slow load") + letters
                }
            }
            print(
                """
                flood, senders \(senders), \(blocks ? "blocking" : "awaiting"): round trip of a neighbour \
                \(Measure.ratio(together, alone)) times the one without (\(alone), \(together)); \
                \(flooded.taken) taken, \(flooded.failed) failed; grown by at most \(most >> 10) KiB, \(most * 100 / SlowCoordinator.mailbox.bytes) % of the configured bytes
                """
            )
        }
    }

    // MARK: Policies

    @Test("The policy wait makes the fifth sender wait until there is room", arguments: Where.allCases)
    func waiting(_ place: Where) async throws {
        try await PageTree.run { tree in
            let box = try await tree.paused(WaitingBox.self, place)
            for number in 1...4 { _ = try await box.send(FixtureFlow.Load(number)) }
            let asking = Task.immediate { try await box.ask(FixtureFlow.Load(5), timeout: .seconds(60)) }
            let cancelled = Task.immediate { try await box.ask(FixtureFlow.Load(6), timeout: .seconds(60)) }
            // Who waits for room can be cancelled, and times out.
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            await Support.expect(.timedOut) { try await box.ask(FixtureFlow.Load(7), timeout: .milliseconds(100)) }
            #expect(tree.notebook.words(at: "/box") == [])
            await box.resume()
            try await asking.value
            try await eventually("all are handled") { tree.notebook.words(at: "/box").count >= 5 }
            // A control frame such as the resumption may overtake the cancellation of the seventh, which is behind it on a busy link.
            let words = tree.notebook.words(at: "/box").filter { $0 != "load 7" }
            #expect(words == (1...5).map { "load \($0)" })
            let report = tree.runtime.deadLetters
            #expect(report.count == 0)
        }
    }

    @Test("The policy wait makes a one-way send wait too", arguments: Where.allCases)
    func waitingSend(_ place: Where) async throws {
        try await PageTree.run { tree in
            let box = try await tree.paused(WaitingBox.self, place)
            for number in 1...4 { _ = try await box.send(FixtureFlow.Load(number)) }
            let fifth = Ended()
            let sending = Task.immediate {
                let isTaken = try await box.send(FixtureFlow.Load(5))
                fifth.end()
                return isTaken
            }
            // Other things get done meanwhile.
            for _ in 0..<50 { _ = try await tree.runtime.snapshot(of: "/box") }
            #expect(!fifth.hasEnded)
            await box.resume()
            let isTaken = try await sending.value
            #expect(isTaken)
            try await eventually("all are handled") { tree.notebook.words(at: "/box").count == 5 }
        }
    }

    @Test("The policy fail refuses the fifth message at once", arguments: Where.allCases)
    func failing(_ place: Where) async throws {
        try await PageTree.run { tree in
            let box = try await tree.paused(FailingBox.self, place)
            for number in 1...4 {
                let isTaken = try await box.send(FixtureFlow.Load(number))
                #expect(isTaken)
            }
            await Support.expect(.mailboxFull) { try await box.send(FixtureFlow.Load(5)) }
            // Not by its deadline.
            await Support.expect(.mailboxFull) { try await box.ask(FixtureFlow.Load(6), timeout: .seconds(600)) }
            await box.resume()
            try await eventually("four are handled") { tree.notebook.words(at: "/box").count == 4 }
            // There is room again.
            try await box.ask(FixtureFlow.Load(7), timeout: .seconds(15))
            #expect(tree.notebook.words(at: "/box") == ["load 1", "load 2", "load 3", "load 4", "load 7"])
        }
    }

    @Test("Bytes fill a mailbox too")
    func bytes() async throws {
        // One placement: messages within a process are never encoded, and have no length.
        try await PageTree.run { tree in
            let box = try await tree.paused(FailingBox.self, .worker)
            let padding = String(repeating: "x", count: 400 << 10)
            await Support.expect(.mailboxFull) {
                for number in 1...4 { _ = try await box.send(FixtureFlow.Load(number, padding: padding)) }
            }
            await box.resume()
            try await eventually("at least two had room") { tree.notebook.words(at: "/box").count >= 2 }
            try await box.ask(FixtureFlow.Load(5), timeout: .seconds(15))
            #expect(tree.notebook.words(at: "/box").count < 5)
        }
    }

    @Test("The policy dropOldest handles the newest four, and each drop is a dead letter", arguments: Where.allCases)
    func dropOldest(_ place: Where) async throws {
        try await drops(OldestDroppingBox.self, place, handling: 7...10)
    }

    @Test("The policy dropNewest handles the oldest four, and each drop is a dead letter", arguments: Where.allCases)
    func dropNewest(_ place: Where) async throws {
        try await drops(NewestDroppingBox.self, place, handling: 1...4)
    }

    private func drops<B: RoomForFour>(_ type: B.Type, _ place: Where, handling handled: ClosedRange<Int>) async throws {
        try await PageTree.run { tree in
            let box = try await tree.paused(type, place)
            for number in 1...10 { _ = try await box.send(FixtureFlow.Load(number)) }
            try await tree.expectLetters(6)
            await box.resume()
            try await eventually("four are handled") { tree.notebook.words(at: "/box").count == 4 }
            #expect(tree.notebook.words(at: "/box") == handled.map { "load \($0)" })
        }
    }

    @Test("An ask that is dropped fails with an error that says so", arguments: Where.allCases)
    func droppedAsk(_ place: Where) async throws {
        try await PageTree.run { tree in
            let box = try await tree.paused(OldestDroppingBox.self, place)
            let first = Task.immediate { try await box.ask(FixtureFlow.Load(1), timeout: .seconds(600)) }
            for number in 2...5 { _ = try await box.send(FixtureFlow.Load(number)) }
            await Support.expect(.mailboxFull) { try await first.value }
            let newest = try await tree.paused(NewestDroppingBox.self, place, as: "newest")
            for number in 1...4 { _ = try await newest.send(FixtureFlow.Load(number)) }
            await Support.expect(.mailboxFull) { try await newest.ask(FixtureFlow.Load(5), timeout: .seconds(600)) }
        }
    }
}

/// A process that has grown by more than it may.
private struct Grown: Error {
    let pid: Int32
    let bytes: Int
}

private enum Measure {
    /// `VmRSS` of `/proc/PID/status`; 0 when the process is gone.
    static func residentBytes(of pid: Int32) -> Int {
        let lines = (Files.text(of: "/proc/\(pid)/status") ?? "").split(separator: "\n")
        guard let line = lines.first(where: { $0.hasPrefix("VmRSS:") }) else { return 0 }
        return (Int(line.filter(\.isNumber)) ?? 0) << 10
    }

    static func ratio(_ one: Duration, _ other: Duration) -> Double {
        (one / other * 100).rounded() / 100
    }
}

extension PageTree {
    /// Has the child tell fifty events, and waits until an observer of its own has them all.
    fileprivate func timeOfFiftyEvents(_ child: Child<StepCoordinator>) async throws -> Duration {
        let quick = Auditor()
        child.delegates += quick
        let start = ContinuousClock.now
        try await perform(.emitCounts(50), at: child.path)
        try await eventually("the quick observer has all") { quick.events.count == 50 }
        let time = ContinuousClock.now - start
        child.delegates -= quick
        #expect(quick.events == (1...50).map { .count($0) })
        return time
    }

    /// Has the coordinator at `path` ask the root, one ask after the other, for a while.
    ///
    /// - Returns: the median.
    fileprivate func roundTrips(
        to path: CoordinatorPath,
        for time: Duration,
        _ between: () throws -> Void = {}
    ) async throws -> Duration {
        var times: [Duration] = []
        let end = ContinuousClock.now + time
        while ContinuousClock.now < end || times.isEmpty {
            let start = ContinuousClock.now
            let echo = try await runtime.ask(FixtureFlow.EchoAbove("there"), at: path, timeout: .seconds(20))
            times.append(ContinuousClock.now - start)
            #expect(echo == "there")
            if times.count % 20 == 1 { try between() }
        }
        return times.sorted()[times.count / 2]
    }

    /// The processes of the tree, this one first.
    fileprivate func pids() async throws -> [Int32] {
        func pids(of snapshot: CoordinatorSnapshot) -> [Int32] {
            [snapshot.processID].compactMap(\.self) + snapshot.children.flatMap(pids(of:))
        }
        var unique: [Int32] = []
        for pid in pids(of: try await runtime.snapshot()) where !unique.contains(pid) { unique.append(pid) }
        return unique
    }

    /// Ten senders at once, as tasks of this process or as workers.
    fileprivate func flood(_ slow: Child<SlowCoordinator>, from senders: Where, _ flood: FixtureFlow.Flood) async throws
        -> FixtureFlow.Flooded
    {
        try await withThrowingTaskGroup(of: FixtureFlow.Flooded.self) { group in
            for number in 0..<10 {
                group.addTask {
                    guard senders.isWorker else { return await FixtureFlow.flood(flood) { try await slow.send($0) } }
                    return try await runtime.ask(flood, at: slow.path.appending("sender\(number)"), timeout: .seconds(30))
                }
            }
            var whole = FixtureFlow.Flooded()
            for try await part in group {
                whole.begun += part.begun
                whole.taken += part.taken
                whole.refused += part.refused
                whole.failed += part.failed
            }
            return whole
        }
    }

    /// Starts a box and pauses it: what is sent to it fills its mailbox.
    fileprivate func paused<B: RoomForFour>(_ type: B.Type, _ place: Where, as key: String = "box") async throws -> Child<B> {
        let box = try await start(type, as: key, place)
        await box.pause()
        #expect(box.state == .paused)
        return box
    }

    /// Waits for so many dead letters of the box, and looks at what they say.
    fileprivate func expectLetters(_ count: Int) async throws {
        try await eventually("\(count) letters are counted") { runtime.deadLetters.count == count }
        let report = runtime.deadLetters
        #expect(report.count == count)
        #expect(report.letters.count == count)
        for letter in report.letters {
            #expect(letter.name == "FixtureFlow.Load")
            #expect(letter.sender == "/")
            #expect(letter.target == "/box")
            // The reason names the mailbox, whatever else it says.
            #expect("\(letter.reason)".lowercased().contains("mailbox"))
        }
    }
}

/// Whether something has ended.
private final class Ended: Sendable {
    private let flag = Lock(false)

    var hasEnded: Bool { flag.withLock { $0 } }
    func end() { flag.withLock { $0 = true } }
}
