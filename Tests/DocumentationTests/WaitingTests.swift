import TestSupport
import Testing

/// What CONTRIBUTING says of waiting: the code waits for events.
///
/// Each loop that looks or tries again and again, and each timer, is listed here with its reason.
@Suite("What lets time pass in the sources")
struct WaitingTests {
    /// The files with loops that sleep, the number of these loops, and the reason why no event ends the wait.
    private static let loops: [String: (count: Int, reason: String)] = [
        // What is due at a time.
        "ConcurrencySupport/Timers.swift": (1, "the timers themselves: the thread sleeps until the next one is due, or until it's woken"),
        "ConcurrencySupport/Heartbeat.swift": (1, "pings"),
        "Control/Server/ConnectionTable.swift": (
            2, "a connection without requests, until that is too long; descriptors, freed a moment after a close"
        ),
        "Control/Server/ControlConversation.swift": (1, "how long a peer has been silent, until that is too long"),
        "CoordinatorConsole/Feed/Feed.swift": (2, "one sampling a second while anyone watches; a lost daemon is dialled again"),
        "CoordinatorDaemon/Notification/ServiceReports.swift": (3, "what systemd is told at intervals, as it asks for"),
        "CoordinatorsCluster/Node/ClusterNode+Placement.swift": (4, "the pause before the first plan; tries that the store has failed"),
        "CoordinatorsObservability/Export/TelemetryExport.swift": (1, "the interval of an export"),
        "Links/FastPaths/LaterFlushes.swift": (1, "one-way messages leave every tenth of a millisecond, while there are some"),
        "coordinatorctl/Commands/TopCommand.swift": (2, "the interval at which the screen is drawn"),
        "coordinatorctl/Load/Bench.swift": (1, "the interval at which the line of figures is drawn"),
        "coordinatorctl/Load/LoadGenerator.swift": (1, "asks are due at fixed times"),
        // A failure that passes without a word: the pause keeps a try from being a busy loop.
        "Control/Client/BlockingControlClient.swift": (3, "a daemon that is replaced can't tell those that aren't connected"),
        "Control/Client/ControlClient.swift": (3, "a daemon that is replaced can't tell those that aren't connected"),
        "Control/Client/DaemonConnection.swift": (1, "a daemon that is replaced can't tell those that aren't connected"),
        "coordinatorctl/Commands/StreamCommand.swift": (3, "a daemon that is replaced can't tell those that aren't connected"),
        "coordinatorctl/Load/ConnectionPool.swift": (1, "a daemon that is replaced can't tell those that aren't connected"),
        "Control/Nodes/NodeListener.swift": (1, "accepting fails while descriptors or memory are short"),
        "Control/Server/ControlServer.swift": (
            3, "accepting fails while descriptors are short; a socket's file that was removed; the last arrivals"
        ),
        "Links/LinkListener.swift": (1, "accepting fails while descriptors are short"),
        "CoordinatorsCluster/Node/ClusterNode+Store.swift": (1, "the store can't be listed"),
        "CoordinatorsCluster/Transactions/RevisionedStore+Retrying.swift": (1, "the backoff of tries against the store"),
        "CoordinatorsSQLite/SQLiteFlowStorage.swift": (1, "another process that has the file, and is about to end, doesn't tell when"),
        "CoordinatorsCluster/Transfers/TransferThread.swift": (1, "libcurl's wait fails while memory is short"),
        "Coordinators/Messages/ResponderMessage.swift": (1, "the pause of a message's RetryPolicy"),
        "NNG/ByteStream.swift": (1, "a listener whose queue is full doesn't tell when it has room"),
        "Processes/ProcessIdentity.swift": (1, "descriptors for a pidfd are short"),
        "Processes/ProcessLoop.swift": (1, "epoll fails while memory is short"),
        // What the kernel finishes a moment after it has told of it, or doesn't tell at all.
        "CoordinatorDaemon/Daemon/Daemon.swift": (1, "the lock of a directory whose daemon was just killed"),
        "Coordinators/Runtime/RuntimeCore+Adoption.swift": (1, "the lock of a life that was just killed: flock(2) would hold a thread"),
        "Coordinators/Runtime/RuntimeCore+Processes.swift": (1, "a runtime that was just killed, whose process lives for a moment"),
        "Processes/ControlGroup.swift": (1, "a control group counts a process for a moment after its end"),
        "Processes/MainThread.swift": (1, "the main thread is offered before there is anything that could wake it"),
        "Processes/RegularFile.swift": (1, "a former reader of the file, which ends by itself"),
        "Processes/Subreaper.swift": (1, "waitid(2) tells of a spawned child again and again until its own thread has reaped it"),
        // What other processes or nodes know, and don't tell.
        "CoordinatorDaemon/Cluster/ClusterMembership.swift": (
            3, "certificates, once a minute; a child that is just starting"
        ),
        "CoordinatorDaemon/Operators/ControlRequestHandler.swift": (
            3, "a child in another process's subtree or on another node, which reports its state when it's asked"
        ),
        "coordinatorctl/Commands/ClusterCommands.swift": (1, "what a node that drains still has, which the nodes tell when they are asked"),
        "CoordinatorDaemon/Shutdown/ShutdownSignal.swift": (1, "processes that are being started don't learn of the first call"),
        "CoordinatorDaemon/Upgrade/UpgradeCompletion.swift": (1, "workers that are back, of which each reports to its own parent"),
        "CoordinatorDaemon/Upgrade/Upgrade.swift": (
            2, "open requests of all connections, and programs that are ending in all groups, which are counted nowhere else"
        ),
        "Coordinators/Children/ChildSupervisor+Operations.swift": (1, "a life that has begun and hasn't started its own children"),
        "Coordinators/Observation/MessageTraces.swift": (1, "the reports of a trace are complete when none has come for a while"),
        "Coordinators/API/CoordinatorRuntime+Replacement.swift": (
            2, "messages under way of all peers, which must be none three times in a row"
        ),
        // Tests of programs.
        "Coordinators/Features/Testing/Fault.swift": (1, "a fault that a test has asked for"),
        "CoordinatorsTesting/eventually.swift": (1, "a condition of a test's own"),
    ]

    /// The files that set timers, and what for, in groups by what happens when they fire.
    private static let timers: [String: String] = [
        // Once, and it ends something.
        "ConcurrencySupport/Grace.swift": "the time for an end", "ConcurrencySupport/OneShot.swift": "a deadline",
        "ConcurrencySupport/Patience.swift": "a deadline that the own lateness extends",
        "Control/Nodes/PairConnection+Greeting.swift": "the time for a greeting",
        "CoordinatorConsole/HTTP/HTTPExchange.swift": "the time for an answer",
        "CoordinatorConsole/HTTP/HTTPServer.swift": "the time for an end",
        "Coordinators/Messages/OpenAsks.swift": "the earliest deadline of a coordinator's asks",
        "Coordinators/API/ReplyStream.swift": "the time for an acceptance",
        "Coordinators/API/CoordinatorRuntime+Operations.swift": "nothing: the timers' thread begins with the first one",
        "Coordinators/Transport/Peer.swift": "a deadline",
        "Coordinators/Transport/Peer+Sending.swift": "the time for an answer to the runtime",
        "Coordinators/Transport/DelayLine.swift": "a link that a test delays",
        "Coordinators/Features/Testing/Fault.swift": "a fault that a test has asked for",
        "Coordinators/Children/Workers/SparePool.swift": "the age of a spare",
        "CoordinatorsCluster/Local/LocalWatch.swift": "the end of a lease",
        // The next event of a machine, which says when it is.
        "ConcurrencySupport/Timers.swift": "the timers themselves", "ConcurrencySupport/TimeSource.swift": "the clock of a tree",
        "ConcurrencySupport/Trouble.swift": "a failure that hasn't come again",
        "CoordinatorsCluster/Node/ClusterNode.swift": "what the machine of ownership waits for",
        "Processes/ContinuousTimers.swift": "the clock of leases", "Processes/WallTimers.swift": "the clock of the day",
        "Coordinators/Features/Flows/FlowLife.swift": "what a flow does next: another attempt, or a message that leaves",
        "Coordinators/Features/Flows/FlowStore.swift": "the next trial of flows whose work may have ended the process before",
        "Coordinators/Features/Flows/FlowWaker.swift": "the next flow that has something to do and sleeps",
        "CoordinatorDaemon/Schedules/Scheduler.swift": "the next time of a child that runs at times",
        // What was collected leaves together. Again only while there is more.
        "CoordinatorDaemon/Events/EventLog.swift": "dead letters", "Coordinators/Observation/UpwardReports.swift": "reports to the parent",
        "CoordinatorsObservability/Export/ExportQueue.swift": "what is exported",
        "Coordinators/Transport/Violations.swift": "violations of one sender",
        // Again and again, while something is there that nothing tells of.
        "CoordinatorDaemon/Logs/ChildLog.swift": "a file that can't be written, or a thread, of which none can be made",
        "CoordinatorDaemon/Output/DaemonOutput.swift": "a thread, of which none can be made",
        "CoordinatorsSQLite/SQLiteFlowStorage.swift": "a thread, of which none can be made",
        "Coordinators/Runtime/HandlerWatch.swift": "handlers whose message was cancelled",
        "Coordinators/Coordinator/Cycles.swift": "an ask that can't begin, twice",
        "Coordinators/Features/Timers/IdleWatch.swift": "whether a coordinator with an idle time-out has had messages",
        "Coordinators/Features/Pools/PoolCoordinator.swift":
            "a member that can't be reached, while messages wait: no event tells when it can",
        // The program's own.
        "Coordinators/Features/Timers/OwnTimer.swift": "timers of a coordinator",
    ]

    private static let root = "\(Files.packageRoot)/Sources"

    /// The sources with one of these texts in them, without the examples, by their paths below `Sources`.
    private static func sources(with texts: [String]) -> [(name: String, lines: [Substring])] {
        Catalogue.files(below: root).map { String($0.dropFirst(root.count + 1)) }.filter { !$0.hasPrefix("Examples/") }.compactMap { name in
            guard let text = Files.text(of: "\(root)/\(name)"), texts.contains(where: text.contains) else { return nil }
            return (name, text.split(separator: "\n", omittingEmptySubsequences: false))
        }
    }

    @Test("Each loop that sleeps is in the list, with the reason why no event ends the wait")
    func sleeping() {
        let sources = Self.sources(with: ["sleep("]).map { ($0.name, SleepingLoops.count(in: $0.lines)) }
        let found = Dictionary(uniqueKeysWithValues: sources).filter { $0.value > 0 }
        #expect(found.count > 30)
        for (file, count) in found where Self.loops[file]?.count != count {
            Issue.record(
                "Sources/\(file) has \(count) loops that sleep, and \(Self.loops[file]?.count ?? 0) in the list: wait for an event, or argue there"
            )
        }
        #expect(Set(Self.loops.keys).subtracting(found.keys).sorted() == [], "these have none any more")
    }

    @Test("Each file that sets timers is in the list, with what they are for")
    func timed() {
        let calls = ["schedule(at", "schedule(after", "context.after("]
        let found = Self.sources(with: calls).filter { file in
            file.lines.contains { line in
                let code = line.drop { $0 == " " }
                return !code.hasPrefix("//") && calls.contains(where: code.contains) && !code.contains("func schedule")
            }
        }
        #expect(Set(found.map(\.name)).symmetricDifference(Self.timers.keys).sorted() == [])
    }

    @Test(
        "A loop that sleeps is recognised by what stands around the sleep",
        arguments: [
            ("while true {\n    try await Task.sleep(for: pause)\n}", 1),
            ("while (try? await Task.sleep(for: pause)) != nil { look() }", 1),
            ("repeat {\n    if look() {\n        usleep(1)\n    }\n} while isOpen", 1),
            ("repeat {\n    look()\n} while (try? await Task.sleep(for: pause)) != nil", 1),
            ("while isOpen {\n    look()\n}\ntry await Task.sleep(for: limit)", 0),
            ("func look() {\n    group.addTask { try? await Task.sleep(for: limit) }\n}", 0),
            ("while isOpen {\n    // sleep(1)\n    sleeper()\n}", 0), ("func sleep(until time: Int) {\n    wait()\n}", 0),
        ]
    )
    func recognition(_ text: String, count: Int) {
        #expect(SleepingLoops.count(in: text.split(separator: "\n", omittingEmptySubsequences: false)) == count)
    }
}

/// The loops that sleep in a source, found by the indentation that the formatter keeps.
enum SleepingLoops {
    /// Returns the number of sleeps within loops.
    static func count(in lines: [Substring]) -> Int { lines.indices.count { sleeps(lines[$0]) && isInLoop(lines, $0) } }

    private static func sleeps(_ line: Substring) -> Bool {
        let code = line.drop { $0 == " " }
        if code.hasPrefix("//") || code.contains("func sleep") || code.contains("func usleep") { return false }
        return ["usleep(", "nanosleep(", "sleep("].contains { call in
            code.ranges(of: call).contains { range in
                guard range.lowerBound > code.startIndex else { return true }
                let before = code[code.index(before: range.lowerBound)]
                return !before.isLetter && !before.isNumber && before != "_"
            }
        }
    }

    private static func isInLoop(_ lines: [Substring], _ index: Int) -> Bool {
        let code = lines[index].drop { $0 == " " }
        if beginsLoop(code) || code.hasPrefix("} while ") || code.contains("{ while ") || code.contains("{ for ") { return true }
        var indentation = lines[index].prefix { $0 == " " }.count
        for line in lines[..<index].reversed() where !line.allSatisfy({ $0 == " " }) {
            let here = line.prefix { $0 == " " }.count
            guard here < indentation else { continue }
            indentation = here
            let code = line.dropFirst(here)
            if beginsLoop(code) { return true }
            if ["func ", "init(", "var "].contains(where: code.contains) { return false }
        }
        return false
    }

    private static func beginsLoop(_ code: Substring) -> Bool { ["while ", "repeat ", "for "].contains(where: code.hasPrefix) }
}
