import Control
import Glibc
import Processes
import TestSupport
import Testing

@Suite("What the daemon writes", .timeLimit(minutes: 3))
struct OutputTests {
    static let noisy = """
        children:
          - name: noisy
            program: { command: [sh, -c, "while :; do echo $(seq 1 2000); done"] }
          - name: flapping
            program: { command: [sh, -c, "exit 1"] }
          - name: sleeper
            program: { command: [sleep, "1000"] }
        supervision: { max_restarts: 100000, period: 1s, backoff: { minimum: 1ms, maximum: 10ms } }
        """

    @Test("A standard error that no process reads blocks neither supervision nor operators nor the shutdown")
    func blocked() async throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { for end in ends { close(end) } }
        try await RunningDaemon.with(Self.noisy, standardError: .descriptor(ends[1])) { daemon in
            try await daemon.eventually("the pipe is full") {
                var state = pollfd(fd: ends[1], events: Int16(POLLOUT), revents: 0)
                return poll(&state, 1, 0) == 0
            }
            // And the daemon's own log has run over too.
            try await daemon.eventually("many lives") { try await daemon.node("/flapping").incarnation > 100 }
            kill(try await daemon.runningPID(of: "/sleeper"), SIGKILL)
            try await daemon.eventually("it's back") {
                let sleeper = try await daemon.node("/sleeper")
                return sleeper.incarnation == 2 && sleeper.state == "active"
            }
            #expect(try await daemon.control("restart", "/sleeper").exitCode == 0)
            #expect(try await daemon.control("stop", "/flapping").exitCode == 0)
            let children = try await daemon.processes()
            try daemon.process.send(.terminate)
            #expect(await daemon.process.waitForExit() == .exited(code: 0))
            #expect(children.filter(\.isAlive).isEmpty)
        }
    }

    @Test("A child's unended last line is written, and isn't joined to the first line of its next life")
    func lastLine() async throws {
        let tree = """
            children:
              - name: brief
                program: { command: [sh, -c, "printf 'fatal: x' >&2; exit 1"] }
            supervision: { max_restarts: 1000, period: 1s, backoff: { minimum: 100ms, maximum: 100ms } }
            """
        let log = Transcript()
        try await RunningDaemon.with(tree, standardError: log.destination) { daemon in
            try await daemon.eventually("two lives have written") {
                log.text.split(separator: "\n").count { $0 == "[/brief] fatal: x" } >= 2
            }
            #expect(!log.text.contains("fatal: xfatal: x"))
        }
    }

    @Test("The log has each request with its requester, and an end with code 0")
    func audit() async throws {
        let tree = """
            children:
              - name: sleeper
                program: { command: [sleep, "1000"] }
              - name: brief
                program: { command: ["true"] }
                restart: on_failure
            """
        let log = Transcript()
        try await RunningDaemon.with(tree, standardError: log.destination) { daemon in
            try await daemon.eventually("it's there") { try await daemon.node("/sleeper").state == "active" }
            #expect(try await daemon.control("restart", "/sleeper").exitCode == 0)
            try await daemon.eventually("it's logged") {
                log.text.contains("coordinator.path=/sleeper operation=restart operator.command=")
                    && log.text.contains("operator.uid=\(geteuid())") && log.text.contains("request.id=")
            }
            try await daemon.eventually("its outcome is logged") {
                log.text.split(separator: "\n").contains { $0.contains("request has ended") && $0.contains("outcome=ok") }
            }
            try await daemon.eventually("the end is logged") { log.text.contains("/brief stopped: exited with code 0") }
        }
    }
}
