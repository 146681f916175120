import Coordinators
import Fixtures
import Glibc
import TestSupport
import Testing

@Suite("Pattern: pausing and resuming", .timeLimit(minutes: 3))
struct LifecyclePauseTests {
    // MARK: Pause and resume

    @Test("Messages to a paused child wait while their deadlines run, and begin in order at the resume", arguments: Where.allCases)
    func park(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild("a", place)
            await child.pause()
            // Each is on its way before the next begins, because its task begins here and now.
            let notes = (0..<50).map { number in
                Task.immediate { try await child.perform(.note("note \(number)"), timeout: .seconds(60)) }
            }
            await Support.expect(.timedOut) { try await child.perform(.note("note too late"), timeout: .milliseconds(300)) }
            // Had it been answered, or any that was sent before it, it would stand there.
            #expect(tree.lines("note") == [])
            // Control goes on.
            #expect(try await tree.runtime.snapshot(of: "/a").state == .paused)
            await child.resume()
            for note in notes { _ = try await note.value }
            #expect(tree.lines("note") == (0..<50).map { "note \($0)" })
            try await child.perform(.note("note last"))
            // The one whose deadline had passed never ran.
            #expect(tree.lines("note").count == 51)
        }
    }

    @Test("Messages that climb to a paused coordinator wait too, and go on at the resume", arguments: Where.allCases)
    func climbing(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let middle = try await tree.context.start(ClimbMiddle.self, as: "middle", in: place.placement)
            _ = try await middle.ask(Climb.Do(.startLeaf("leaf", inWorker: false)), timeout: .seconds(30))
            // Handlers of the leaf that have begun go on asking while it's paused with its parent.
            let asks = [Duration.milliseconds(300), .seconds(60)].map { timeout in
                Task.immediate {
                    let nearest = Climb.Do(.nearestAfterGate(milliseconds: Int(timeout / .milliseconds(1))))
                    return try await tree.runtime.ask(nearest, at: "/middle/leaf", timeout: .seconds(60))
                }
            }
            try await eventually("both have begun") { tree.root.gate.waiting == 2 }
            await middle.pause()
            tree.root.gate.open()
            #expect(try await asks[0].value == "timedOut")
            await middle.resume()
            #expect(try await asks[1].value == "/middle")
        }
    }

    @Test("A handler that has begun goes on while its coordinator is paused", arguments: Where.allCases)
    func begunHandlers(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild("a", place)
            let begun = Task.immediate { try await child.perform(.passGate, timeout: .seconds(60)) }
            try await eventually("its ask has arrived") { tree.root.gate.waiting == 1 }
            await child.pause()
            #expect(child.state == .paused)
            tree.root.gate.open()
            #expect(try await begun.value == "passed")
            #expect(child.state == .paused)
        }
    }

    @Test("A parent's pause reaches its children, and its resume only those that weren't paused by name", arguments: Where.allCases)
    func cascade(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild("a", place)
            try await child.perform(.startChild("awake", inWorker: false))
            try await child.perform(.startChild("asleep", inWorker: place.isWorker))
            try await tree.runtime.pause("/a/asleep")
            try await tree.context.pause("a")
            #expect(tree.lines("pause").sorted() == ["pause /a", "pause /a/asleep", "pause /a/awake"])
            try await eventually("both children are paused") {
                try await tree.runtime.snapshot(of: "/a").children.map(\.state) == [.paused, .paused]
            }
            try await tree.context.resume("a")
            #expect(tree.lines("resume").sorted() == ["resume /a", "resume /a/awake"])
            try await eventually("one of them is awake again") {
                try await tree.runtime.snapshot(of: "/a").children.map(\.state) == [.active, .paused]
            }
            try await tree.runtime.resume("/a/asleep")
            #expect(tree.journal.count(of: "resume /a/asleep") == 1)
            #expect(try await tree.perform(.echo("awake"), at: "/a/asleep") == "awake")
        }
    }

    @Test(
        "A child that crashes while it's paused, or is killed, starts again and is paused again",
        arguments: [(Where.inProcess, false), (.worker, false), (.worker, true)]
    )
    func crashWhilePaused(_ place: Where, _ isKilled: Bool) async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild("a", place)
            // A handler that has begun is what still can fail.
            let failing = Task.immediate { try await child.perform(isKilled ? .passGate : .passGateAndFail, timeout: .seconds(60)) }
            try await eventually("its ask has arrived") { tree.root.gate.waiting == 1 }
            await child.pause()
            if isKilled { try await tree.runtime.kill("/a") }
            tree.root.gate.open()
            _ = await failing.result
            try await eventually("its second life is paused") {
                let snapshot = try await tree.runtime.snapshot(of: "/a")
                return snapshot.incarnation == 2 && snapshot.state == .paused
            }
            await Support.expect(.timedOut) { try await child.perform(.note("note too early"), timeout: .milliseconds(300)) }
            #expect(tree.lines("note") == [])
            #expect(tree.journal.count(of: "start /a") == 2)
            await child.resume()
            #expect(try await child.perform(.echo("back")) == "back")
        }
    }

    // MARK: States

    @Test("A handle tells active, paused and inactive apart", arguments: Where.allCases)
    func states(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild("a", place)
            try await tree.startChild("b", place)
            #expect(child.state == .active)
            #expect(tree.context.child("a")?.state == .active)
            await child.pause()
            #expect(child.state == .paused)
            #expect(tree.context.children(in: .paused).map(\.path) == ["/a"])
            #expect(tree.context.children(in: .active).map(\.path) == ["/b"])
            await child.resume()
            #expect(child.state == .active)
            await child.remove()
            #expect(child.state == .inactive)
            #expect(tree.context.children(in: .active).map(\.path) == ["/b"])
        }
    }

    @Test("A snapshot shows a starting child, a living one and a stopped one", arguments: Where.allCases)
    func diagnostics(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let start = Task { try await tree.startChild("a", place) { $0.opening = .passesGate } }
            try await eventually("its start hook asks the root") { tree.root.gate.waiting == 1 }
            #expect(try await tree.runtime.snapshot(of: "/a").state == .starting)
            #expect(tree.context.children(in: .active).isEmpty)
            tree.root.gate.open()
            let child = try await start.value
            #expect(child.state == .active)
            #expect(try await tree.runtime.snapshot(of: "/a").state == .active)
            try await tree.runtime.stop("/a")
            #expect(try await tree.runtime.snapshot(of: "/a").state == .inactive)
        }
    }
}
