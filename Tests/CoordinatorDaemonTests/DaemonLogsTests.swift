import ConcurrencySupport
import Control
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

@Suite("The logs and events of a real daemon", .timeLimit(minutes: 3))
struct DaemonLogsTests {
    private static let tree = """
        children:
          - name: talker
            program: { command: [sh, -c, "echo talker begins; n=0; while sleep 0.05; do n=$((n+1)); echo tick $n; done"] }
          - name: errors
            program: { command: [sh, -c, "echo out; echo err >&2; exec sleep 1000"] }
            logging: { standard_error: separate, format: json }
          - name: quiet
            program: { command: [sleep, "1000"] }
            logging: { file: none }
          - name: app
            worker: { executable: FIXTURE, coordinator: RootCoordinator }
        supervision: { max_restarts: 1000, period: 1s, backoff: { minimum: 1ms, maximum: 10ms } }
        """

    private static func lines(_ output: String) -> [Substring] { output.split(separator: "\n") }

    @Test("`logs`: what children have written, by path, with the last lines, a time, a pattern, JSON; errors have codes")
    func logs() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            try await daemon.eventually("it has spoken") { try await daemon.control("logs", "/talker").output.contains("tick 5\n") }
            let whole = try await daemon.control("logs", "/talker")
            #expect(whole.exitCode == 0)
            let pid = try await daemon.runningPID(of: "/talker")
            #expect(Self.lines(whole.output).first?.hasSuffix(" /talker[\(pid)]: talker begins") == true)
            #expect(Self.lines(try await daemon.control("logs", "/talker", "-n", "2").output).count == 2)
            let chosen = try await daemon.control("logs", "/talker", "--grep", "tick [12]$").output
            #expect(Self.lines(chosen).map { $0.suffix(6) } == ["tick 1", "tick 2"])
            #expect(try await daemon.control("logs", "/talker", "--since", "2999-01-01").output == "")
            #expect(try await daemon.control("logs", "/talker", "--since", "1h").output.contains("talker begins"))
            let errors = try await daemon.control("--json", "logs", "/errors")
            let objects = try Self.lines(errors.output).map { try ControlJSON.parse(Array($0.utf8)) }
            let streams = objects.map { "\($0["stream"]?.stringValue ?? "") \($0["line"]?.stringValue ?? "")" }
            #expect(Set(streams) == ["stdout out", "stderr err"])
            #expect(objects.allSatisfy { $0["incarnation"] == 1 && $0["path"] == "/errors" })
            let all = try await daemon.control("logs", "/").output
            #expect(all.contains("talker begins") && all.contains(": err"))
            let times = Self.lines(all).map { $0.prefix(Timestamp.length) }
            #expect(times == times.sorted())
            #expect(try await daemon.control("logs", "/nothing").exitCode == 4)
            let below = try await daemon.control("logs", "/app/a")
            #expect(below.exitCode == 4 && below.errors.contains("is in that of /app"))
            #expect(try await daemon.control("logs", "/quiet").errors.contains("isn't kept in a file"))
            #expect(try await daemon.control("logs", "/talker", "--grep", "(").exitCode == 64)
            #expect(try await daemon.control("logs", "/talker", "--since", "soon").exitCode == 64)
            #expect(Files.mode(of: "\(daemon.directory)/run/logs/talker.log") == 0o600)
        }
    }

    @Test("`logs -f` goes on over a restart of the child, a rotation, and another daemon")
    func following() async throws {
        let tree = """
            children:
              - name: talker
                program: { command: [sh, -c, "echo begins as $$; while sleep 0.02; do echo tick; done"] }
            """
        try await RunningDaemon.with(tree) { daemon in
            _ = try await daemon.runningPID(of: "/talker")
            let (output, errors) = (Transcript(), Transcript())
            let specification = daemon.controlSpecification(
                ["logs", "-f", "/talker", "-n", "0"],
                standardOutput: output.destination,
                standardError: errors.destination
            )
            try await withChild(specification) { follower in
                try await daemon.eventually("it ticks") { output.text.contains("tick") }
                #expect(try await daemon.control("restart", "/talker").exitCode == 0)
                let second = try await daemon.runningPID(of: "/talker")
                try await daemon.eventually("the next life is shown") { output.text.contains("/talker[\(second)]: begins as \(second)") }
                let file = "\(daemon.directory)/run/logs/talker.log"
                #expect(rename(file, file + ".1") == 0)
                #expect(try await daemon.control("restart", "/talker").exitCode == 0)
                let third = try await daemon.runningPID(of: "/talker")
                try await daemon.eventually("what comes after the rotation is shown") { output.text.contains("begins as \(third)") }
                #expect(output.text.ranges(of: "begins as \(second)").count == 1)
                try daemon.process.send(.terminate)
                _ = await daemon.process.waitForExit()
                let next = try await daemon.startNext()
                try await daemon.eventually("the next daemon's child is shown") {
                    let pid = try await daemon.node("/talker").pid ?? 0
                    return output.text.contains("begins as \(pid)")
                }
                #expect(errors.text.hasPrefix("coordinatorctl: the daemon is gone; waiting until it's back\n"))
                // A line is shown once.
                #expect(output.text.ranges(of: "begins as \(third)").count == 1)
                #expect(try await daemon.control("logs", "/talker").output.contains("begins as \(second)"))
                #expect(follower.identity.isAlive)
                _ = await next.terminate(grace: .patient(.seconds(10)))
            }
        }
    }

    @Test(
        "A full disk: children and operators aren't held up, the daemon lives; with room again the log tells how much is missing",
        .enabled(if: geteuid() == 0, "only root can mount a file system")
    )
    func fullDisk() async throws {
        let directory = try TemporaryDirectory()
        let (alive, full, times) = (directory.file("alive"), directory.file("full"), directory.file("times"))
        // The second child writes more than its pipe and the daemon's queue hold, from when the disk is full.
        let tree = """
            children:
              - name: talker
                program: { command: [sh, -c, "n=0; while sleep 0.01; do n=$((n+1)); echo tick $n; echo $n > \(alive); done"] }
                logging: { to_daemon: false }
              - name: writer
                program:
                  command:
                    - sh
                    - -c
                    - >-
                      until test -e \(full); do sleep 0.05; done; line=$(head -c 16000 /dev/zero | tr '\\0' x);
                      while sleep 0.01; do echo $line; date +%s%N >> \(times); done
                logging: { to_daemon: false, maximum_size: 16KiB, keep: 0 }
            """
        let log = Transcript()
        func ticks() -> Int { Files.text(of: alive).flatMap { Int($0.filter(\.isNumber)) } ?? 0 }
        /// The times at which the second child has written a line.
        func written() -> [Int] { (Files.text(of: times) ?? "").split(separator: "\n").compactMap { Int($0) } }
        let wrapper = ExhaustionTests.smallDisk("size=256k")
        try await RunningDaemon.with(tree, standardError: log.destination, wrapper: wrapper, hasOwnFiles: true) { daemon in
            try await daemon.eventually("it ticks") { try await daemon.control("logs", "/talker").output.contains("tick 3\n") }
            ExhaustionTests.fill("\(daemon.directory)/run/full")
            // The file's last page has room for some lines.
            try await daemon.eventually("it can't be written") { log.text.contains("a child's log can't be written") }
            try Files.write("", to: full)
            let former = ticks()
            try await daemon.eventually("the child goes on") { ticks() > former + 100 }
            // Three times what the pipe and the daemon's queue hold together.
            try await daemon.eventually("so does the one that writes much") { written().count > 500 }
            let distances = zip(written(), written().dropFirst()).map { Duration.nanoseconds($1 - $0) }
            let longest = distances.max() ?? .zero
            print("the longest time between two lines of the child on a full disk: \(longest)")
            #expect(longest < .seconds(10), "a child was held up")
            #expect(try await daemon.control("status", "/talker").exitCode == 0)
            unlink("\(daemon.directory)/run/full")
            try await daemon.eventually("the gap is in the log") {
                let objects = try Self.lines(try await daemon.control("--json", "logs", "/talker").output)
                    .map { try ControlJSON.parse(Array($0.utf8)) }
                guard let index = objects.firstIndex(where: { $0["gap"] != nil }), index + 1 < objects.count else { return false }
                let numbers = objects.compactMap { $0["line"]?.stringValue }.compactMap { Int($0.dropFirst(5)) }
                let missing = objects.compactMap { $0["gap"]?["lines"]?.integerValue }.reduce(0, +)
                // Every line is there, or counted.
                return objects[index]["gap"]?["reason"] == "No space left on device" && numbers.count + Int(missing) == numbers.last
            }
            let entries = Self.lines(log.text).filter { $0.contains("coordinator.path=/talker") }
            #expect(entries.count { $0.contains("a child's log can't be written") } == 1)
            try await daemon.eventually("the end is told, once") {
                Self.lines(log.text).count { $0.contains("a child's log can be written again") && $0.contains("coordinator.path=/talker") }
                    == 1
            }
        }
        withExtendedLifetime(directory) {}
    }

    @Test("Events: lives with their reasons, an operator's request with its requester; resumed by number; `history` and JSON")
    func events() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            try await daemon.eventually("it's up") { try await daemon.node("/errors").state == "active" }
            let pid = try await daemon.runningPID(of: "/errors")
            kill(pid, SIGKILL)
            try await daemon.eventually("it lives again") { try await daemon.node("/errors").incarnation == 2 }
            #expect(try await daemon.control("stop", "/errors").exitCode == 0)
            let whole = try await daemon.control("--json", "events")
            #expect(whole.exitCode == 0)
            let events = try Self.lines(whole.output).map { line in
                try ControlJSON.decode(ControlEvent.self, from: try ControlJSON.parse(Array(line.utf8)))
            }
            #expect(events.map(\.number) == Array(1...UInt64(events.count)))
            #expect(Set(events.map(\.boot)).count == 1)
            let own = events.filter { $0.path == "/errors" && $0.kind != .restarting }
            #expect(own.map(\.kind) == [.started, .crashed, .restarted, .stopped, .operator])
            #expect(own[1].reason?.contains("9") == true && own[1].incarnation == 1 && own[1].pid == pid)
            let request = try #require(own.last?.request)
            #expect(request.operation == "stop" && request.outcome == "ok" && request.uid == geteuid() && request.id != nil)
            #expect(request.command == "coordinatorctl")
            let later = try await daemon.control("events", "--since", "\(own[3].number)", "--path", "/errors")
            #expect(Self.lines(later.output).count == 1 && later.output.contains("operator  /errors  stop by "))
            let history = try await daemon.control("history", "/errors")
            #expect(history.output.contains("signal 9"))
            #expect(Self.lines(history.output).count == 3)
            #expect(try await daemon.control("history", "/nothing").exitCode == 4)
            // A coordinator two processes below.
            let worker = try await daemon.runningPID(of: "/app")
            kill(worker, SIGKILL)
            try await daemon.eventually("the worker's crash is an event") {
                try await daemon.control("events", "--path", "/app").output.contains("crashed  /app")
            }
        }
    }

    @Test("`events -f` shows what happens from now on, and goes on with the next daemon after a gap")
    func followingEvents() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            let output = Transcript()
            let specification = daemon.controlSpecification(["--json", "events", "-f"], standardOutput: output.destination)
            try await withChild(specification) { _ in
                try await daemon.eventually("the beginning") { output.text.contains("daemon_started") }
                try await daemon.eventually("it's up") { try await daemon.node("/errors").state == "active" }
                #expect(try await daemon.control("stop", "/errors").exitCode == 0)
                try await daemon.eventually("the stop") { output.text.contains(#""operation":"stop""#) }
                try daemon.process.send(.terminate)
                _ = await daemon.process.waitForExit()
                let next = try await daemon.startNext()
                try await daemon.eventually("the next daemon's events") {
                    let events = try Self.lines(output.text).map { try ControlJSON.parse(Array($0.utf8)) }
                    return events.contains { $0["kind"] == "gap" } && Set(events.compactMap { $0["boot"]?.stringValue }).count == 2
                        && events.count { $0["kind"] == "daemon_started" } == 2
                }
                _ = await next.terminate(grace: .patient(.seconds(10)))
            }
        }
    }

    @Test("--log-format json: each line is an object, a child's too; an end is told in words and in numbers, here and in answers")
    func json() async throws {
        let log = Transcript()
        let tree = """
            children:
              - { name: a, program: { command: [sleep, "1000"] } }
              - { name: b, restart: never, program: { command: [sh, -c, "echo begins; exit 3"] } }
              - { name: c, restart: never, program: { command: [sh, -c, "kill -9 $$"] } }
            """
        try await RunningDaemon.with(tree, standardError: log.destination, options: "--log-format json") { daemon in
            try await daemon.eventually("it's up") { try await daemon.node("/a").state == "active" }
            #expect(try await daemon.control("restart", "/a").exitCode == 0)
            try await daemon.eventually("the audit") { log.text.contains("request has ended") }
            try await daemon.eventually("the ends") { log.text.contains("/b crashed") && log.text.contains("/c crashed") }
            // The last line may not be whole yet.
            let whole = log.text.prefix(through: try #require(log.text.lastIndex(of: "\n")))
            let entries = try Self.lines(String(whole)).map { try ControlJSON.parse(Array($0.utf8)) }
            let entry = try #require(entries.first { $0["message"] == "an operator's request has ended" })
            #expect(entry["level"] == "notice" && entry["metadata"]?["operation"] == "restart" && entry["metadata"]?["outcome"] == "ok")
            #expect(entry["metadata"]?["operator.uid"] == .string("\(geteuid())"))
            let line = try #require(entries.first { $0["text"] == "begins" })
            let end = try #require(entries.first { $0["message"] == "/b crashed: exited with code 3" })
            #expect(line["path"] == "/b" && line["stream"] == "stdout" && line["pid"] == end["metadata"]?["pid"])
            #expect(end["metadata"]?["change"] == "crashed" && end["metadata"]?["code"] == 3 && end["level"] == "warning")
            let killed = try #require(entries.first { $0["message"] == "/c crashed: killed by signal 9 from outside" })
            #expect(killed["metadata"]?["signal"] == 9)
            let (b, c) = (try await daemon.node("/b"), try await daemon.node("/c"))
            #expect(b.lastExitCode == 3 && b.lastExitSignal == nil && c.lastExitSignal == 9 && c.lastExitCode == nil)
            for (path, key, number) in [("/b", "exit_code", 3 as JSONValue), ("/c", "signal", 9)] {
                let events = try Self.lines(try await daemon.control("--json", "events").output).map {
                    try ControlJSON.parse(Array($0.utf8))
                }
                #expect(events.contains { $0["kind"] == "crashed" && $0["path"] == .string(path) && $0[key] == number })
                let history = try ControlJSON.parse(Array(try await daemon.control("--json", "history", path).output.utf8))
                #expect(history["lives"]?.arrayValue?.first?[key] == number, "\(history)")
            }
        }
    }
}
