import ChaosHistory
import Testing

/// The checker finds each violation that is planted in a sound history, and only that.
@Suite("Chaos: the checker of histories")
struct CheckerTests {
    @Test("A sound history breaks no rule, and its numbers are right")
    func sound() {
        let verdict = Story.sound.verdict
        #expect(verdict.isOK, "\(verdict.violations)")
        #expect(verdict.messages.sent == 3 && verdict.messages.acknowledged == 2 && verdict.messages.executions == 3)
        #expect(verdict.recoveries.milliseconds == [20])
        #expect(verdict.faults.map(\.injected) == [1] && verdict.faults.map(\.survived) == [1])
    }

    @Test("An empty history breaks no rule")
    func empty() { #expect(Story().verdict.isOK) }

    @Test("The order in which files are read doesn't matter")
    func order() {
        let records = Story.sound.records
        let byProcess = Dictionary(grouping: records, by: \.process).values.flatMap { $0 }
        #expect(Checker.verdict(on: byProcess.reversed().sorted { $0.process.processID > $1.process.processID }).isOK)
    }

    // MARK: Messages

    @Test(
        "An acknowledged message that no incarnation has executed is lost",
        arguments: [Record.MessageKind.ask, .acknowledged, .repeated]
    )
    func acknowledgedLost(_ kind: Record.MessageKind) {
        var story = Story.sound
        story.send(4, kind, at: 1_200, settled: (.acknowledged, 1_201))
        #expect(story.broken == [.acknowledgedLost: 1])
    }

    @Test("A one-way message without acknowledgement may be lost, and is counted")
    func plainLost() {
        var story = Story.sound
        story.send(4, .plain, at: 1_200, settled: (.accepted, 1_201))
        #expect(story.broken.isEmpty && story.verdict.messages.plainLost == 1)
    }

    @Test("A message that failed may have been executed if the error says so, and not otherwise")
    func failed() {
        var story = Story.sound
        story.send(4, at: 1_200, executedBy: [(5, 1_201)], settled: (.failed(code: "peerLost", maybeExecuted: true), 1_202))
        #expect(story.broken.isEmpty)
        story.send(5, at: 1_210, executedBy: [(5, 1_211)], settled: (.failed(code: "peerLost", maybeExecuted: false), 1_212))
        #expect(story.broken == [.executedAgain: 1])
    }

    @Test("A message that one incarnation executes twice", arguments: [Record.MessageKind.ask, .plain, .acknowledged])
    func executedTwice(_ kind: Record.MessageKind) {
        var story = Story.sound
        story.send(4, kind, at: 1_200, executedBy: [(5, 1_201), (5, 1_202)], settled: (.acknowledged, 1_203))
        #expect(story.broken == [.executedTwice: 1])
    }

    @Test("A message that two incarnations execute")
    func executedAgain() {
        var story = Story.sound
        story.send(4, .acknowledged, at: 990, executedBy: [(4, 999), (5, 1_150)], settled: (.acknowledged, 1_151))
        #expect(story.broken == [.executedAgain: 1])
    }

    @Test("A message that may be repeated is executed by one incarnation or several")
    func repeated() {
        var story = Story.sound
        story.send(4, .repeated, at: 990, executedBy: [(4, 999), (5, 1_030), (5, 1_031)], settled: (.acknowledged, 1_032))
        #expect(story.broken.isEmpty)
    }

    @Test("A message that was never sent")
    func fromNowhere() {
        var story = Story.sound
        story.at(1_200, 5, .executed(message: MessageID(sender: Story.process(3), number: 99), kind: .ask))
        #expect(story.broken == [.executedAgain: 1])
    }

    @Test("Messages of one sender that an incarnation begins in another order")
    func outOfOrder() {
        var story = Story.sound
        story.send(4, .plain, at: 1_200, executedBy: [(5, 1_210)], settled: (.accepted, 1_201))
        story.send(5, .ask, at: 1_202, executedBy: [(5, 1_209)], settled: (.acknowledged, 1_211))
        #expect(story.broken == [.outOfOrder: 1])
    }

    @Test(
        "A message that a pool has given to another member first, which was killed, may begin after later ones; no other may",
        arguments: [true, false]
    )
    func movedInPool(isKilled: Bool) {
        var story = Story.sound
        story.begin("/pool/1", 7, at: 1_100, ready: 1_110, .leaf)
        story.begin("/pool/2", 8, at: 1_100, ready: 1_110, .leaf)
        story.send(4, .acknowledged, to: "/pool", at: 1_200, executedBy: [(8, 1_210)], settled: (.acknowledged, 1_211))
        story.send(5, .ask, to: "/pool", at: 1_202, executedBy: [(8, 1_204)], settled: (.acknowledged, 1_205))
        if isKilled {
            story.kill(7, at: 1_206, gone: 1_208)
            story.begin("/pool/1", 9, at: 1_220, ready: 1_230, .leaf)
        }
        #expect(story.broken == (isKilled ? [:] : [.outOfOrder: 1]))
    }

    // MARK: Ends of calls

    @Test("A call that never ends, of a sender that lives")
    func unresolved() {
        var story = Story.sound
        story.send(4, at: 1_200, settled: nil)
        #expect(story.broken == [.unresolved: 1])
    }

    @Test("A call that never ends because its sender was killed is abandoned")
    func abandoned() {
        var story = Story.sound
        story.send(4, at: 1_200, settled: nil)
        story.kill(3, at: 1_201, gone: 1_202)
        story.begin("/s0", 6, at: 1_210, ready: 1_220, .sender)
        #expect(story.broken.isEmpty && story.verdict.messages.abandoned == 1)
    }

    @Test("A call that ends more than five seconds after its route is there")
    func late() {
        var story = Story.sound
        story.send(4, at: 900, executedBy: [(5, 6_050)], settled: (.acknowledged, 6_051))
        #expect(story.broken == [.unresolved: 1])
    }

    @Test("A call that waits for a route that isn't there", arguments: ["killed", "stopped", "clogged"])
    func waits(_ how: String) {
        var story = Story.sound
        story.send(4, at: 3_000, executedBy: [(5, 9_000)], settled: (.acknowledged, 9_001))
        #expect(story.broken == [.unresolved: 1])
        // The root counts as the leaf does.
        switch how {
        case "killed":
            story.kill(1, at: 4_000, gone: 4_001)
            story.begin("/", 7, at: 4_100, ready: 8_000, .root)
            story.at(20_000, 7, .fault(.end))
        case "stopped":
            story.at(4_000, 1, .fault(.stop))
            story.at(5_000, 1, .continued)
        default:
            story.at(4_000, 2, .fault(.clog))
            story.at(5_000, 2, .continued)
            story.at(5_001, 2, .alive)
        }
        #expect(story.broken[.unresolved] == nil)
    }

    @Test("A message to a pool, whose members have processes and which has none")
    func pool() {
        var story = Story.sound
        story.begin("/pool/1", 6, at: 30, ready: 40, .leaf)
        story.at(3_000, 3, .sent(number: 4, kind: .ask, target: "/pool"))
        story.at(3_001, 6, .executed(message: MessageID(sender: Story.process(3), number: 4), kind: .ask))
        story.at(3_002, 3, .settled(number: 4, outcome: .acknowledged))
        story.kill(6, at: 4_000, gone: 4_001)
        story.begin("/pool/1", 7, at: 4_010, ready: 4_030, .leaf)
        #expect(story.verdict.isOK, "\(story.verdict.violations)")
        #expect(story.verdict.recoveries.milliseconds == [20, 30])
        story.at(5_000, 3, .sent(number: 5, kind: .ask, target: "/pool"))
        story.at(11_000, 3, .settled(number: 5, outcome: .acknowledged))
        #expect(story.broken == [.acknowledgedLost: 1, .unresolved: 1])
    }

    // MARK: Lives

    @Test("A former life that writes after the next one has begun")
    func livedTwice() {
        var story = Story.sound
        story.at(1_011, 4, .settled(number: 1, outcome: .accepted))
        #expect(story.broken == [.livedTwice: 1])
    }

    @Test("A former life that the driver sees after the next one has begun")
    func seenTwice() {
        var story = Story.sound
        story.at(1_011, 4, .alive)
        #expect(story.broken == [.livedTwice: 1])
    }

    @Test("A life that begins while another process holds the lock of its path")
    func beside() {
        var story = Story.sound
        story.kill(5, at: 2_000, gone: 2_001)
        story.begin("/p0/l0", 6, at: 2_010, ready: 2_020, .leaf, isAlone: false)
        #expect(story.broken == [.livedTwice: 1])
    }

    @Test("Where lives overlap, one may begin beside its predecessor, which answers what it has")
    func overlapping() {
        var story = Story.sound
        story.begin("/p0/l0", 6, at: 2_010, ready: 2_020, .leaf, isAlone: false, overlaps: true)
        // On its way when the next one took the place; and one that the former life has had for long.
        story.send(4, at: 2_025, executedBy: [(5, 2_500)], settled: (.acknowledged, 2_510))
        story.send(5, at: 2_030, executedBy: [(6, 2_031)], settled: (.acknowledged, 2_032))
        story.at(4_000, 5, .ended)
        #expect(story.broken.isEmpty)
        // What is sent later is the next one's.
        story.send(6, at: 3_100, executedBy: [(5, 3_101)], settled: (.acknowledged, 3_102))
        #expect(story.broken == [.livedTwice: 1])
    }

    @Test("A third life beside two that overlap")
    func thirdOverlapping() {
        var story = Story.sound
        story.begin("/p0/l0", 6, at: 2_010, ready: 2_020, .leaf, isAlone: false, overlaps: true)
        story.begin("/p0/l0", 7, at: 3_010, ready: 3_020, .leaf, isAlone: false, overlaps: true)
        story.at(3_009, 5, .ended)
        story.at(3_500, 6, .ended)
        #expect(story.broken.isEmpty)
        story.at(3_011, 5, .alive)
        #expect(story.broken == [.livedTwice: 1])
    }

    @Test("A path that isn't ready at the end")
    func notBack() {
        var story = Story.sound
        story.kill(5, at: 2_000, gone: 2_001)
        #expect(story.broken == [.notBack: 1])
        story.at(2_010, 6, .begun(path: "/p0/l0", incarnation: 3, role: .leaf, isAlone: true))
        #expect(story.broken == [.notBack: 1])
        #expect(story.verdict.faults.map(\.survived) == [1] && story.verdict.faults.map(\.lost) == [1])
        story.at(2_020, 6, .ready)
        #expect(story.broken.isEmpty && story.verdict.faults.map(\.lost) == [0])
    }

    @Test("A root that ends by itself")
    func rootEnds() {
        var story = Story.sound
        story.remove { $0.event == .fault(.end) }
        story.at(3_000, 1, .gone)
        story.begin("/", 6, at: 3_010, ready: 3_020, .root)
        story.at(20_000, 6, .fault(.end))
        #expect(story.broken == [.notBack: 1])
    }

    // MARK: Recovery and adoption

    @Test("A recovery that something else has disturbed doesn't count")
    func disturbed() {
        var story = Story.sound
        story.at(1_005, 2, .fault(.stop))
        story.at(1_015, 2, .continued)
        story.at(1_016, 2, .alive)
        #expect(story.verdict.recoveries.milliseconds.isEmpty && story.broken.isEmpty)
    }

    @Test("A percentile is the time that so many don't exceed")
    func percentiles() {
        var story = Story.sound
        for index in 0..<99 {
            story.kill(5 + index, at: 2_000 + index * 100, gone: 2_001 + index * 100)
            story.begin("/p0/l0", 6 + index, at: 2_005 + index * 100, ready: 2_030 + index * 100 + (index == 98 ? 30 : 0), .leaf)
        }
        let times = story.verdict.recoveries
        #expect(times.percentile(50) == 30 && times.percentile(99) == 30 && times.percentile(100) == 60)
        #expect(Story().verdict.recoveries.percentile(99) == nil)
    }

    @Test("The workers of a killed root are adopted or replaced")
    func adoption() {
        var story = Story.sound
        story.remove { $0.event == .fault(.end) }
        story.kill(1, at: 3_000, gone: 3_001)
        story.begin("/", 6, at: 3_010, ready: 3_020, .root)
        // The sender ends without having been harmed, the parent lives on until it's killed, the leaf is killed before it could be adopted.
        story.at(3_005, 3, .gone)
        story.begin("/s0", 7, at: 3_011, ready: 3_019, .sender)
        story.kill(5, at: 3_002, gone: 3_003)
        story.begin("/p0/l0", 9, at: 3_010, ready: 3_015, .leaf)
        story.kill(2, at: 4_000, gone: 4_001)
        story.begin("/p0", 8, at: 4_010, ready: 4_020, .parent)
        story.at(20_000, 6, .fault(.end))
        let verdict = story.verdict
        #expect(verdict.isOK, "\(verdict.violations)")
        #expect(verdict.adoption.rootsKilled == 1 && verdict.adoption.adopted == 1 && verdict.adoption.replaced == 1)
    }

    @Test("A recovery without a parent doesn't count")
    func withoutParent() {
        var story = Story.sound
        story.kill(2, at: 4_000, gone: 4_001)
        story.kill(5, at: 4_002, gone: 4_003)
        story.begin("/p0", 6, at: 4_010, ready: 4_050, .parent)
        story.begin("/p0/l0", 7, at: 4_020, ready: 4_040, .leaf)
        let verdict = story.verdict
        #expect(verdict.isOK, "\(verdict.violations)")
        #expect(verdict.recoveries.milliseconds == [20, 50])
    }

    // MARK: Resources

    private static func sample(
        _ phase: Record.Sample.Phase,
        kibibytes: Int = 10_000,
        descriptors: Int = 50,
        threads: Int = 20,
        zombies: Int = 0,
        files: Int = 8
    ) -> Record.Event {
        .sampled(Record.Sample(phase, kibibytes: kibibytes, descriptors: descriptors, threads: threads, zombies: zombies, files: files))
    }

    @Test("What the supervisor has more at the end is leaked")
    func leaks() {
        let leaking = [
            Self.sample(.after, kibibytes: 10_501), Self.sample(.after, descriptors: 51), Self.sample(.after, threads: 25),
            Self.sample(.after, zombies: 1), Self.sample(.after, files: 9),
        ]
        for after in leaking {
            var story = Story.sound
            story.at(500, 1, Self.sample(.before))
            story.at(19_000, 1, after)
            #expect(story.broken == [.leaked: 1])
        }
        var story = Story.sound
        story.at(500, 1, Self.sample(.before))
        story.at(19_000, 1, Self.sample(.after, kibibytes: 10_499, descriptors: 49, threads: 24))
        #expect(story.broken.isEmpty)
        story.at(21_000, 5, .left)
        #expect(story.broken == [.leaked: 1] && story.verdict.leaks.processes == 1)
    }

    @Test("A slope is the growth in each minute")
    func slopes() {
        var story = Story.sound
        for second in 0..<19 { story.at(500 + second * 1_000, 1, Self.sample(.during, kibibytes: 10_000 + second * 10)) }
        let slopes = story.verdict.leaks.slopes
        #expect(slopes.map { abs($0.kibibytes - 600) < 0.001 && abs($0.threads) < 0.001 } == true)
    }
}
