import ChaosHistory
import Testing

/// A history and the settings of a run are text between their processes.
@Suite("Chaos: histories as text")
struct TextTests {
    @Test("Each record is read as it was written")
    func records() {
        let message = MessageID(sender: Story.process(7), number: 12)
        let events: [Record.Event] = [
            .begun(path: "/p0/l1", incarnation: 3, role: .leaf, isAlone: true),
            .begun(path: "/", incarnation: 1, role: .root, isAlone: false), .ready, .ended,
            .begun(path: "/p0/l1", incarnation: 4, role: .leaf, isAlone: false, overlaps: true),
            .sent(number: 12, kind: .acknowledged, target: "/p0/l1"), .settled(number: 12, outcome: .acknowledged),
            .settled(number: 13, outcome: .accepted), .settled(number: 14, outcome: .refused),
            .settled(number: 15, outcome: .failed(code: "peerLost", maybeExecuted: true)),
            .settled(number: 16, outcome: .failed(code: "timedOut", maybeExecuted: false)), .executed(message: message, kind: .plain),
            .fault(.clog), .continued, .alive, .gone, .left,
            .sampled(Record.Sample(.during, kibibytes: 1, descriptors: 2, threads: 3, zombies: 4, files: 5)),
        ]
        let records = events.enumerated().map { Record(time: Int64($0.offset), process: Story.process(9), $0.element) }
        let (read, senseless) = Record.read(records.map { "\($0)\n" }.joined())
        #expect(read == records && senseless == 0)
    }

    @Test(
        "What is no record is counted",
        arguments: [
            "1 2.3", "x 2.3 ready", "1 23 ready", "1 2.3 ready more", "1 2.3 settled 4 failed:x", "1 2.3 begun / 1 root bes",
            "1 2.3 begun / 1 root beside over", "1 2.3 zzz",
        ]
    )
    func senseless(_ line: String) {
        #expect(Record(line) == nil)
        #expect(Record.read("1 2.3 ready\n\(line)\n").senseless == 1)
    }

    @Test("The settings are read as they were written")
    func plan() {
        var plan = Plan()
        (plan.directory, plan.seed, plan.workers, plan.parents, plan.bucket) = ("/tmp/a=b", 7, 13, 4, 99)
        #expect(Plan(plan.description) == plan)
        #expect(Plan("workers=x") == nil && Plan("unknown=1") == nil && Plan("workers") == nil)
        #expect((0..<4).map(plan.leaves) == [4, 3, 3, 3])
    }
}
