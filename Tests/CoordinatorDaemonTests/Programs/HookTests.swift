import ConcurrencySupport
import Control
import Glibc
import Processes
import TestSupport
import Testing

@Suite("The hooks of a program", .timeLimit(minutes: 3))
struct HookTests {
    /// A hook that notes what it finds.
    private static let note = """
        echo "$COORDINATOR_HOOK $COORDINATOR_PATH $COORDINATOR_LIFE $OWN $(pwd) ${COORDINATOR_EXIT_CODE-} ${COORDINATOR_EXIT_SIGNAL-} \
        ${COORDINATOR_REASON-}" >>DIR/notes
        echo "said by $COORDINATOR_HOOK"

        """

    @Test("Each hook runs at its moment, as the program does, and finds what has happened")
    func moments() async throws {
        let keys = """
            hooks:
              before_start: [sh, -c, ". DIR/note"]
              after_end: [sh, -c, ". DIR/note"]
              stop: [sh, -c, ". DIR/note; kill -INT $COORDINATOR_PID"]
              reload: { command: [sh, -c, ". DIR/note; test -e DIR/ok"], timeout: 20s }
            environment: { OWN: own }
            directory: DIR
            """
        let tree = try ProgramTree("exec sleep 1000", keys)
        let place = tree.directory.path
        try Files.write(Self.note.replacing("DIR", with: place), to: tree.directory.file("note"), mode: 0o644)
        try await tree.run { daemon in
            try await daemon.program("its first life") { $0.state == "active" }
            #expect(try await daemon.control("signal", "/p", "KILL").exitCode == 0)
            try await daemon.program("its second life") { $0.state == "active" && $0.incarnation == 2 }
            let refused = try await daemon.control("reload", "/p")
            #expect(refused.exitCode == 1)
            #expect(refused.errors.contains("/p could not be reloaded: sh exited with code 1; look at its log"), "\(refused.errors)")
            try tree.touch("ok")
            #expect(try await daemon.control("reload", "/p").output == "/p: active (pid \(try await daemon.node("/p").pid ?? 0), life 2)\n")
            #expect(try await daemon.control("stop", "/p").exitCode == 0)
            #expect(try await daemon.control("reload", "/p").exitCode == 3)
            let said = try await daemon.control("logs", "/p").output
            for moment in ["before_start", "after_end", "stop", "reload"] { #expect(said.contains("said by \(moment)"), "\(said)") }
            let status = try await daemon.control("status", "/p", "--json").output
            #expect(!status.contains("status_text"), "\(status)")
        }
        let notes = (Files.text(of: tree.directory.file("notes")) ?? "").split(separator: "\n")
            .map { $0.split(separator: " ").joined(separator: " ") }
        #expect(
            notes == [
                "before_start /p 1 own \(place)", "after_end /p 1 own \(place) 9 killed by signal 9 from outside",
                "before_start /p 2 own \(place)", "reload /p 2 own \(place)", "reload /p 2 own \(place)", "stop /p 2 own \(place)",
                "after_end /p 2 own \(place) 2 shutdown",
            ]
        )
    }

    @Test("The hook after an end runs for a program that has ended while no daemon ran too, before its next life")
    func endedMeanwhile() async throws {
        let keys = """
            hooks:
              before_start: [sh, -c, 'echo "before $COORDINATOR_LIFE" >>DIR/notes']
              after_end: [sh, -c, 'echo "after $COORDINATOR_LIFE" >>DIR/notes']
            """
        let tree = try ProgramTree("[ -e DIR/end ] && exec sleep 1000; while [ ! -e DIR/end ]; do sleep 0.02; done", keys)
        try await tree.run { daemon in
            let node = try await daemon.program("its first life") { $0.state == "active" && $0.pid != nil }
            let number = try #require(node.pid)
            let process = try #require(ProcessIdentity(processID: number))
            try await daemon.kill(daemon.process)
            try tree.touch("end")
            try await daemon.eventually("it has ended") { !process.isAlive }
            _ = try await daemon.startNext()
            try await daemon.program("its second life") { $0.state == "active" && $0.incarnation == 2 }
        }
        let notes = Files.text(of: tree.directory.file("notes")) ?? ""
        #expect(notes.hasPrefix("before 1\nafter 1\nbefore 2\n"), "\(notes)")
    }

    @Test("What runs once has hooks too: what waits for it waits for them, and one that fails is told")
    func oneshot() async throws {
        let directory = try TemporaryDirectory()
        let note = { (name: String) in "[sh, -c, 'echo \(name) >> DIR/notes']" }
        let tree = """
            children:
              - name: once
                oneshot:
                  command: \(note("runs"))
                  hooks: { before_start: \(note("before")), after_end: [sh, -c, 'sleep 0.3; echo after >> DIR/notes'] }
              - { name: waits, program: { command: [sh, -c, 'echo waited >> DIR/notes; exec sleep 1000'] }, requires: [once] }
              - { name: bad, oneshot: { command: ["false"], hooks: { on_give_up: [sh, -c, 'echo $COORDINATOR_EXIT_CODE >> DIR/code'] } } }
              - { name: held, oneshot: { command: [touch, DIR/held], hooks: { before_start: ["false"] } } }
              - { name: stops, oneshot: { command: [sleep, '1000'], hooks: { stop: [sh, -c, 'touch DIR/asked; kill $COORDINATOR_PID'] } } }
            """
        try await RunningDaemon.with(tree.replacing("DIR", with: directory.path)) { daemon in
            func notes() -> String? { Files.text(of: directory.file("notes")) }
            try await daemon.eventually("the one that waits runs") { notes()?.hasSuffix("waited\n") == true }
            #expect(notes() == "before\nruns\nafter\nwaited\n")
            try await daemon.eventually("the end is told") { Files.text(of: directory.file("code")) == "1\n" }
            try await daemon.eventually("it has failed") { try await daemon.node("/held").state == "failed" }
            try await daemon.eventually("it runs") { try await daemon.node("/stops").pid != nil }
            #expect(try await daemon.control("stop", "/stops").exitCode == 0)
            #expect(Files.names(in: directory.path).contains("asked") && !Files.names(in: directory.path).contains("held"))
        }
    }

    @Test("A start whose hook fails has failed, and the program that is given up has its last hook, which finds the reason")
    func failures() async throws {
        let keys = """
            hooks:
              before_start: [sh, -c, "exit 4"]
              after_end: [touch, DIR/never]
              on_give_up: [sh, -c, 'echo "$COORDINATOR_REASON" >DIR/part; mv DIR/part DIR/reason']
            """
        let tree = try ProgramTree("touch DIR/never", keys, intensity: 1)
        try await tree.run { daemon in
            let node = try await daemon.program("it's given up") { $0.state == "failed" }
            #expect(node.incarnation == 2)
            try await daemon.eventually("the hook has run") { Files.text(of: tree.directory.file("reason")) != nil }
            #expect(Files.text(of: tree.directory.file("reason"))?.contains("before_start: sh exited with code 4") == true)
        }
        #expect(!Files.names(in: tree.directory.path).contains("never"))
    }

    @Test("Hooks that hang hold up nothing but their own programs; a stop, the end of their time and the daemon's end leave none of them")
    func hanging() async throws {
        let directory = try TemporaryDirectory()
        let hang = "sleep 1000 & touch DIR/$COORDINATOR_HOOK$(basename $COORDINATOR_PATH); wait"
        func child(_ key: String, _ hooks: String, _ command: String = "exec sleep 1000", shutdown: String = "10s") -> String {
            """
              - name: \(key)
                stop_timeout: \(shutdown)
                program:
                  command: [sh, -c, '\(command)']
                  environment: { HUNG: DIR }
                  hooks: { \(hooks) }

            """
        }
        let hung = "[sh, -c, '\(hang)']"
        let text =
            "children:\n" + child("starts", "before_start: { command: \(hung), timeout: 10m }")
            + child("ends", "after_end: { command: \(hung), timeout: 10m }", "exit 3", shutdown: "100ms")
            + child("late", "after_end: { command: \(hung), timeout: 100ms }", "echo >>DIR/lives; exit 3")
            + child("deaf", "stop: { command: \(hung), timeout: 1s }", "trap \"touch DIR/asked; exit\" TERM; while :; do sleep 0.01; done")
            + child("failing", "stop: [\"false\"]", "trap \"touch DIR/signalled; exit\" TERM; while :; do sleep 0.01; done")
            + child(
                "idle",
                "stop: { command: [\"true\"], timeout: 50ms }",
                "trap \"touch DIR/left; exit\" TERM; while :; do sleep 0.01; done"
            )
            + child("stubborn", "stop: [\"true\"]", "trap : TERM; while :; do sleep 0.01; done", shutdown: "1s")
            + child("plain", "reload: HUP", "trap \"touch DIR/reloaded\" HUP; while :; do sleep 0.01; done")
            + child("kept", "reload: { command: \(hung), timeout: 10m }")
            + "supervision: { max_restarts: 100, period: 60s, backoff: { minimum: 1ms, maximum: 10ms } }\n"
        func has(_ name: String) -> Bool { Files.names(in: directory.path).contains(name) }
        try await RunningDaemon.with(text.replacing("DIR", with: directory.path)) { daemon in
            for name in ["before_startstarts", "after_endends", "after_endlate"] { try await daemon.eventually(name) { has(name) } }
            #expect(try await daemon.node("/starts").statusText == "runs before_start")
            #expect(try await daemon.node("/ends").statusText == "runs after_end")
            try await daemon.eventually("a life after the time of the hook") {
                (Files.text(of: directory.file("lives")) ?? "").utf8.count > 2
            }
            // The others are supervised as ever.
            #expect(try await daemon.control("signal", "/plain", "KILL").exitCode == 0)
            try await daemon.eventually("the next life") { try await daemon.node("/plain").incarnation == 2 }
            try await daemon.eventually("the signal of the reload") {
                _ = try await daemon.control("reload", "/plain")
                return has("reloaded")
            }
            #expect(try await daemon.control("reload", "/ends").exitCode == 64)
            // A reload ends with its program, and a program doesn't wait for it.
            async let reload = daemon.control("reload", "/kept")
            try await daemon.eventually("the reload has begun") { has("reloadkept") }
            let began = MachineClock.Instant.now
            let stopped = try await daemon.control("stop", "/starts", "/ends", "/deaf", "/failing", "/idle", "/stubborn", "/kept")
            #expect(stopped.exitCode == 0, "\(stopped.errors)")
            #expect(MachineClock.Instant.now - began < .seconds(8))
            // The hook's time is a part of the stop's.
            #expect(try await daemon.node("/stubborn").lastExit == "not stopped within 1s, killed")
            #expect(try await reload.errors.contains("/kept could not be reloaded: was cancelled"))
            for name in ["stopdeaf", "asked", "signalled", "left"] { #expect(has(name), "\(name)") }
            #expect(try await daemon.node("/starts").state == "inactive")
            // One hangs at the end of the daemon.
            async let start = daemon.control("start", "/starts")
            try await daemon.eventually("the hook hangs again") { try await daemon.node("/starts").statusText == "runs before_start" }
            try daemon.process.send(.terminate)
            #expect(await daemon.process.waitForExit() == .exited(code: 0))
            #expect(try await start.exitCode != 0)
        }
        let mark = "HUNG=\(directory.path)"
        let left = Files.numbers(in: "/proc").filter { Files.text(of: "/proc/\($0)/environ")?.contains(mark) == true }
        #expect(left.isEmpty)
    }
}
