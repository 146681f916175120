import ChaosHistory

/// A history that is written by hand: times are in milliseconds, and each life has a number.
struct Story {
    private(set) var records: [Record] = []

    static func process(_ number: Int) -> ProcessLife { ProcessLife(processID: Int32(number), startTime: 1) }

    mutating func at(_ milliseconds: Int, _ process: Int, _ event: Record.Event) {
        records.append(Record(time: Int64(milliseconds) * 1_000_000, process: Self.process(process), event))
    }

    mutating func begin(
        _ path: String,
        _ process: Int,
        at time: Int,
        ready: Int,
        _ role: Record.Role,
        isAlone: Bool = true,
        overlaps: Bool = false
    ) {
        at(time, process, .begun(path: path, incarnation: 1, role: role, isAlone: isAlone, overlaps: overlaps))
        at(ready, process, .ready)
    }

    mutating func kill(_ process: Int, at time: Int, gone: Int) {
        at(time, process, .fault(.kill))
        at(gone, process, .gone)
    }

    /// A message that is sent by process 3, the sender, to the leaf or to another path.
    mutating func send(
        _ number: Int,
        _ kind: Record.MessageKind = .ask,
        to target: String = "/p0/l0",
        at time: Int,
        executedBy executors: [(process: Int, time: Int)] = [],
        settled: (outcome: Record.Outcome, time: Int)?
    ) {
        at(time, 3, .sent(number: number, kind: kind, target: target))
        let message = MessageID(sender: Self.process(3), number: number)
        for executor in executors { at(executor.time, executor.process, .executed(message: message, kind: kind)) }
        if let settled { at(settled.time, 3, .settled(number: number, outcome: settled.outcome)) }
    }

    mutating func remove(where isUnwanted: (Record) -> Bool) { records.removeAll(where: isUnwanted) }

    var verdict: Verdict { Checker.verdict(on: records) }

    /// The rules that were broken, and how often.
    var broken: [Verdict.Rule: Int] { verdict.counts.filter { $0.value > 0 } }

    /// The root 1, a parent 2, a sender 3 and a leaf 4, which is killed at 1,000 ms and followed by 5; three messages; the end of the run.
    static var sound: Story {
        var story = Story()
        story.begin("/", 1, at: 0, ready: 10, .root)
        story.begin("/p0", 2, at: 10, ready: 20, .parent)
        story.begin("/s0", 3, at: 10, ready: 20, .sender)
        story.begin("/p0/l0", 4, at: 12, ready: 18, .leaf)
        story.send(1, at: 100, executedBy: [(4, 101)], settled: (.acknowledged, 102))
        story.send(2, .plain, at: 200, executedBy: [(4, 202)], settled: (.accepted, 201))
        story.kill(4, at: 1_000, gone: 1_003)
        story.begin("/p0/l0", 5, at: 1_010, ready: 1_020, .leaf)
        story.send(3, .acknowledged, at: 1_100, executedBy: [(5, 1_101)], settled: (.acknowledged, 1_102))
        story.at(20_000, 1, .fault(.end))
        return story
    }
}
