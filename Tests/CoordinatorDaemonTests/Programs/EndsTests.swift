import Control
import Glibc
import Processes
import TestSupport
import Testing

/// Programs whose first process ends at once when it's asked to, and whose others need a moment, as behind npm, make or a shell.
@Suite("The ends of programs with several processes", .timeLimit(minutes: 2))
struct EndsTests {
    /// A way in which a program comes to its end.
    enum Way: String, CaseIterable, Sendable {
        case stop, restart, recycling, health, watchdog, byItself, group, daemon

        /// The keys of the program.
        var keys: String {
            switch self {
            case .stop, .restart, .byItself, .daemon: ""
            case .recycling: ", recycle: { after: 1s }"
            case .health: ", health: { command: [test, '!', -e, health.go], interval: 50ms, retries: 1, timeout: 20s }"
            case .watchdog: ", watchdog: 1s"
            case .group: ", stop_group: true"
            }
        }

        /// The first process: it ends when it's asked to, without a word to its child; that of `group` waits for its child.
        var leader: String {
            let worker = "sh worker.sh \(rawValue) & "
            return switch self {
            case .byItself: worker + "until test -e \(rawValue).go; do sleep 0.05; done; exit 3"
            case .group: "trap : TERM; \(worker)while kill -0 $!; do wait $!; done"
            case .stop, .restart, .recycling, .health, .watchdog, .daemon: "trap \"exit 0\" TERM; \(worker)wait"
            }
        }
    }

    /// The other process: it flushes before it ends.
    private static let worker = """
        trap 'sleep 0.3; echo x >> $1.flushed; exit 0' TERM
        touch $1.up
        while :; do sleep 1000 & wait $!; done
        """

    private static func child(_ key: String, _ time: String, _ script: String, _ keys: String = "") -> String {
        "  - { name: \(key), stop_timeout: \(time), program: { command: [sh, -c, '\(script)'], directory: DIR\(keys) } }\n"
    }

    @Test("The others get the stop signal and the rest of the time, whatever ends the program; what is killed is said to be, everywhere")
    func ends() async throws {
        let directory = try TemporaryDirectory()
        try Files.write(Self.worker, to: directory.file("worker.sh"))
        func exists(_ name: String) -> Bool { access(directory.file(name), F_OK) == 0 }
        var tree = "children:\n" + Way.allCases.map { Self.child($0.rawValue, "20s", $0.leader, $0.keys) }.joined()
        tree += Self.child("stubborn", "300ms", "trap \"\" TERM; touch stubborn.up; while :; do sleep 0.05; done")
        tree += Self.child(
            "stubbornOther",
            "300ms",
            "sh -c \"trap : TERM; touch other.up; while :; do sleep 0.05; done\" & exec sleep 1000"
        )
        tree += Self.child("outside", "20s", "exec sleep 1000")
        tree = tree.replacing("DIR", with: directory.path)
        let log = Transcript()
        try await RunningDaemon.with(tree, standardError: log.destination) { daemon in
            let up = Way.allCases.map(\.rawValue) + ["stubborn", "other"]
            try await daemon.eventually("all are up") { up.allSatisfy { exists("\($0).up") } }
            try Files.write("", to: directory.file("health.go"))
            try Files.write("", to: directory.file("byItself.go"))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for way in [Way.stop, .restart, .group] {
                    group.addTask {
                        let command = try await daemon.control(way == .restart ? "restart" : "stop", "/\(way)")
                        #expect(command.exitCode == 0, "\(command)")
                        #expect(exists("\(way).flushed"), "\(way)")
                        #expect(try await daemon.node("/\(way)").forcedKills == nil, "\(way)")
                    }
                }
                for name in ["stubborn", "stubbornOther"] {
                    group.addTask {
                        #expect(try await daemon.control("stop", "/\(name)").exitCode == 0)
                        let words = "not stopped within 300ms, killed"
                        let node = try await daemon.node("/\(name)")
                        #expect(node.lastExit == words && node.forcedKills == 1)
                        for command in [["events", "--path", "/\(name)"], ["history", "/\(name)"], ["status", "/\(name)"]] {
                            let output = try await daemon.control(command).output
                            #expect(output.contains(words), "\(command): \(output)")
                        }
                    }
                }
                group.addTask {
                    kill(try await daemon.runningPID(of: "/outside"), SIGKILL)
                    try await daemon.eventually("it's told from a kill of ours") {
                        try await daemon.node("/outside").lastExit == "killed by signal 9 from outside"
                    }
                }
                try await group.waitForAll()
            }
            for way in [Way.recycling, .health, .watchdog, .byItself] {
                try await daemon.eventually("\(way) has its next life") { try await daemon.node("/\(way)").incarnation > 1 }
                // The next life begins when nothing is left of the former.
                #expect(exists("\(way).flushed"), "\(way)")
            }
            let text = log.text
            for name in ["stubborn", "stubbornOther"] {
                let lines = text.split(separator: "\n").filter { $0.contains("was not stopped within its time, and is killed") }
                #expect(lines.count { $0.hasSuffix("/\(name)") || $0.contains("/\(name) ") } == 1, "\(name): \(lines)")
            }
            try daemon.process.send(.terminate)
            #expect(await daemon.process.waitForExit() == .exited(code: 0))
            #expect(exists("daemon.flushed"))
        }
    }
}
