import Control
import Glibc
import Processes
import TestSupport
import Testing

@Suite("Programs that run at times", .serialized, .timeLimit(.minutes(3)))
struct ScheduleRunTests {
    private static let day = 86_400

    /// A daemon whose time of day a test sets, and programs that run at three o'clock of it.
    private struct Night {
        let daemon: RunningDaemon
        let clocks: SteppedClocks
        let directory: TemporaryDirectory
        /// The steps that bring the clock to three o'clock of the first day.
        let first: Int

        /// Sets the clock to some seconds after three o'clock of a day.
        func set(_ day: Int, _ seconds: Int) throws { try clocks.step(CLOCK_REALTIME, by: first + day * ScheduleRunTests.day + seconds) }

        /// Returns how often a program has begun to run.
        func runs(of name: String) -> Int { (Files.text(of: directory.file("\(name).runs")) ?? "").utf8.count }

        func holds(_ isHeld: Bool) throws {
            if isHeld { try Files.write("", to: directory.file("hold")) } else { unlink(directory.file("hold")) }
        }

        func eventually(_ name: String, hasRun count: Int, sourceLocation: SourceLocation = #_sourceLocation) async throws {
            try await daemon.eventually("\(name) has run \(count) times", sourceLocation: sourceLocation) { runs(of: name) == count }
        }

        func missed(_ path: String) async throws -> [String] {
            try await daemon.control("events", "--path", path, "--json").output.split(separator: "\n")
                .compactMap { try? ControlJSON.decode(ControlEvent.self, from: try ControlJSON.parse(Array($0.utf8))) }
                .filter { $0.kind == .missed }.compactMap(\.reason)
        }
    }

    private static func child(_ name: String, _ schedule: String, _ child: String = "", kind: String = "program") -> String {
        """
          - name: \(name)
            \(kind): { command: [sh, -c, 'printf . >>DIR/\(name).runs; while [ -e DIR/hold ]; do sleep 0.02; done'] }
            schedule: { cron: "0 3 * * *", time_zone: UTC\(schedule) }
            \(child)

        """
    }

    @Test(
        "A program runs at its times by the clock of the day, however it's set; what's missed is told, or made up for",
        .enabled(if: SteppedClocks.canBeBuilt, "needs a C compiler")
    )
    func night() async throws {
        let (clocks, directory) = (try await SteppedClocks(), try TemporaryDirectory())
        let text =
            "children:\n" + Self.child("skip", "") + Self.child("queue", ", overlap: queue") + Self.child("again", ", missed: run")
            + Self.child("once", ", overlap: restart, missed: run", kind: "oneshot") + "  - name: group\n    children:\n"
            + Self.child("restart", ", overlap: restart", "stop_timeout: 20s").split(separator: "\n").map { "    \($0)\n" }.joined()
        let now = time(nil)
        let first = (now / Self.day + 1) * Self.day + 3 * 3600 - now
        try clocks.step(CLOCK_REALTIME, by: first - 3600 * 2 - 30)
        let wrapper = clocks.wrapper.joined(separator: " ")
        try await RunningDaemon.with(text.replacing("DIR", with: directory.path), wrapper: wrapper) { daemon in
            let night = Night(daemon: daemon, clocks: clocks, directory: directory, first: first)
            let names = ["skip", "queue", "again", "restart"]
            try await daemon.eventually("the next run is shown") {
                try await daemon.control("tree").output.contains("inactive, next run in 2h")
            }
            #expect(try await daemon.node("/group/restart").nextStartMilliseconds ?? 0 > 7_000_000)
            for name in names { #expect(night.runs(of: name) == 0) }

            try night.holds(true)
            try night.set(0, 1)
            for name in names { try await night.eventually(name, hasRun: 1) }
            #expect(try await daemon.control("tree").output.contains("active, next run in 23h59m"))

            // The next day the former runs still go on.
            try night.set(1, 1)
            try await night.eventually("restart", hasRun: 2)
            try await daemon.eventually("the run is skipped") { try await night.missed("/skip").count == 1 }
            #expect(try await night.missed("/skip").first?.hasSuffix("T03:00:00Z: the former run still goes on") == true)
            #expect(try await night.missed("/queue").isEmpty)
            try night.holds(false)
            try await night.eventually("queue", hasRun: 2)
            for name in ["skip", "again", "queue", "group/restart"] {
                try await daemon.eventually("\(name) has ended") { try await daemon.node("/\(name)").state == "inactive" }
            }

            // The clock leaves out the third time.
            try night.set(2, 7_200)
            try await night.eventually("again", hasRun: 2)
            for path in ["/skip", "/again", "/queue", "/group/restart"] {
                try await daemon.eventually("the run of \(path) was missed") {
                    try await night.missed(path).last?.contains("the machine slept, or its clock was set") == true
                }
            }
            #expect(try await night.missed("/again").last?.hasSuffix("; one run makes up for it") == true)

            // What runs at an upgrade goes on, and the next daemon knows the times.
            try night.holds(true)
            try night.set(3, 1)
            try await night.eventually("skip", hasRun: 2)
            try await daemon.eventually("all run") {
                for name in names where night.runs(of: name) != 3 && name != "skip" { return false }
                return true
            }
            // The run writes its line before the daemon knows its number.
            try await daemon.eventually("it runs for the daemon too") { try await daemon.node("/skip").pid != nil }
            let before = try await daemon.node("/skip")
            _ = try await daemon.upgrade()
            try await daemon.eventually("it's known") { try await daemon.node("/skip").state == "active" }
            let after = try await daemon.node("/skip")
            let events = try await daemon.control("events", "--path", "/skip").output
            #expect(after.pid == before.pid, "\(before) became \(after): \(events)")
            // Another time of the file holds at once.
            try daemon.rewrite(text.replacing("DIR", with: directory.path).replacing("0 3 * * *", with: "0 4 * * *"))
            #expect(try await daemon.control("config", "apply").exitCode == 0)
            #expect(try await daemon.node("/skip").pid == before.pid)
            #expect(try await daemon.control("tree").output.contains("active, next run in 59m"))
            try night.holds(false)
            for name in ["skip", "again", "queue", "group/restart"] {
                try await daemon.eventually("\(name) has ended") { try await daemon.node("/\(name)").state == "inactive" }
            }
            try night.set(3, 3_601)
            for (name, count) in zip(names, [3, 4, 4, 4]) { try await night.eventually(name, hasRun: count) }
            try await night.eventually("once", hasRun: 5)
            for name in names + ["once"] {
                let path = name == "restart" ? "/group/restart" : "/\(name)"
                try await daemon.eventually("\(path) has ended") { try await daemon.node(path).state == "inactive" }
            }

            // Two times pass while no daemon runs: it's told, and made up for where the file says so.
            try await daemon.kill(daemon.process)
            try night.set(5, 7_200)
            _ = try await daemon.startNext(wrapper: wrapper)
            for (name, count) in [("again", 5), ("once", 6)] { try await night.eventually(name, hasRun: count) }
            for path in ["/skip", "/again", "/once", "/queue", "/group/restart"] {
                try await daemon.eventually("the runs of \(path) were missed") {
                    try await night.missed(path).last?.hasPrefix("2 runs since ") == true
                }
                let remedy = ["/again", "/once"].contains(path) ? "; one run makes up for it" : ""
                #expect(try await night.missed(path).last?.hasSuffix(": no daemon ran\(remedy)") == true)
            }
            for (name, count) in zip(names, [3, 4, 5, 4]) { #expect(night.runs(of: name) == count, "\(name)") }
        }
    }

    /// What a run that waits outlives.
    private enum Change: CaseIterable {
        case upgrade, settings, kill, end
    }

    @Test(
        "A run that waits for the end of the former one outlives an upgrade, a change of its settings, and a kill or an end of the daemon",
        .enabled(if: SteppedClocks.canBeBuilt, "needs a C compiler")
    )
    func queued() async throws {
        let (clocks, directory) = (try await SteppedClocks(), try TemporaryDirectory())
        let text = ("children:\n" + Self.child("queue", ", overlap: queue")).replacing("DIR", with: directory.path)
        let threeOClock = (time(nil) / Self.day + 1) * Self.day + 3 * 3600
        /// Sets the clock to a second after three o'clock of a day.
        func set(_ day: Int) throws { try clocks.step(CLOCK_REALTIME, by: threeOClock + day * Self.day + 1 - time(nil)) }
        try clocks.step(CLOCK_REALTIME, by: threeOClock - 3600 - time(nil))
        let wrapper = clocks.wrapper.joined(separator: " ")
        try await RunningDaemon.with(text, wrapper: wrapper) { daemon in
            let night = Night(daemon: daemon, clocks: clocks, directory: directory, first: 0)
            try await daemon.eventually("the next run is shown") { try await daemon.node("/queue").nextStartMilliseconds != nil }
            var (current, runs) = (daemon.process, 0)
            let standing = "\(daemon.run)/children.json"
            for (index, change) in Change.allCases.enumerated() {
                if change == .kill {
                    try await daemon.eventually("it's written down that the child rests") {
                        Files.text(of: standing)?.contains("queue") == true
                    }
                }
                let atRest = Files.text(of: standing)
                try night.holds(true)
                try set(2 * index)
                runs += 1
                try await night.eventually("queue", hasRun: runs)
                try set(2 * index + 1)
                try await daemon.eventually("the next run waits, and it's noted") {
                    Files.text(of: "\(daemon.run)/schedules")?.contains("queued\t/queue\n") == true
                }
                let former = try await daemon.node("/queue").pid
                let runsBefore = night.runs(of: "queue")
                switch change {
                case .upgrade: _ = try await daemon.upgrade()
                case .settings:
                    try daemon.rewrite(text.replacing("time_zone: UTC", with: "time_zone: UTC, missed: run"))
                    #expect(try await daemon.control("config", "apply").exitCode == 0)
                case .kill:
                    try await daemon.kill(current)
                    // The kill may come before the file says that the child no longer rests.
                    try Files.write(try #require(atRest), to: standing)
                    current = try await daemon.startNext(wrapper: wrapper)
                case .end:
                    _ = await current.terminate(grace: .patient(.seconds(20)))
                    current = try await daemon.startNext(wrapper: wrapper)
                }
                // With the daemon's end the present run ends too.
                if change != .end {
                    try await daemon.eventually("the present run goes on") { try await daemon.node("/queue").state == "active" }
                    let events = try await daemon.control("events", "--path", "/queue").output
                    let present = try await daemon.node("/queue")
                    #expect(
                        night.runs(of: "queue") == runs,
                        "\(change), \(runsBefore) runs before, pid \(former ?? 0) became \(present.pid ?? 0):\n\(events)"
                    )
                }
                try night.holds(false)
                runs += 1
                try await night.eventually("queue", hasRun: runs)
                try await daemon.eventually("the run that has waited has ended, after \(change)") {
                    try await daemon.node("/queue").state == "inactive"
                }
            }
        }
    }
}
