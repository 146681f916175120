import Control
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

@Suite("The programs of a daemon that was killed, and the next one", .timeLimit(minutes: 3))
struct ProgramAdoptionTests {
    /// Sends a sign of life again and again, whether or not a daemon takes it, and says once that it's ready.
    private static let notifier = """
        import os, socket, time
        sign = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        def send(text):
            try: sign.sendto(text, os.environ["NOTIFY_SOCKET"])
            except OSError: pass
        send(b"READY=1")
        while True:
            time.sleep(0.05)
            send(b"WATCHDOG=1")
        """

    /// The last number that the writer writes, in lines of 80 bytes: more than a FIFO of 1 MiB holds.
    private static let lines = 25_000

    /// Programs of all kinds; `DIR` is the directory in which they and the test talk by files.
    private static let tree = """
        children:
          - name: writer
            program:
              command: [sh, -c, 'while [ ! -e DIR/write ]; do sleep 0.02; done; seq -f "%.0f\(String(repeating: ".", count: 74))" \(lines); touch DIR/written; exec sleep 1000']
          - name: apart
            program: { command: [sh, -c, 'while :; do [ -e DIR/write ] && { echo apart; echo error >&2; exec sleep 1000; }; sleep 0.02; done'] }
            logging: { standard_error: separate }
          - name: forks
            program: { command: [sh, -c, 'sleep 1000 & echo $! > DIR/forked; wait'], limits: { nofile: 100 } }
          - name: silent
            program: { command: [sh, -c, 'exec >/dev/null 2>&1; exec sleep 1000'] }
          - name: notifier
            program: { command: [python3, DIR/notifier.py], ready: notify, watchdog: 2s }
          - name: says
            program: { command: [sh, -c, 'echo up; exec sleep 1000'], ready: { log: up } }
          - name: tells
            program: { command: [sh, -c, 'while [ ! -e DIR/write ]; do sleep 0.02; done; echo >&5; exec sleep 1000'], ready: { fd: 5 } }
          - name: server
            program:
              command: [python3, DIR/server.py]
              sockets:
                - { name: main, listen: DIR/main.sock }
          - name: manual
            program: { command: [sleep, '1000'] }
            autostart: false
          - name: code
            program: { command: [sh, -c, 'trap "exit 7" USR1; while :; do sleep 0.02; done'] }
            restart: never
          - name: ends
            program: { command: [sh, -c, '[ -e DIR/end ] && exec sleep 1000; while [ ! -e DIR/end ]; do sleep 0.02; done; exit 3'] }
            restart: on_failure
          - name: once
            program: { command: [sh, -c, 'while [ ! -e DIR/end ]; do sleep 0.02; done'] }
            restart: never
          - name: mortal
            program: { command: [sleep, '1000'], on_daemon_loss: end }
          - name: changed
            program: { command: [sh, -c, 'trap "touch DIR/changed; exit" USR2; while :; do sleep 0.02; done'], stop_signal: USR2 }
          - name: removed
            program: { command: [sh, -c, 'trap "touch DIR/removed; exit" USR2; while :; do sleep 0.02; done'], stop_signal: USR2 }
        supervision: { max_restarts: 100, backoff: { minimum: 1ms, maximum: 10ms } }
        """

    /// The children that go on.
    private static let kept = ["writer", "apart", "forks", "silent", "notifier", "says", "server", "manual", "code"]

    @Test("Each kind goes on, is restarted, replaced or ended as it should; no line is lost, and upgrades and kills take turns")
    func kinds() async throws {
        let directory = try TemporaryDirectory()
        try Files.write(Self.notifier, to: directory.file("notifier.py"))
        _ = try GivenSocketsTests.file(directory)
        let tree = Self.tree.replacing("DIR", with: directory.path)
        try await RunningDaemon.with(tree) { daemon in
            try await daemon.eventually("the tree has started") { try await daemon.node("/code").state == "active" }
            try await daemon.call(.start(path: "/manual"))
            let former = try await daemon.programs("all run") { nodes in
                ["/notifier", "/says"].allSatisfy { nodes[$0]?.state == "active" } && nodes.values.allSatisfy { $0.pid != nil }
            }
            let forked = try #require(await daemon.number(in: directory.file("forked")))
            try await daemon.kill(daemon.process)
            try await daemon.eventually("the one that ends with the daemon is gone") { former["/mortal"]?.isAlive == false }

            // While there is no daemon.
            for name in ["write", "end"] { try Files.write("", to: directory.file(name)) }
            try await daemon.eventually("those that end have ended") { ["/ends", "/once"].allSatisfy { former[$0]?.isAlive == false } }
            try await daemon.eventually("the writer's FIFO is full") { daemon.waitingOutput >= 1_000_000 }
            #expect(!Files.names(in: directory.path).contains("written") && former["/writer"]?.isAlive == true)
            let report = try await daemon.control("doctor", "--programs")
            #expect(report.exitCode == 0 && report.output.contains("run that no daemon has") && report.output.contains("/apart (process"))
            let next = tree.replacing("  - name: removed", with: "  - name: other")
                .replacing("stop_signal: USR2 }\n  - name: other", with: "stop_signal: USR2, environment: { A: b } }\n  - name: other")
            try daemon.rewrite(next)
            var current = try await daemon.startNext()

            // Where init takes its time to reap them, those that have ended are found as zombies, and their codes are known.
            let after = try await daemon.programs("all run again") { nodes in
                // What was ready stays so: it says that only once.
                ["/other", "/changed", "/ends", "/notifier", "/says"].allSatisfy { nodes[$0]?.state == "active" }
                    && nodes["/ends"]?.incarnation == 2
            }
            for key in Self.kept + ["tells"] { #expect(after["/\(key)"]?.identity == former["/\(key)"]?.identity, "\(key)") }
            #expect(ProcessIdentity(processID: forked)?.isAlive == true)
            for path in ["/mortal", "/changed", "/ends"] { #expect(after[path]?.identity != former[path]?.identity, "\(path)") }
            try await daemon.eventually("the one that isn't restarted has ended") {
                let once = try await daemon.node("/once")
                return once.pid == nil && once.lastExit != nil
            }
            try await daemon.eventually("the one that nothing starts is ended in order") {
                former["/removed"]?.isAlive == false && Files.names(in: directory.path).contains("removed")
            }
            #expect(Files.names(in: directory.path).contains("changed"), "it was stopped by its signal")
            try await daemon.eventually("the writer goes on") { Files.names(in: directory.path).contains("written") }
            #expect(try await daemon.control("doctor", "--programs").output.isEmpty)
            try await daemon.eventually("all it has written") { try await daemon.numbers(in: "writer") == Array(1...Self.lines) }
            try await daemon.eventually("both outputs") {
                let log = try await daemon.control("logs", "/apart").output
                return log.contains("apart") && log.contains("error")
            }
            // Its socket is the daemon's too: the next life has it, and no connection is refused.
            let (main, pid) = (directory.file("main.sock"), after["/server"]?.identity.processID ?? 0)
            #expect(try GivenSocketsTests.ask(main) == "\(pid) main 1")
            try await daemon.call(.stop(path: "/server"))
            let waiting = try RawSocket(main)
            try await daemon.call(.start(path: "/server"))
            #expect(String(decoding: try #require(waiting.receiveAll()), as: UTF8.self).hasSuffix(" main 1"))

            // An upgrade keeps those that were adopted, and the next kill those that an upgrade has kept.
            let before = try await daemon.programs("all run") { _ in true }
            #expect(try await daemon.upgrade().kept.contains("/writer"))
            let paths = (Self.kept + ["ends", "changed", "other"]).map { "/\($0)" }
            for round in 1...2 {
                current = try await daemon.killAndReplace(current)
                let nodes = try await daemon.programs("all run") { nodes in paths.allSatisfy { nodes[$0]?.state == "active" } }
                for path in paths { #expect(nodes[path]?.identity == before[path]?.identity, "\(path), \(round)") }
            }
            // What became of one that was adopted: the kernel tells since 6.15.
            try before["/code"]?.identity.send(.user1)
            try await daemon.eventually("its end is noticed") { try await daemon.node("/code").lastExit != nil }
            let end = try await daemon.node("/code").lastExit ?? ""
            #expect(end.contains("code 7") || end.contains("unknown"), "\(end)")
            // The orphans of one that was adopted end with it.
            try before["/forks"]?.identity.send(.kill)
            try await daemon.eventually("they have ended") { ProcessIdentity(processID: forked)?.isAlive != true }
            try await daemon.eventually("it's restarted") { try await daemon.node("/forks").state == "active" }
            try await daemon.endLeavingNothing(current)
        }
        #expect(!directory.entries.contains("main.sock"))
    }

    @Test(
        "A daemon that is process 1 keeps none, and a file that says so is refused where that's known",
        .enabled(if: geteuid() == 0 && access("/usr/bin/unshare", X_OK) == 0, "needs root and unshare(1)")
    )
    func firstProcess() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("tree.yaml")
        for (loss, exitCode) in [("keep", Int32(78)), ("end", 0)] {
            try Files.write("children:\n  - { name: p, program: { command: [sleep, '1'], on_daemon_loss: \(loss) } }\n", to: file)
            let output = Transcript()
            let command = ["--pid", "--fork", "--mount-proc", RunningDaemon.coordinatord.path, "--check-config", file]
            var specification = ProcessSpecification(executable: "/usr/bin/unshare", arguments: command, standardOutput: .null)
            specification.standardError = output.destination
            let check = try await ProcessSpawner.shared.spawn(specification)
            #expect(await check.waitForExit() == .exited(code: exitCode), "\(output.text)")
            #expect(output.text.contains("the daemon is process 1") == (loss == "keep"), "\(output.text)")
        }
        #expect(try await RunningDaemon.coordinatord.run(["--check-config", file]).exitCode == 0)
    }
}

/// A program in the tree of these tests.
private struct RunningProgram {
    let identity: ProcessIdentity
    let incarnation: UInt32
    let state: String
    var isAlive: Bool { identity.isAlive }
}

extension RunningDaemon {
    /// Waits until a condition of the tree's children holds, and returns those that run.
    fileprivate func programs(_ what: String, _ condition: ([String: TreeNode]) -> Bool) async throws -> [String: RunningProgram] {
        var nodes: [String: TreeNode] = [:]
        try await eventually("\(what): \(nodes.values.map { "\($0.path) \($0.state)" })") {
            nodes = Dictionary(try await tree().children.map { ($0.path, $0) }) { first, _ in first }
            return condition(nodes)
        }
        return nodes.compactMapValues { node in
            node.pid.flatMap { ProcessIdentity(processID: $0) }.map {
                RunningProgram(identity: $0, incarnation: node.incarnation, state: node.state)
            }
        }
    }

    fileprivate func number(in file: String) async throws -> Int32? {
        var number: Int32?
        try await eventually("the number in \(file)") {
            number = Files.text(of: file).flatMap { Int32($0.dropLast()) }
            return number != nil
        }
        return number
    }

    /// The most bytes that wait in a FIFO of the runtime directory.
    fileprivate var waitingOutput: Int32 {
        Files.names(in: run).filter { $0.hasSuffix(".out") }.map { name in
            let descriptor = open("\(run)/\(name)", O_RDONLY | O_NONBLOCK | O_CLOEXEC)
            defer { close(descriptor) }
            return SystemCalls.live.available(descriptor)
        }.max() ?? 0
    }

    /// The numbers that the lines of a log end with, before their dots.
    fileprivate func numbers(in log: String) async throws -> [Int] {
        (Files.text(of: "\(run)/logs/\(log).log") ?? "").split(separator: "\n").compactMap { line in
            line.split(separator: " ").last.flatMap { Int($0.prefix(while: \.isNumber)) }
        }
    }
}
