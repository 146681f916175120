import ConcurrencySupport
import Control
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import CoordinatorDaemon

@Suite("An upgrade of the daemon", .timeLimit(minutes: 10))
struct UpgradeTests {
    /// The two workers below `app` are deeper ones; the program writes all the time.
    static let keptByEachBuild = """
          - name: app
            worker: { executable: FIXTURE, coordinator: RootCoordinator, configuration: { children: [a, b], placement: worker } }
            stop_timeout: 5s
          - name: other
            worker: { executable: FIXTURE, coordinator: MiddleCoordinator }
          - name: counter
            program: { command: [sh, -c, 'i=0; while true; do echo "line $i"; i=$((i+1)); sleep 0.05; done'] }
            logging: { standard_error: separate }
        """

    /// The programs show what is handed on of each: a pipe, two, a socket, a descriptor.
    private static let tree = """
        children:
        \(keptByEachBuild)
          - name: notifier
            program:
              command: [python3, -c, "NOTIFIER"]
              ready: notify
              watchdog: 3s
          - name: piper
            program: { command: [sh, -c, 'echo >&3; exec sleep 1000'], ready: { fd: 3 } }
          - name: resting
            program: { command: [sleep, "1000"] }
          - name: paused
            program: { command: [sleep, "1000"] }
        supervision: { max_restarts: 1000, period: 1s, backoff: { minimum: 1ms, maximum: 10ms } }
        orphan_grace: 60s
        """

    /// Sends a sign of life four times a second.
    private static let notifier = """
        import os, signal, socket
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        signal.setitimer(signal.ITIMER_REAL, 0.25, 0.25)
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        n = 0
        while True:
            s.sendto(b'READY=1\\\\nWATCHDOG=1\\\\nSTATUS=sign %d' % n, os.environ['NOTIFY_SOCKET'])
            n += 1
            signal.sigwait([signal.SIGALRM])
        """

    private static func configured(_ text: String = tree) -> String {
        let lines = notifier.split(separator: "\n").joined(separator: "\\n")
        return text.replacing("NOTIFIER", with: lines)
    }

    @Test("keeps every process, what was paused and what was stopped, and the numbers of lives and events")
    func keeps() async throws {
        try await RunningDaemon.with(Self.configured()) { daemon in
            try await daemon.allRunning()
            try await daemon.call(.stop(path: "/resting"))
            try await daemon.call(.pause(path: "/paused"))
            #expect(try await daemon.add(5) == 5)
            let before = try await daemon.lives()
            let events = try await daemon.events()
            for round in 1...3 {
                let result = try await daemon.upgrade()
                #expect(result.pid == daemon.process.identity.processID)
                #expect(result.restarted.isEmpty && !result.endedAsks)
                #expect(result.kept == ["/app", "/counter", "/notifier", "/other", "/paused", "/piper"])
                #expect(try await daemon.lives() == before)
                #expect(try await daemon.add(1) == 5 + round)
                #expect(try await daemon.node("/resting").state == "inactive")
                #expect(try await daemon.node("/paused").state == "paused")
            }
            // It would be ended by now, if its signs of life were lost.
            let sign = try await daemon.node("/notifier").statusText
            try await daemon.eventually("signs of life arrive") { try await daemon.node("/notifier").statusText != sign }
            let after = try await daemon.events()
            #expect(after.first == events.first)
            #expect(after.map(\.number) == Array(1...UInt64(after.count)))
            #expect(after.count { $0.kind == .daemonStarted } == 4)
            try await daemon.call(.resume(path: "/paused"))
            try await daemon.call(.start(path: "/resting"))
            #expect(try await daemon.node("/resting").state == "active")
            #expect(try await daemon.node("/resting").incarnation == 2)
            try await daemon.endLeavingNothing(daemon.process)
        }
    }

    @Test("keeps the times since which children run, in the tree and in their history, and so does the daemon after a kill")
    func keepsTimes() async throws {
        let paths = ["/app", "/counter", "/notifier", "/other", "/paused", "/piper", "/resting"]
        try await RunningDaemon.with(Self.configured()) { daemon in
            try await daemon.allRunning()
            func uptimes() async throws -> [Int64] {
                let tree = try await daemon.tree()
                return paths.map { path in tree.children.first { $0.path == path && $0.state == "active" }?.uptimeMilliseconds ?? -1 }
            }
            func starts() async throws -> [String?] {
                var starts: [String?] = []
                for path in paths {
                    let history = try ControlJSON.decode(LifeHistory.self, from: try await daemon.call(.history(path: path)))
                    starts.append(history.lives.last?.started)
                }
                return starts
            }
            let began = try await starts()
            #expect(!began.contains(nil))
            var current = daemon.process
            for isKill in [false, true] {
                // Long enough for a count that begins anew to be less.
                try await daemon.eventually("all have run for three seconds") { try await uptimes().allSatisfy { $0 > 3_000 } }
                let before = try await uptimes()
                if isKill { current = try await daemon.killAndReplace(current) } else { _ = try await daemon.upgrade() }
                try await daemon.allRunning()
                let after = try await uptimes()
                // The notifier ends if it gives a sign of life while there is no daemon.
                for (path, (former, present)) in zip(paths, zip(before, after)) where !isKill || path != "/notifier" {
                    #expect(present >= former, "\(path), by a kill: \(isKill)")
                }
                if !isKill { #expect(try await starts() == began) }
            }
            withExtendedLifetime(current) {}
        }
    }

    @Test("keeps lives that a rolling restart has begun, and those that an upgrade has kept can be replaced")
    func keepsReplaced() async throws {
        try await RunningDaemon.with(Self.configured()) { daemon in
            try await daemon.allRunning()
            var before = try await daemon.lives()
            for round in 1...2 {
                for path in ["/app", "/other"] { #expect(try await daemon.control("restart", "--rolling", path).exitCode == 0) }
                try await daemon.allRunning()
                #expect(try await daemon.add(5) == 5)
                let replaced = try await daemon.lives()
                #expect(replaced["/app"] != before["/app"] && replaced["/other"] != before["/other"])
                let result = try await daemon.upgrade()
                #expect(result.restarted.isEmpty && result.kept.contains("/app") && result.kept.contains("/other"))
                #expect(try await daemon.lives() == replaced)
                #expect(try await daemon.node("/app").incarnation == round + 1)
                #expect(try await daemon.add(1) == 6)
                before = replaced
            }
        }
    }

    @Test("learns the exit status of a program that was kept, and restarts it as the next life")
    func exits() async throws {
        try await RunningDaemon.with(Self.configured()) { daemon in
            try await daemon.allRunning()
            #expect(try await daemon.control("upgrade").exitCode == 0)
            let before = try await daemon.node("/counter")
            try await daemon.call(.signal(path: "/counter", signal: SIGUSR1))
            try await daemon.eventually("it has been restarted") {
                let node = try await daemon.node("/counter")
                return node.incarnation == before.incarnation + 1 && node.state == "active"
            }
            #expect(try await daemon.node("/counter").lastExit == "ended by signal \(SIGUSR1)")
        }
    }

    @Test("loses no line of a program and repeats none, and followed logs and events go on")
    func streams() async throws {
        try await RunningDaemon.with(Self.configured()) { daemon in
            try await daemon.allRunning()
            let (lines, events) = (Transcript(), Transcript())
            let logs = try await ProcessSpawner.shared.spawn(
                daemon.controlSpecification(["logs", "/counter", "-f", "-n", "1000"], standardOutput: lines.destination)
            )
            let following = try await ProcessSpawner.shared.spawn(
                daemon.controlSpecification(["events", "-f", "--json"], standardOutput: events.destination)
            )
            try await daemon.eventually("lines are followed") { lines.all.count > 3 }
            for _ in 1...4 { #expect(try await daemon.control("upgrade").exitCode == 0) }
            let count = lines.all.count
            try await daemon.eventually("lines go on") { lines.all.count > count + 5 }
            try await daemon.eventually("events go on") { events.all.count { $0.contains("daemon_started") } == 5 }
            #expect(lines.all.enumerated().allSatisfy { $1.hasSuffix(": line \($0)") || $1 == "line \($0)" })
            #expect(!events.all.contains { $0.contains("\"gap\"") })
            for process in [logs, following] { _ = await process.terminate(grace: .zero) }
        }
    }

    @Test("loses no ask of a load")
    func load() async throws {
        let count = rounds(short: 2, all: 5, long: 20)
        try await RunningDaemon.with(Self.configured()) { daemon in
            try await daemon.allRunning()
            let before = try await daemon.lives()
            let output = Transcript()
            // Longer than the upgrades take: it's interrupted after them.
            let arguments = [
                "bench", "/app", "Fixture.Add", #"{"amount":1}"#, "--rate", "100", "--ramp", "0s", "--duration", "600s", "--json",
            ]
            let bench = try await ProcessSpawner.shared.spawn(
                daemon.controlSpecification(arguments, standardOutput: output.destination)
            )
            var longest: Int64 = 0
            for _ in 0..<count {
                let asked = try await daemon.add(0)
                let result = try await daemon.upgrade()
                #expect(!result.endedAsks)
                longest = max(longest, result.pauseMilliseconds)
                try await daemon.eventually("asks are answered") { try await daemon.add(0) > asked + 50 }
            }
            try await realTime(.seconds(6), because: "an ask that was lost has failed after the five seconds that it has")
            try bench.send(.interrupt)
            _ = await bench.waitForExit()
            let report = try ControlJSON.parse(Array(output.all.joined().utf8))
            guard case .array(let loads)? = report["loads"], case .object(let first)? = loads.first else {
                Issue.record("bench has reported \(output.all)")
                return
            }
            print("upgrades: \(count), longest pause: \(longest) ms, load: \(first)")
            #expect(first["errors"] == .array([]))
            // The interruption finds some open, on a busy machine those of its last two seconds.
            guard case .integer(let due)? = first["due"], case .integer(let answered)? = first["answered"] else {
                Issue.record("the load's report has no numbers: \(first)")
                return
            }
            #expect(due - answered <= 200 && answered > 50 * Int64(count))
            #expect(try await daemon.lives() == before)
        }
    }

    @Test("waits for an open ask, as long as it was told to", arguments: ["100ms"])
    func openAsk(wait: String) async throws {
        try await RunningDaemon.with(Self.configured()) { daemon in
            try await daemon.allRunning()
            async let asked = daemon.control("ask", "/app", "Fixture.Wait", "--timeout", "30s")
            try await daemon.eventually("the ask is open") { try await daemon.node("/app").mailbox?.running == 1 }
            let ended = try await daemon.control("upgrade", "--wait", wait)
            #expect(ended.exitCode == 0)
            #expect(ended.output.contains("peerLost"))
            // It isn't made again: it was begun.
            let outcome = try await asked
            #expect(outcome.exitCode == 1 && outcome.errors.contains("peerLost"), "\(outcome)")
        }
    }

    @Test("changes nothing when the executable can't be run, is no daemon, or finds the file wrong")
    func refused() async throws {
        try await RunningDaemon.with(Self.configured()) { daemon in
            try await daemon.allRunning()
            let before = try await daemon.lives()
            let missing = try await daemon.control("upgrade", "--executable", "/nowhere/coordinatord")
            #expect(missing.exitCode == 1 && missing.errors.contains("/nowhere/coordinatord"))
            let stranger = try await daemon.control("upgrade", "--executable", "/bin/true")
            #expect(stranger.exitCode == 1 && stranger.errors.contains("isn't a coordinatord"))
            let dry = try await daemon.control("upgrade", "--dry-run")
            #expect(dry.exitCode == 0 && dry.output.contains("6 children kept") || dry.output.contains("7 children kept"))
            // A script that passes all examinations, and isn't executable any more when it's to be run.
            let script = "\(daemon.directory)/once"
            try Files.write(
                "#!/bin/sh\n[ $1 = --rehearse ] && rm -f '\(script)'\nexec \(RunningDaemon.coordinatord.path) \"$@\"\n",
                to: script
            )
            chmod(script, 0o700)
            let gone = try await daemon.control("upgrade", "--executable", script)
            #expect(gone.exitCode == 1 && gone.errors.contains("goes on as before"), "\(gone)")
            try daemon.rewrite("children: [ { name: app } ]")
            let wrong = try await daemon.control("upgrade")
            #expect(wrong.exitCode == 78 && wrong.errors.contains("tree.yaml:1:"), "\(wrong)")
            #expect(try await daemon.lives() == before)
            #expect(try await daemon.add(1) == 1)
            let events = try await daemon.events()
            #expect(events.count { $0.kind == .daemonStarted } == 1)
        }
    }

    /// A way in which an executable fails when it's run before it takes the daemon's place.
    enum Failing: CaseIterable {
        case hangs, exitsWithFailure, exitsAtOnce, isOlder, crashes, crashesAtItsEnd, hasNoMemory, printsGarbage, misunderstands

        /// The part of a script that fails; `HERE` is a directory.
        private var command: String {
            switch self {
            case .hangs: "echo $$ > HERE/hung.new; mv HERE/hung.new HERE/hung; exec sleep 1000"
            case .exitsWithFailure: "echo 'no luck today' >&2; exit 3"
            case .exitsAtOnce: "exit 0"
            case .isOlder: "echo \"Error: Unknown option '$1'\" >&2; exit 64"
            case .crashes: "kill -SEGV $$"
            case .crashesAtItsEnd: "DAEMON \"$@\"; kill -ABRT $$"
            case .hasNoMemory: "ulimit -v 30000; exec DAEMON \"$@\""
            case .printsGarbage: "head -c 200000 /dev/urandom | tee /dev/stderr; head -c 5000 /dev/urandom 2>/dev/null >&4; exit 0"
            case .misunderstands:
                #"echo 'version 5, HERE/other.yaml: ok'; echo '{"version":"1.2.3","programs":0,"sockets":0}' >&4; exit 0"#
            }
        }

        /// A part of what the operator is told.
        var told: String {
            switch self {
            case .hangs: "ended by SIGKILL"
            case .exitsWithFailure: "exited with code 3. It has written at last: no luck today"
            case .isOlder: "Unknown option"
            case .crashes: "ended by SIGSEGV"
            case .crashesAtItsEnd: "ended by SIGABRT"
            case .exitsAtOnce, .hasNoMemory, .printsGarbage, .misunderstands: ""
            }
        }

        /// Writes an executable that fails so, and until then does as the daemon's would.
        func script(at examination: NextExecutable.Examination, in directory: String) throws -> String {
            let script = "\(directory)/\(self)\(examination.rawValue)"
            let text = """
                #!/bin/sh
                [ "$1" = \(examination.rawValue) ] && { \(command); }
                [ "$1" = --version ] && echo 1.2.3
                [ "$1" = --check-config ] && echo "$2: ok"
                exit 0
                """
            try Files.write(
                text.replacing("HERE", with: directory).replacing("DAEMON", with: RunningDaemon.coordinatord.path),
                to: script
            )
            chmod(script, 0o700)
            return script
        }
    }

    @Test("leaves everything as it was, in whatever way and at whatever moment the next executable fails; a later one can take over")
    func failing() async throws {
        try await RunningDaemon.with(Self.configured()) { daemon in
            try await daemon.allRunning()
            let before = try await daemon.lives()
            let client = try await ControlClient.connect(runtimeDirectory: RuntimeDirectory(path: daemon.run))
            defer { client.close() }
            let isOver = OneShot<Void>()
            async let load = asks(of: daemon, until: isOver)
            for examination in NextExecutable.Examination.allCases {
                for way in Failing.allCases {
                    let script = try way.script(at: examination, in: daemon.directory)
                    async let refused = daemon.control("upgrade", "--executable", script)
                    if way == .hangs { try await self.end("\(daemon.directory)/hung", of: daemon) }
                    let ended = try await refused
                    #expect(
                        ended.exitCode == 1 && ended.errors.contains(script) && ended.errors.contains("nothing was changed")
                            && ended.errors.contains(way.told),
                        "\(way) at \(examination): \(ended)"
                    )
                    // The same connection as before all of them.
                    _ = try await client.call(.ping)
                }
            }
            isOver.settle()
            #expect(try await load > NextExecutable.Examination.allCases.count * Failing.allCases.count)
            #expect(try await daemon.lives() == before)
            let result = try await daemon.upgrade()
            #expect(result.restarted.isEmpty && !result.endedAsks)
            #expect(try await daemon.lives() == before)
            // The executable itself, which finds that it can't read what it would go on with.
            try Self.addLine("a 1 2 mark of the future\n", toJournalOf: daemon)
            let ended = try await daemon.control("upgrade")
            #expect(ended.exitCode == 1 && ended.errors.contains("the journal"), "\(ended)")
            #expect(try await daemon.lives() == before)
        }
    }

    /// Asks a worker again and again, and returns the number of answers.
    private func asks(of daemon: RunningDaemon, until isOver: OneShot<Void>) async throws -> Int {
        var count = 0
        while isOver.outcome == nil {
            _ = try await daemon.add(0)
            count += 1
        }
        return count
    }

    /// Ends an examination that hangs, which keeps the daemon from nothing.
    private func end(_ file: String, of daemon: RunningDaemon) async throws {
        try await daemon.eventually("it hangs") { access(file, F_OK) == 0 }
        for _ in 0..<3 { _ = try await daemon.add(0) }
        let process = try #require(Files.text(of: file).flatMap { Int32($0.filter(\.isNumber)) })
        unlink(file)
        #expect(kill(process, SIGKILL) == 0)
    }

    private static func addLine(_ line: String, toJournalOf daemon: RunningDaemon) throws {
        let name = try #require(Files.names(in: daemon.run).first { $0.hasSuffix(".processes") })
        let text = try #require(Files.text(of: "\(daemon.run)/\(name)"))
        try Files.write(text + line, to: "\(daemon.run)/\(name)")
    }

    @Test("ends an executable that hangs, at whatever moment", arguments: NextExecutable.Examination.allCases)
    func hanging(at examination: NextExecutable.Examination) async throws {
        let directory = try TemporaryDirectory()
        let next = try await NextExecutable(path: try Failing.hangs.script(at: examination, in: directory.path), limit: .seconds(1))
        let handover = try MemoryFile.write([])
        defer { close(handover) }
        let error = await #expect(throws: ControlError.self) {
            switch examination {
            case .version: _ = try await next.version()
            case .check: try await next.check("file")
            case .rehearsal:
                let report = try #require(UpgradeDryRun(report: Array(#"{"version":"1.2.3","programs":0,"sockets":0}"#.utf8)))
                try await next.dryRun(handover, as: .current(), expecting: report)
            }
        }
        #expect(error?.message.contains("hasn't ended within 1") == true, "\(String(describing: error))")
        let process = try #require(Files.text(of: directory.file("hung")).flatMap { Int32($0.filter(\.isNumber)) })
        try await eventually("it was ended") { kill(process, 0) != 0 }
    }

    @Test("applies no change of the file that wasn't applied before")
    func file() async throws {
        try await RunningDaemon.with(Self.configured()) { daemon in
            try await daemon.allRunning()
            let before = try await daemon.lives()
            try daemon.rewrite(Self.configured().replacing("name: counter", with: "name: renamed"))
            #expect(try await daemon.control("upgrade").exitCode == 0)
            #expect(try await daemon.lives() == before)
            #expect(try await daemon.control("config", "apply").exitCode == 0)
            #expect(try await daemon.node("/renamed").state == "active")
            #expect(try await daemon.control("upgrade").exitCode == 0)
            #expect(try await daemon.node("/renamed").state == "active")
        }
    }

    @Test(
        "keeps the instances that an operator has added, and those that began when there were fewer",
        arguments: ["program: { command: [sleep, \"1000\"] }", "worker: { executable: FIXTURE, coordinator: MiddleCoordinator }"]
    )
    func instances(kind: String) async throws {
        let scaled = "  - { name: scaled, instances: 1, \(kind) }\n  - name: other\n"
        try await RunningDaemon.with(Self.configured(Self.tree.replacing("  - name: other\n", with: scaled))) { daemon in
            try await daemon.allRunning()
            let number = try await daemon.control("scale", "/scaled", "3")
            #expect(number.exitCode == 0, "\(number)")
            let before = try await daemon.instances()
            #expect(before.count == 3 && !before.contains(nil))
            for _ in 1...2 { #expect(try await daemon.control("upgrade").exitCode == 0) }
            #expect(try await daemon.instances() == before)
            #expect(try await daemon.control("scale", "/scaled", "1").output.contains("before: 3"))
        }
    }

    @Test("starts workers again that can't outlive the daemon, and says so")
    func withoutGrace() async throws {
        let text = Self.configured(Self.tree.replacing("orphan_grace: 60s", with: "orphan_grace: 0s"))
        try await RunningDaemon.with(text) { daemon in
            try await daemon.allRunning()
            let before = try await daemon.lives()
            let ended = try await daemon.control("upgrade")
            #expect(ended.exitCode == 0, "\(ended.errors)")
            #expect(ended.output.contains("started again: /app\n"))
            try await daemon.allRunning()
            let after = try await daemon.lives()
            #expect(after["/app"] != before["/app"] && after["/counter"] == before["/counter"])
        }
    }
}

extension Transcript {
    /// The whole lines so far.
    fileprivate var all: [String] { text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init) }
}

extension RunningDaemon {
    private static let running = ["/app", "/app/a", "/app/b", "/other", "/counter", "/notifier", "/piper"]

    /// Waits until all children run.
    fileprivate func allRunning() async throws {
        try await eventually("everything is active") {
            for path in Self.running + ["/resting", "/paused"] {
                let node = try await node(path)
                if node.state != "active" { return false }
            }
            return true
        }
    }

    /// The process and the number of each life.
    fileprivate func lives() async throws -> [String: String] {
        var lives: [String: String] = [:]
        for path in Self.running + ["/paused"] {
            let node = try await node(path)
            let identity = node.pid.flatMap { ProcessIdentity(processID: $0) }
            lives[path] = "\(identity.map { "\($0)" } ?? "none") \(node.incarnation) \(node.state)"
        }
        return lives
    }

    /// The processes of the instances of `scaled`.
    fileprivate func instances() async throws -> [Int32?] {
        var processes: [Int32?] = []
        for number in 1...3 { processes.append(try await node("/scaled-\(number)").pid) }
        return processes
    }

    /// Adds to the sum that the worker `app` keeps, and returns the sum.
    fileprivate func add(_ amount: Int64) async throws -> Int {
        try await add(amount, to: "/app")
    }

    fileprivate func events() async throws -> [ControlEvent] {
        let ended = try await control("events", "--json")
        return try ended.output.split(separator: "\n").map {
            try ControlJSON.decode(ControlEvent.self, from: try ControlJSON.parse(Array($0.utf8)))
        }
    }
}
