import Control
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

/// A real daemon that runs out of something: it stays, answers, doesn't spin, and recovers.
@Suite("A daemon that runs out of what it needs", .timeLimit(minutes: 5))
struct ExhaustionTests {
    static let tree = """
        children:
          - name: app
            worker: { executable: FIXTURE, coordinator: RootCoordinator, configuration: { children: [a, b], placement: worker } }
          - name: sleeper
            program: { command: [sleep, "1000"] }
        supervision: { max_restarts: 100000, period: 1s, backoff: { minimum: 50ms, maximum: 500ms } }
        """

    /// The part of a processor that a daemon may take which can do nothing.
    private static let idleLoad = 0.05

    @Test("Descriptors: with any number left, operators are answered and nothing spins; with all back, everything is")
    func descriptors() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            try await daemon.everythingActive()
            let processID = daemon.process.identity.processID
            let before = Usage(processID)
            // Eight are never used for operators, one is the operator's; when this round begins, the children may have none of theirs.
            for room in stride(from: 40, through: 12, by: -4) {
                try await Self.limit("--nofile=\(Usage(processID).descriptors + room):", of: processID)
                // A worker that the last round killed may have left a socket at which nothing listens any more.
                let crowds = daemon.sockets.compactMap { try? Crowd(at: "\(daemon.directory)/run/\($0)", count: 60) }
                #expect(!crowds.isEmpty)
                for path in ["/sleeper", "/app"] { if let pid = try await daemon.node(path).pid { kill(pid, SIGKILL) } }
                _ = try await daemon.tree()
                #expect(daemon.process.identity.isAlive, "with \(room) descriptors left")
                for crowd in crowds { crowd.leave() }
            }
            let crowd = try Crowd(at: "\(daemon.directory)/run/control.sock", count: 60, greets: true)
            try await Usage.expectLoad(below: Self.idleLoad, of: processID)
            crowd.leave()
            try await Self.limit("--nofile=4096:", of: processID)
            try await daemon.everythingActive()
            #expect(daemon.process.identity.isAlive)
            try await daemon.eventually("the descriptors are back") { Usage(processID).descriptors <= before.descriptors }
        }
    }

    @Test(
        "Descriptors: with none left, and with fewer than are open, a daemon lives in which tasks wait for threads",
        .disabled(if: Sanitizer.isOn, "what Dispatch asks of the C library, which ends the process, is answered only without one")
    )
    func busyWithoutDescriptors() async throws {
        let log = Transcript()
        // On one processor its tasks have one thread, for which they wait.
        try await RunningDaemon.with(Self.tree, standardError: log.destination, wrapper: Self.oneProcessor) { daemon in
            try await daemon.everythingActive()
            let processID = daemon.process.identity.processID
            let directory = RuntimeDirectory(path: "\(daemon.directory)/run")
            var clients: [ControlClient] = []
            for _ in 0..<8 { clients.append(try await ControlClient.connect(runtimeDirectory: directory)) }
            /// Has tasks wait for threads, and expects the daemon to live.
            func expectLife(within limit: String) async throws {
                try await Self.limit("--nofile=\(limit)", of: processID)
                // Dispatch looks at its threads each second.
                let end = ContinuousClock.now + .seconds(2.5)
                let answers = await withTaskGroup(of: Int.self) { group in
                    for client in clients {
                        for _ in 0..<8 {
                            group.addTask {
                                var count = 0
                                while .now < end, (try? await client.call(.tree)) != nil { count += 1 }
                                return count
                            }
                        }
                    }
                    return await group.reduce(0, +)
                }
                #expect(answers > 64)
                try #require(daemon.process.identity.isAlive, "with a limit of \(limit): \(log.text.suffix(2_000))")
            }
            try await expectLife(within: "\(Usage(processID).descriptors):")
            try await expectLife(within: "8:")
            try await Self.limit("--nofile=4096:", of: processID)
            try await daemon.everythingActive()
            // A hard limit, which the daemon can't raise again unless it's privileged.
            try await expectLife(within: "8:8")
            for client in clients { client.close() }
        }
    }

    /// A wrapper that gives the daemon one of the processors.
    private static let oneProcessor = "taskset -c \"$(grep Cpus_allowed_list /proc/self/status | grep -o '[0-9]*' | head -n 1)\""

    @Test(
        "Processes: with room for any number of threads, operators are answered; with more, everything lives again",
        .enabled(if: geteuid() == 0, "only root can run a daemon as another user, whose processes the kernel counts")
    )
    func processes() async throws {
        // A user of its own for each run of the test: the kernel counts all processes of a user.
        let user = 50_000 + Int(getpid()) % 10_000
        let program = BuiltProgram("FixtureWorker").path
        let reach = ProcessSpecification(executable: "/usr/bin/setpriv", arguments: Self.identity(user) + ["/usr/bin/test", "-x", program])
        guard try await withChild(reach, { await $0.waitForExit() }) == .exited(code: 0) else {
            return print("skipped: other users can't reach \(program)")
        }
        let identity = Self.identity(user).joined(separator: " ")
        let wrapper = "sh -c 'chown -R \(user) DIRECTORY && exec setpriv \(identity) \"$@\"' sh"
        try await RunningDaemon.with("\(Self.tree)\noperators: { group: 0 }", wrapper: wrapper) { daemon in
            try await daemon.everythingActive()
            let processID = daemon.process.identity.processID
            let limits = Files.text(of: "/proc/\(processID)/limits")?.split(separator: "\n").first { $0.hasPrefix("Max processes") }
            let most = try #require(limits?.split(separator: " ").dropFirst(3).first)
            let ownThreads = Files.numbers(in: "/proc/\(processID)/task").count
            for room in stride(from: 0, through: 66, by: 6) {
                // Without room there is none for a thread that ends meanwhile either: each start fails.
                try await Self.limit("--nproc=\(room == 0 ? 1 : ownThreads + room):", of: processID, as: user)
                for path in ["/sleeper", "/app"] { if let pid = try await daemon.node(path).pid { kill(pid, SIGKILL) } }
                try await daemon.eventually("they have ended") { try await daemon.node("/app").state != "active" }
                for _ in 0..<10 { _ = try await daemon.tree() }
                try await daemon.eventually("the next start has failed, if none can succeed") {
                    let reason = try await daemon.node("/app").lastExit ?? ""
                    return room > 0 || reason.contains("EAGAIN")
                }
                #expect(daemon.process.identity.isAlive, "with room for \(room) threads")
            }
            try await Usage.expectLoad(below: 0.2, of: processID)
            try await Self.limit("--nproc=\(most):", of: processID, as: user)
            try await daemon.everythingActive()
        }
    }

    /// The arguments of setpriv(1) for a user that is a member of root's group alone.
    private static func identity(_ user: Int) -> [String] { ["--reuid=\(user)", "--regid=0", "--clear-groups"] }

    @Test(
        "Memory: a daemon that gets none either lives and answers, or ends alone, and the next daemon adopts its workers",
        .disabled(if: Sanitizer.isOn, "the sanitizers take terabytes of addresses")
    )
    func memory() async throws {
        try await RunningDaemon.with("\(Self.tree)\norphan_grace: 60s") { daemon in
            try await daemon.everythingActive()
            let workers = try await Self.workers(daemon)
            let processID = daemon.process.identity.processID
            let data = Files.text(of: "/proc/\(processID)/status")?.split(separator: "\n").first { $0.hasPrefix("VmData:") }
            let used = try #require(data?.split(separator: " ").compactMap { Int($0) }.first) << 10
            try await Self.limit("--data=\(used):", of: processID)
            // Half of what one request may have, many at a time.
            let text = String(repeating: "x", count: 400_000)
            let ask = ControlOperation.ask(path: "/app/a", message: "Fixture.Echo", payload: ["text": .string(text)], timeout: .seconds(50))
            for _ in 0..<20 where daemon.process.identity.isAlive {
                await withDiscardingTaskGroup { group in
                    for _ in 0..<16 { group.addTask { _ = try? await daemon.call(ask) } }
                }
            }
            let isAlive = daemon.process.identity.isAlive
            print("without memory, the daemon \(isAlive ? "lived" : "ended")")
            var next: ChildProcess?
            if isAlive { try await Self.limit("--data=unlimited:", of: processID) } else { next = try await daemon.startNext() }
            try await daemon.everythingActive()
            #expect(try await Self.workers(daemon) == workers)
            if let next { _ = await next.terminate(grace: .patient(.seconds(20))) }
        }
    }

    private static func workers(_ daemon: RunningDaemon) async throws -> [Int32?] {
        let app = try await daemon.node("/app")
        return [app.pid] + app.children.map(\.pid)
    }

    @Test(
        "Disk: what dies is started again, operators are answered, the log says it once; with room again, all is recorded",
        .enabled(if: geteuid() == 0, "only root can mount a file system")
    )
    func disk() async throws {
        let log = Transcript()
        let wrapper = Self.smallDisk("size=64k")
        try await RunningDaemon.with(Self.tree, standardError: log.destination, wrapper: wrapper, hasOwnFiles: true) { daemon in
            try await daemon.everythingActive()
            Self.fill("\(daemon.directory)/run/full")
            // The journal has to be made anew, which takes space; what its last page has room for could still be written.
            for name in Files.names(in: "\(daemon.directory)/run") where name.hasSuffix(".processes") {
                unlink("\(daemon.directory)/run/\(name)")
            }
            let kills = 10
            for life in 1...kills {
                kill(try await daemon.runningPID(of: "/sleeper"), SIGKILL)
                try await daemon.eventually("it lives again") {
                    let sleeper = try await daemon.node("/sleeper")
                    return sleeper.incarnation == UInt32(life + 1) && sleeper.state == "active"
                }
            }
            kill(try await daemon.runningPID(of: "/app"), SIGKILL)
            try await daemon.eventually("it lives again") { try await daemon.node("/app").incarnation == 2 }
            try await daemon.everythingActive()
            #expect(log.text.ranges(of: "the journal of processes can't be written").count == 1)
            #expect(log.text.contains("No space left on device"))
            unlink("\(daemon.directory)/run/full")
            #expect(try await daemon.control("restart", "/sleeper").exitCode == 0)
            try await daemon.eventually("it's complete again") { log.text.contains("the journal of processes is complete again") }
            let journal = try #require(Files.names(in: "\(daemon.directory)/run").first { $0.hasSuffix(".processes") })
            let pid = try await daemon.runningPID(of: "/sleeper")
            #expect(Files.text(of: "\(daemon.directory)/run/\(journal)")?.contains("+ \(pid) ") == true)
        }
    }

    @Test("No room for a socket in the runtime directory: workers that need one wait, and start when there is room")
    func sockets() async throws {
        guard geteuid() == 0 else { return print("skipped: only root can mount a file system") }
        let wrapper = Self.smallDisk("nr_inodes=40")
        try await RunningDaemon.with(Self.tree, wrapper: wrapper, hasOwnFiles: true) { daemon in
            try await daemon.everythingActive()
            for number in 0..<40 { close(open("\(daemon.directory)/run/\(number)", O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)) }
            kill(try await daemon.runningPID(of: "/app"), SIGKILL)
            try await daemon.eventually("it can't start") { try await daemon.node("/app").state != "active" }
            kill(try await daemon.runningPID(of: "/sleeper"), SIGKILL)
            try await daemon.eventually("the program lives again") {
                let sleeper = try await daemon.node("/sleeper")
                return sleeper.incarnation == 2 && sleeper.state == "active"
            }
            for number in 0..<40 { unlink("\(daemon.directory)/run/\(number)") }
            try await daemon.everythingActive()
        }
    }

    @Test("A herd of 200 workers that end at once, again and again: no more starts than the bucket gives, others unaffected")
    func herd() async throws {
        let herd = (0..<200).map { "  - name: w\($0)\n    worker: { executable: /bin/false, coordinator: RootCoordinator }\n" }.joined()
        let limits = "supervision: { max_restarts: 1000000, period: 1s, backoff: { minimum: 1ms, maximum: 10ms } }"
        let good = Self.tree.split(separator: "\n").prefix(3).joined(separator: "\n")
        let began = ContinuousClock.now
        try await RunningDaemon.with("\(good)\n\(herd)\(limits)\n") { daemon in
            let processID = daemon.process.identity.processID
            // With those that wait for their turn, which are in their next incarnation already.
            func starts() async throws -> Int { try await daemon.tree().children.dropFirst().reduce(0) { $0 + Int($1.incarnation) } }
            try await daemon.eventually("all have been started, and the burst is over") { try await starts() > 500 }
            let before = try await starts()
            let load = try await Usage.load(of: processID, for: .seconds(3))
            let after = try await starts()
            let given = 200 + 100 + 200 + Int(50 * ((.now - began) / .seconds(1)))
            print("herd of 200: \(before), then \(after) of \(given) starts, \(load) of a processor")
            // A slow machine makes up for starts that are late, so only their sum is bounded: the first ones,
            // the burst, those that wait, and 50 a second.
            #expect(after > before + 30 && after <= given)
            #expect(load < (Usage.isBuildSlow ? 2 : 0.5))
            expectAnswered(try await Self.answerTimes(daemon), within: .seconds(1))
            let app = try #require(try await daemon.tree().children.first)
            #expect(app.restarts == 0 && app.children.allSatisfy { $0.restarts == 0 })
        }
    }

    @Test(
        "Steps of the wall clock by an hour, back, and to 1970 end nothing, start nothing, and delay nothing",
        .enabled(if: SteppedClocks.canBeBuilt, "needs a C compiler")
    )
    func wallClock() async throws {
        let clocks = try await SteppedClocks()
        try await RunningDaemon.with(Self.tree, wrapper: clocks.wrapper.joined(separator: " ")) { daemon in
            try await daemon.everythingActive()
            let before = try await daemon.tree()
            for seconds in [3_600, -3_600, 86_400 * 365, -Int(time(nil)), 0] {
                try clocks.step(CLOCK_REALTIME, by: seconds)
                let began = MachineClock.now
                for _ in 0..<20 {
                    _ = try await daemon.call(.ask(path: "/app/a", message: "Fixture.WhereAmI", payload: [:], timeout: .seconds(50)))
                }
                try await realTime(.milliseconds(1_200), because: "a heartbeat comes once a second of the daemon's clock")
                #expect(MachineClock.now - began < .patient(.seconds(30)), "after a step of \(seconds) s")
                let restarts = try await daemon.tree().children.map(\.restarts)
                #expect(restarts == before.children.map(\.restarts), "after a step of \(seconds) s")
            }
            #expect(try await daemon.tree().children.map(\.pid) == before.children.map(\.pid))
            // Backoff and restart don't wait for the clock either.
            try clocks.step(CLOCK_REALTIME, by: -86_400)
            kill(try await daemon.runningPID(of: "/app"), SIGKILL)
            try await daemon.eventually("it lives again") { try await daemon.node("/app").incarnation == 2 }
            try await daemon.everythingActive()
            let began = MachineClock.now
            #expect(try await daemon.control("shutdown").exitCode == 0)
            #expect(MachineClock.now - began < .patient(.seconds(30)))
        }
    }

    /// A command that gives the daemon a file system of its own for its runtime directory.
    static func smallDisk(_ options: String) -> String {
        let mount = "mount -t tmpfs -o \(options),mode=700 tmpfs DIRECTORY/run"
        return "unshare -m sh -c 'mkdir -m 700 DIRECTORY/run && \(mount) && exec \"$@\"' sh"
    }

    /// Changes a limit of a process that runs, see prlimit(1).
    ///
    /// - Parameter user: The user of the process, who may change its limits; nil for this process's own.
    private static func limit(_ limit: String, of processID: Int32, as user: Int? = nil) async throws {
        let command = (user.map { ["/usr/bin/setpriv"] + identity($0) } ?? []) + ["/usr/bin/prlimit", "--pid", "\(processID)", limit]
        let specification = ProcessSpecification(executable: command[0], arguments: Array(command.dropFirst()))
        let status = try await withChild(specification) { await $0.waitForExit() }
        try #require(status == .exited(code: 0), "prlimit \(limit)")
    }

    private static func answerTimes(_ daemon: RunningDaemon) async throws -> [Duration] {
        var times: [Duration] = []
        for _ in 0..<100 {
            let began = MachineClock.now
            _ = try await daemon.call(.ask(path: "/app/a", message: "Fixture.WhereAmI", payload: [:], timeout: .seconds(50)))
            times.append(MachineClock.now - began)
        }
        return times
    }

    /// Writes a file until there is no space.
    static func fill(_ path: String) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        let bytes = [UInt8](repeating: 0, count: 4_096)
        while write(descriptor, bytes, bytes.count) > 0 {}
        close(descriptor)
    }
}
