import Control
import Glibc
import Processes
import TestSupport
import Testing

@Suite("Signals to the daemon", .timeLimit(minutes: 5))
struct SignalTests {
    static let tree = """
        children:
          - name: forks
            program: { command: [sh, -c, "sleep 1000 & wait"] }
          - name: sleeper
            program: { command: [sleep, "1000"] }
        """
    /// A child that ignores requests to end and has unlimited time.
    static let stubborn = """
        children:
          - name: stubborn
            program: { command: [sh, -c, "trap '' TERM; while :; do sleep 0.1; done"] }
            stop_timeout: infinity
        """

    @Test(
        "No signal that can be caught ends the daemon before its children",
        arguments: [
            SIGTERM, SIGINT, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGSTKFLT, SIGXCPU, SIGXFSZ, SIGSEGV, SIGBUS, SIGFPE, SIGILL,
            SIGABRT, SIGTRAP, SIGSYS,
        ]
    )
    func ends(_ signal: Int32) async throws {
        let log = Transcript()
        try await RunningDaemon.with(Self.tree, standardError: log.destination) { daemon in
            let children = try await daemon.children(2)
            try daemon.process.send(Signal(rawValue: signal))
            #expect(await daemon.process.waitForExit() == .exited(code: 0))
            #expect(children.filter(\.isAlive).isEmpty)
            #expect(daemon.sockets.isEmpty)
            try await daemon.eventually("who has sent it is logged") {
                log.text.contains("signal=\(Signal(rawValue: signal))") && log.text.contains("sender.pid=\(getpid())")
            }
        }
    }

    @Test(
        "What means something else is logged, and the tree runs on",
        arguments: [
            (SIGHUP, "the configuration was applied"), (SIGUSR1, "the children's log files are opened anew"),
            (SIGQUIT, "coordinator.path=/sleeper incarnation=1"), (SIGUSR2, "means nothing here was ignored"),
            (Int32(40), "means nothing here was ignored"),
        ]
    )
    func remains(_ signal: Int32, _ text: String) async throws {
        let log = Transcript()
        try await RunningDaemon.with(Self.tree, standardError: log.destination) { daemon in
            let children = try await daemon.children(2)
            try daemon.process.send(Signal(rawValue: signal))
            try await daemon.eventually("it's logged") { log.text.contains(text) }
            #expect(try await daemon.processes() == children)
            #expect(children.filter(\.isAlive) == children)
        }
    }

    @Test("SIGHUP logs every problem of a file that has become bad")
    func badFile() async throws {
        let log = Transcript()
        try await RunningDaemon.with(Self.tree, standardError: log.destination) { daemon in
            try Files.write("children:\n  - name: a/b\n    worker: { executable: x }\n", to: "\(daemon.directory)/tree.yaml")
            try daemon.process.send(.hangup)
            try await daemon.eventually("it's logged") { log.text.contains("tree.yaml:2:11: ") && log.text.contains("nothing was applied") }
            #expect(try await daemon.children(2).count == 2)
        }
    }

    @Test("SIGHUP applies the file: what has changed follows, and the rest keeps its processes")
    func applied() async throws {
        let log = Transcript()
        try await RunningDaemon.with(Self.tree, standardError: log.destination) { daemon in
            _ = try await daemon.children(2)
            let pids = try await daemon.pids()
            try daemon.rewrite(Self.tree.replacing("sleeper", with: "sleepier"))
            try daemon.process.send(.hangup)
            try await daemon.eventually("it's applied") { log.text.contains("the configuration was applied") }
            #expect(try await daemon.tree().children.map(\.key) == ["forks", "sleepier"])
            #expect(try await daemon.pids()["/forks"] == pids["/forks"])
            try await daemon.eventually("it's logged") { log.text.contains("change=added") && log.text.contains("change=removed") }
        }
    }

    @Test("A second SIGTERM gives the processes that still run one second")
    func second() async throws {
        try await RunningDaemon.with(Self.stubborn) { daemon in
            let children = try await daemon.children(1)
            try daemon.process.send(.terminate)
            try await daemon.eventually("it's stopping") { try await daemon.tree().state == "stopping" }
            #expect(children.filter(\.isAlive) == children)
            try daemon.process.send(.interrupt)
            #expect(await daemon.process.waitForExit() == .exited(code: 0))
            #expect(children.filter(\.isAlive).isEmpty)
        }
    }

    @Test("A third SIGTERM kills the processes that still run, also when all three come at once")
    func third() async throws {
        let log = Transcript()
        try await RunningDaemon.with(Self.stubborn, standardError: log.destination) { daemon in
            let children = try await daemon.children(1)
            let start = MachineClock.now
            // Signals of one number that wait are one.
            for signal in [Signal.terminate, .interrupt, Signal(rawValue: SIGALRM)] { try daemon.process.send(signal) }
            #expect(await daemon.process.waitForExit() == .exited(code: 0))
            #expect(MachineClock.now - start < .seconds(10))
            #expect(children.filter(\.isAlive).isEmpty)
            try await eventually("the last lines are read") { log.ends > 0 }
            #expect(log.text.contains("a third signal asks for the end"))
            #expect(log.text.contains("stopped"))
        }
    }
}

extension RunningDaemon {
    /// Returns the processes of the tree when all have begun.
    func children(_ count: Int) async throws -> [ProcessIdentity] {
        try await eventually("all run") { try await tree().children.count { $0.state == "active" } == count }
        return try await processes()
    }
}
