import Coordinators
import Fixtures
import TestSupport
import Testing

@Suite("Regression: pausing", .timeLimit(minutes: 3))
struct RegressionPauseTests {
    @Test("A paused worker that is killed comes back paused, again and again")
    func killed() async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild("a", .worker)
            await child.pause()
            let lives = rounds(short: 5, all: 20, long: 200)
            for round in 1...lives {
                try await tree.runtime.kill("/a")
                try await eventually("life \(round + 1) is paused") {
                    let snapshot = try await tree.runtime.snapshot(of: "/a")
                    return snapshot.incarnation == UInt32(round + 1) && snapshot.state == .paused
                }
                await Support.expect(.timedOut) { try await child.perform(.note("note too early"), timeout: .milliseconds(50)) }
            }
            try await eventually("each life has run its hook") { tree.journal.count(of: "pause /a") == lives + 1 }
            #expect(tree.lines("note", "resume").isEmpty)
            // The withdrawal of the last message has come when a later one on the same link is answered; the resumption might overtake it.
            await Support.expect(.noSuchPath) { _ = try await tree.runtime.ask(Fixture.WhereAmI(), at: "/a/none") }
            await child.resume()
            let note = try await child.perform(.note("note"))
            #expect(note == "note")
            #expect(tree.lines("note", "resume") == ["resume /a", "note"])
        }
    }

    @Test("A pause while the child starts takes effect, unless a resume follows it", arguments: Where.allCases, [false, true])
    func whileStarting(_ place: Where, _ isResumed: Bool) async throws {
        try await LifecycleTree.run { tree in
            let starting = Task { try await tree.startChild("a", place) { $0.opening = .passesGate } }
            try await eventually("its start hook asks the root") { tree.root.gate.waiting == 1 }
            try await tree.context.pause("a")
            if isResumed { try await tree.context.resume("a") }
            tree.root.gate.open()
            let child = try await starting.value
            #expect(child.state == (isResumed ? .active : .paused))
            if !isResumed {
                await Support.expect(.timedOut) { try await child.perform(.note("note too early"), timeout: .milliseconds(300)) }
                try await eventually("its hook has run") { tree.journal.count(of: "pause /a") == 1 }
                await child.resume()
            }
            let note = try await child.perform(.note("note"))
            #expect(note == "note")
            let hooks = isResumed ? [] : ["pause /a", "resume /a"]
            #expect(tree.lines("start", "pause", "resume", "note") == ["start /a"] + hooks + ["note"])
        }
    }

    @Test("A pause hook that never returns doesn't block the key after a stop", arguments: Where.allCases, [false, true])
    func stubborn(_ place: Where, _ isKept: Bool) async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild("child", place, shutdown: .timeout(.milliseconds(300))) { $0.ignoresPause = true }
            let pausing = Task { await child.pause() }
            try await eventually("it's pausing") { tree.journal.count(of: "pause /child") == 1 }
            let began = ContinuousClock.now
            if isKept { try await tree.runtime.stop("/child") } else { try await tree.context.remove("child") }
            // Who waits for the hook is told with the stop.
            await pausing.value
            #expect(ContinuousClock.now - began < .seconds(20))
            let successor = try await tree.startChild("child", place)
            #expect(successor.state == .active)
            await successor.pause()
            #expect(successor.state == .paused)
            await successor.resume()
            #expect(try await tree.whereIs("/child").path == "/child")
            #expect(tree.lines("pause") == ["pause /child", "pause /child"])
        }
    }
}
