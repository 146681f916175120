import Coordinators
import Fixtures
import Glibc
import Processes
import TestSupport
import Testing

@Suite("Crashes and restarts", .timeLimit(minutes: 3))
struct RestartTests {
    @Test("A child that fails comes back under its path, with its configuration", arguments: Where.allCases)
    func failure(_ place: Where) async throws {
        try await withRoot { runtime in
            try await runtime.startChild("child", place, greeting: "kept")
            let before = try await runtime.ask(Fixture.WhereAmI(), at: "/child")
            _ = try await runtime.perform(.fail, at: "/child")
            try await eventually("another incarnation answers") {
                // One that is sent while the process ends may be lost with it, and says so.
                let place = try? await runtime.ask(Fixture.WhereAmI(), at: "/child")
                return place?.incarnation == before.incarnation + 1
            }
            #expect(try await runtime.perform(.configuration, at: "/child") == "kept")
            #expect(try await runtime.snapshot(of: "/child").restarts == 1)
        }
    }

    @Test("After kill -9 the path lives again under another pid, its open asks end with peerLost at once, and new ones wait")
    func killed() async throws {
        try await withRoot("child", in: .worker) { runtime in
            for round in 1...5 {
                let before = try await runtime.ask(Fixture.WhereAmI(), at: "/child")
                let open = (0..<10).map { _ in
                    // On its way at once, before the process is killed.
                    Task.immediate { try await runtime.perform(.hang, at: "/child", timeout: .seconds(60)) }
                }
                // An ask that comes back was sent after those that hang have been taken.
                try await eventually("the asks have been taken") {
                    try await runtime.ask(Fixture.WhereAmI(), at: "/child") == before
                }
                kill(before.pid, SIGKILL)
                let killedAt = MachineClock.now
                for ask in open {
                    await expect(.peerLost) { try await ask.value }
                }
                #expect(MachineClock.now - killedAt < .seconds(30))
                let after = try await runtime.whereIsIt("/child", after: before)
                #expect(after.pid != before.pid)
                #expect(after.incarnation == before.incarnation + 1)
                #expect(try await runtime.snapshot(of: "/child").restarts == round)
            }
        }
    }

    @Test("The descendants of a killed worker are gone before its path lives again")
    func descendants() async throws {
        try await withRoot("a", in: .worker) { runtime in
            for _ in 0..<5 {
                _ = try await runtime.perform(.startGrandchild("b", inWorker: true), at: "/a")
                _ = try await runtime.perform(.startGrandchild("c", inWorker: true), at: "/a/b")
                let a = try await runtime.ask(Fixture.WhereAmI(), at: "/a")
                let below = try await [runtime.ask(Fixture.WhereAmI(), at: "/a/b"), runtime.ask(Fixture.WhereAmI(), at: "/a/b/c")]
                let identities = try below.map { try #require(ProcessIdentity(processID: $0.pid)) }
                kill(a.pid, SIGKILL)
                #expect(try await runtime.whereIsIt("/a", after: a).incarnation == a.incarnation + 1)
                #expect(identities.filter(\.isAlive).isEmpty)
            }
        }
    }

    @Test("A stopped worker leaves no process, and its socket is gone")
    func nothingLeft() async throws {
        let directory = try TemporaryDirectory()
        try await withRoot("a", in: .worker, options: Support.options.with { $0.runtimeDirectory = directory.path }) { runtime in
            _ = try await runtime.perform(.startGrandchild("b", inWorker: true), at: "/a")
            let pids = try await [runtime.ask(Fixture.WhereAmI(), at: "/a"), runtime.ask(Fixture.WhereAmI(), at: "/a/b")].map(\.pid)
            #expect(directory.entries.count { $0.hasSuffix(".sock") } == 2)
            try await runtime.ask(Fixture.StopChild("a"), timeout: .seconds(20))
            for pid in pids { #expect(ProcessIdentity(processID: pid) == nil) }
            #expect(directory.entries.filter { $0.hasSuffix(".sock") } == ["root.sock"])
        }
        #expect(directory.entries.isEmpty)
    }

    @Test("A worker that hangs is killed and restarted, and one that only works hard is left alone")
    func hang() async throws {
        try await withRoot("busy", "hung", in: .worker, options: Support.options.with { $0.heartbeatTimeout = .seconds(6) }) { runtime in
            let working = Task.immediate {
                try await runtime.perform(.workHard(milliseconds: 9_000), at: "/busy", timeout: .seconds(60))
            }
            let before = try await runtime.ask(Fixture.WhereAmI(), at: "/hung")
            try await stopProcess(before.pid)
            #expect(try await runtime.whereIsIt("/hung", after: before).incarnation == 2)
            #expect(try await runtime.snapshot(of: "/hung").lastExit == .hung)
            #expect(try await working.value == "done")
            #expect(try await runtime.snapshot(of: "/busy").restarts == 0)
        }
    }

    @Test("A snapshot marks a hung worker below another as unresponsive, and no other one")
    func hungBelow() async throws {
        try await withRoot("a", "b", in: .worker) { runtime in
            for key in ["hung", "well"] { _ = try await runtime.perform(.startGrandchild(key, inWorker: true), at: "/a") }
            let hung = try await runtime.ask(Fixture.WhereAmI(), at: "/a/hung")
            try await stopProcess(hung.pid)
            defer { kill(hung.pid, SIGCONT) }
            let children = try await runtime.snapshot().children
            #expect(children.map(\.isUnresponsive) == [false, false])
            #expect(children.first?.children.map(\.isUnresponsive) == [true, false])
        }
    }

    @Test("A coordinator that fails before its start has returned is restarted, and given up like any other", arguments: Where.allCases)
    func failsAtOnce(_ place: Where) async throws {
        let supervision = SupervisionPolicy(.oneForOne, intensity: 3, period: .seconds(60), backoff: .none)
        try await withRoot(options: Support.options.with { $0.supervision = supervision }) { runtime in
            _ = try? await runtime.ask(Fixture.StartBroken("broken", inWorker: place.isWorker, how: "failAtOnce"), timeout: .seconds(20))
            try await eventually("it's given up") { try await runtime.snapshot(of: "/broken").state == .failed }
            #expect(try await runtime.snapshot(of: "/broken").restarts == 3)
        }
    }

    @Test("A deadline in the infinite future never passes")
    func endlessDeadline() async throws {
        try await withRoot("child", in: .worker) { runtime in
            let answer = try await runtime.perform(.echo("still there"), at: "/child", timeout: .seconds(Int64.max))
            #expect(answer == "still there")
        }
    }

    @Test("Exit code 78 is final, and others lead to a restart")
    func exitCodes() async throws {
        try await withRoot("child", in: .worker) { runtime in
            _ = try? await runtime.perform(.exit(75), at: "/child")
            try await eventually("it's back") { try await runtime.snapshot(of: "/child").restarts == 1 }
            _ = try await runtime.ask(Fixture.WhereAmI(), at: "/child", timeout: .patient(.seconds(20)))
            _ = try? await runtime.perform(.exit(78), at: "/child")
            try await eventually("it's given up") { try await runtime.snapshot(of: "/child").state == .failed }
            #expect(try await runtime.snapshot(of: "/child").lastExit == .exited(code: 78))
            // An operator can have it back.
            #expect(try await runtime.start("/child").state == .active)
        }
    }

    @Test("A child over the intensity fails alone at the root, and its siblings live on", arguments: Where.allCases)
    func intensity(_ place: Where) async throws {
        let supervision = SupervisionPolicy(.oneForOne, intensity: 2, period: .seconds(60), backoff: .none)
        try await withRoot("good", "bad", in: place, options: Support.options.with { $0.supervision = supervision }) { runtime in
            for round in 1...3 {
                _ = try? await runtime.perform(.fail, at: "/bad")
                try await eventually("round \(round) is over") {
                    let snapshot = try await runtime.snapshot(of: "/bad")
                    return snapshot.state == .failed || (snapshot.restarts == round && snapshot.state == .active)
                }
            }
            #expect(try await runtime.snapshot(of: "/bad").state == .failed)
            #expect(try await runtime.snapshot(of: "/good").restarts == 0)
            #expect(try await runtime.perform(.echo("fine"), at: "/good") == "fine")
            await expect(.failed) { try await runtime.perform(.echo(""), at: "/bad") }
        }
    }

    @Test("A backoff that lies beyond the deadline fails the ask at once with restarting")
    func backoffBeyondDeadline() async throws {
        let backoff = Backoff(minimum: .seconds(30), maximum: .seconds(30), jitter: 0)
        let supervision = SupervisionPolicy(.oneForOne, intensity: 10, period: .seconds(60), backoff: backoff)
        try await withRoot("child", in: .inProcess, options: Support.options.with { $0.supervision = supervision }) { runtime in
            _ = try await runtime.perform(.fail, at: "/child")
            try await eventually("the first restart is immediate") { try await runtime.snapshot(of: "/child").incarnation == 2 }
            _ = try await runtime.perform(.fail, at: "/child")
            try await eventually("the second waits") { try await runtime.snapshot(of: "/child").state == .restarting }
            await expect(.restarting) {
                try await runtime.perform(.echo(""), at: "/child", timeout: .seconds(2))
            }
            // Nothing is ever refused because something else is under way.
            #expect(try await runtime.restart("/child").state == .active)
            #expect(try await runtime.stop("/child").state == .inactive)
        }
    }

    @Test("The graceful stop of the runtime ends everything while children crash")
    func stopDuringCrashes() async throws {
        for _ in 0..<10 {
            let runtime = CoordinatorRuntime(RootCoordinator.self, options: Support.options)
            try await runtime.start()
            for key in ["a", "b", "c"] { try await runtime.startChild(key, .worker) }
            let pids = try await runtime.snapshot().children.compactMap(\.processID)
            let identities = pids.compactMap { ProcessIdentity(processID: $0) }
            for pid in pids { kill(pid, SIGKILL) }
            await runtime.stop()
            #expect(identities.filter(\.isAlive).isEmpty)
        }
    }
}
