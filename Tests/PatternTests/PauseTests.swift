import Coordinators
import Fixtures
import TestSupport
import Testing

@Suite("Pattern: pause and resume in depth", .timeLimit(minutes: 3))
struct PauseTests {
    @Test("Messages to a paused coordinator wait, and begin in order at the resume", arguments: Where.allCases)
    func parking(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.step("child", place)
            try await tree.root.pause("child")
            #expect(child.state == .paused)
            for number in 0..<200 {
                let isTaken = try await child.send(Fixture.Note(number))
                #expect(isTaken)
            }
            let asked = Task.immediate { try await child.ask(Fixture.Note(200), timeout: .seconds(20)) }
            // The tree goes on meanwhile.
            let snapshot = try await tree.runtime.snapshot(of: "/child")
            #expect(snapshot.state == .paused)
            #expect(tree.notebook.words(at: "/child") == ["start", "pause"])
            try await tree.root.resume("child")
            try await asked.value
            #expect(child.state == .active)
            try await eventually("all are noted") { tree.notebook.words(at: "/child").count == 204 }
            #expect(tree.notebook.words(at: "/child") == ["start", "pause", "resume"] + (0...200).map { "note \($0)" })
        }
    }

    @Test("A message whose deadline passes while it waits never runs", arguments: Where.allCases)
    func deadline(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.step("child", place)
            try await tree.root.pause("child")
            let error = await #expect(throws: CoordinatorError.self) {
                try await child.ask(Fixture.Note(1), timeout: .milliseconds(100))
            }
            #expect(error?.code == .timedOut)
            let cancelled = Task.immediate { try await child.ask(Fixture.Note(2), timeout: .seconds(600)) }
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            // It counts the time that was left when the message came, which came as much later as the machine was busy.
            if place.isWorker {
                try await realTime(.milliseconds(500), because: "a worker counts its messages' time by the machine's clock")
            }
            try await tree.root.resume("child")
            try await child.ask(Fixture.Note(3), timeout: .seconds(15))
            #expect(tree.notebook.words(at: "/child") == ["start", "pause", "resume", "note 3"])
        }
    }

    @Test("Handlers that have begun go on during a pause", arguments: Where.allCases)
    func begunHandlers(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.step("child", place)
            let holding = Task { try await child.ask(Flow.Do(.holdThenEcho(line: "let go")), timeout: .seconds(20)) }
            try await tree.reads("/child held")
            try await tree.root.pause("child")
            tree.notebook.note("let go")
            // It asks the root from within, too.
            let reply = try await holding.value
            #expect(reply == "let go")
            #expect(child.state == .paused)
        }
    }

    @Test("An interceptor of a paused coordinator delays the messages that pass it", arguments: Where.allCases)
    func interceptors(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.root.start(AuditCoordinator.self, as: "audit", in: place.isWorker ? .worker : .inProcess) {
                $0.notebook = tree.notebook
            }
            try await tree.step("step", below: "/audit", place)
            let passing = Task {
                try await tree.runtime.ask(Flow.Do(.holdThenAdd(line: "let go")), at: "/audit/step", timeout: .seconds(20))
            }
            try await tree.reads("/audit/step held")
            try await tree.root.pause("audit")
            tree.notebook.note("let go")
            // What the paused coordinator has no row for passes it still.
            let echo = try await tree.runtime.ask(Fixture.Echo("past it"), at: "/audit", timeout: .seconds(15))
            #expect(echo == "past it")
            #expect(tree.count("/audit saw Basket.Add from /audit/step") == 0)
            try await tree.root.resume("audit")
            let count = try await passing.value
            #expect(count == "1")
            #expect(
                tree.notebook.words(at: "/audit") == [
                    "pause", "resume", "saw Basket.Add from /audit/step", "of held", "answered Basket.Add",
                ]
            )
        }
    }

    @Test("A pause cascades, and a resume lifts only what the cascade has set", arguments: Where.allCases)
    func reasons(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.step("child", place)
            for key in ["named", "other"] { try await tree.step(key, below: "/child", place) }
            try await tree.step("deep", below: "/child/other", place)
            _ = try await tree.runtime.pause("/child/named")
            try await tree.expect([.active, .paused, .active, .active])
            try await tree.root.pause("child")
            try await tree.expect([.paused, .paused, .paused, .paused])
            try await tree.root.resume("child")
            // Paused by name: the parent's resuming doesn't touch it.
            try await tree.expect([.active, .paused, .active, .active])
            _ = try await tree.runtime.resume("/child/named")
            try await tree.expect([.active, .active, .active, .active])
            // One transition each, however many reasons there were for it.
            #expect(tree.notebook.words(at: "/child") == ["start", "pause", "resume"])
            #expect(tree.notebook.words(at: "/child/named") == ["start", "pause", "resume"])
            #expect(tree.notebook.words(at: "/child/other") == ["start", "pause", "resume"])
            #expect(tree.notebook.words(at: "/child/other/deep") == ["start", "pause", "resume"])
        }
    }

    @Test("A child paused by name within a cascade stays paused, and one resumed by name waits for the cascade", arguments: Where.allCases)
    func reasonsWithinCascade(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.step("child", place)
            for key in ["named", "other"] { try await tree.step(key, below: "/child", place) }
            try await tree.step("deep", below: "/child/other", place)
            try await tree.root.pause("child")
            _ = try await tree.runtime.pause("/child/named")
            _ = try await tree.runtime.pause("/child/other")
            // Its own reason is lifted, the cascade's isn't.
            _ = try await tree.runtime.resume("/child/other")
            try await tree.expect([.paused, .paused, .paused, .paused])
            try await tree.root.resume("child")
            try await tree.expect([.active, .paused, .active, .active])
            _ = try await tree.runtime.resume("/child/named")
            try await tree.expect([.active, .active, .active, .active])
            #expect(tree.notebook.words(at: "/child/named") == ["start", "pause", "resume"])
            #expect(tree.notebook.words(at: "/child/other") == ["start", "pause", "resume"])
        }
    }

    @Test("A pause in the middle leaves the cascade above it alone", arguments: Where.allCases)
    func middle(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.step("child", place)
            for key in ["named", "other"] { try await tree.step(key, below: "/child", place) }
            try await tree.step("deep", below: "/child/other", place)
            _ = try await tree.runtime.pause("/child/other")
            try await tree.expect([.active, .active, .paused, .paused])
            try await tree.root.pause("child")
            try await tree.root.resume("child")
            // The subtree of the one that stays paused stays so, too.
            try await tree.expect([.active, .active, .paused, .paused])
            _ = try await tree.runtime.resume("/child/other")
            try await tree.expect([.active, .active, .active, .active])
            #expect(tree.notebook.words(at: "/child/other/deep") == ["start", "pause", "resume"])
        }
    }

    @Test("A child that is started below a paused one is paused", arguments: Where.allCases)
    func startedBelow(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.step("child", place)
            try await tree.step("inner", below: "/child", place)
            _ = try await tree.runtime.stop("/child/inner")
            try await tree.root.pause("child")
            _ = try await tree.runtime.start("/child/inner")
            try await tree.reaches(.paused, at: "/child/inner")
            try await tree.root.resume("child")
            try await tree.reaches(.active, at: "/child/inner")
            #expect(child.state == .active)
        }
    }

    @Test("A coordinator that crashes while it's paused is paused again", arguments: Where.allCases)
    func crash(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.step("child", place)
            try await tree.perform(.failAt(line: "fail now"), at: "/child")
            try await tree.root.pause("child")
            if place.isWorker { _ = try await tree.runtime.kill("/child") } else { tree.notebook.note("fail now") }
            try await tree.reaches(.paused, at: "/child", incarnation: 2)
            // The new life has run its hook, and takes no messages.
            let late = Task.immediate { try await child.ask(Fixture.Note(1), timeout: .seconds(20)) }
            let snapshot = try await tree.runtime.snapshot(of: "/child")
            #expect(snapshot.state == .paused)
            #expect(tree.count("/child start") == 2)
            #expect(tree.count("/child note 1") == 0)
            try await tree.root.resume("child")
            try await late.value
            #expect(child.state == .active)
            #expect(tree.count("/child resume") == 1)
            #expect(tree.notebook.words(at: "/child").last == "note 1")
        }
    }

    @Test("The stop of a paused child runs only the stop hook", arguments: Where.allCases)
    func stop(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.step("child", place)
            try await tree.root.pause("child")
            let parked = Task.immediate { try await child.ask(Fixture.Note(1), timeout: .seconds(600)) }
            try await tree.root.remove("child")
            let error = await #expect(throws: CoordinatorError.self) { try await parked.value }
            #expect(error?.code == .stopped)
            #expect(tree.notebook.words(at: "/child") == ["start", "pause", "stop"])
            // A successor isn't paused.
            try await tree.step("child", place)
            #expect(child.state == .active)
        }
    }

    @Test("Pausing a paused coordinator and resuming an active one does nothing", arguments: Where.allCases)
    func idempotent(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.step("child", place)
            let auditor = Auditor()
            child.delegates += auditor
            await child.resume()
            try await tree.root.pause("child")
            await child.pause()
            _ = try await tree.runtime.pause("/child")
            try await tree.root.resume("child")
            await child.resume()
            _ = try await tree.runtime.resume("/child")
            #expect(tree.notebook.words(at: "/child") == ["start", "pause", "resume"])
            try await eventually("the auditor has heard both") { auditor.changes.count >= 2 }
            try await tree.perform(.emit(.count(1)), at: "/child")
            try await eventually("the event comes last") { auditor.events == [.count(1)] }
            #expect(auditor.changes == ["paused", "resumed"])
        }
    }

    @Test("Concurrent pauses and resumes are serialised", arguments: Where.allCases)
    func serialised(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.step("child", place)
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<40 {
                    group.addTask { if number % 2 == 0 { await child.pause() } else { await child.resume() } }
                }
            }
            await child.resume()
            #expect(child.state == .active)
            // Hooks alternate, and each pause has its resume.
            let hooks = tree.notebook.words(at: "/child").dropFirst()
            for (number, hook) in hooks.enumerated() { #expect(hook == (number % 2 == 0 ? "pause" : "resume")) }
            #expect(hooks.count % 2 == 0)
        }
    }

    @Test("The initiator of a pause gets its result as a return, all others as an event", arguments: Where.allCases)
    func events(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.step("child", place)
            try await tree.root.pause("child")
            try await tree.root.resume("child")
            _ = try await tree.runtime.pause("/child")
            _ = try await tree.runtime.resume("/child")
            try await tree.reads("/ child resumed")
            #expect(tree.notebook.words(at: "/") == ["child paused", "child resumed"])
            let error = await #expect(throws: CoordinatorError.self) { try await tree.root.pause("nobody") }
            #expect(error?.code == .noSuchChild)
        }
    }
}

extension PageTree {
    /// Checks the states of the child, its two children and the grandchild: a pause has arrived everywhere when it returns.
    fileprivate func expect(_ states: [CoordinatorState], _ location: SourceLocation = #_sourceLocation) async throws {
        var found: [CoordinatorState] = []
        for path: CoordinatorPath in ["/child", "/child/named", "/child/other", "/child/other/deep"] {
            found.append(try await runtime.snapshot(of: path).state)
        }
        #expect(found == states, sourceLocation: location)
    }
}
