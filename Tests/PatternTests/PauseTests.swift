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
            await Support.expect(.timedOut) { try await child.ask(Fixture.Note(1), timeout: .milliseconds(100)) }
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
            let holding = Task { try await child.ask(FixtureFlow.Do(.holdThenEcho(line: "let go")), timeout: .seconds(20)) }
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
            try await tree.start(AuditCoordinator.self, as: "audit", place)
            try await tree.step("step", below: "/audit", place)
            let passing = Task {
                try await tree.runtime.ask(FixtureFlow.Do(.holdThenAdd(line: "let go")), at: "/audit/step", timeout: .seconds(20))
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

    @Test("A pause cascades, and a resume lifts only the reason that it's for", arguments: Cascade.all, Where.allCases)
    fileprivate func reasons(_ cascade: Cascade, _ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.step("child", place)
            for key in ["named", "other"] { try await tree.step(key, below: "/child", place) }
            try await tree.step("deep", below: "/child/other", place)
            for (step, states) in cascade.steps {
                switch step {
                case .pause("/child"): try await tree.root.pause("child")
                case .resume("/child"): try await tree.root.resume("child")
                case .pause(let path): _ = try await tree.runtime.pause(path)
                case .resume(let path): _ = try await tree.runtime.resume(path)
                }
                // A pause has arrived everywhere when it returns.
                var found = ""
                for path in Cascade.paths { found += try await tree.runtime.snapshot(of: path).state == .paused ? "p" : "a" }
                #expect(found == states ?? found, "\(step)")
            }
            // One transition each, however many reasons there were for it.
            for path in Cascade.paths { #expect(tree.notebook.words(at: path) == ["start", "pause", "resume"], "\(path)") }
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
            await Support.expect(.stopped) { try await parked.value }
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
            await Support.expect(.noSuchChild) { try await tree.root.pause("nobody") }
        }
    }
}

/// Pauses and resumptions, and which of four coordinators are active or paused after each: "aapp"; `nil`: that isn't looked at.
private struct Cascade: CustomTestStringConvertible, Sendable {
    enum Step: Sendable {
        case pause(CoordinatorPath)
        case resume(CoordinatorPath)
    }

    static let paths: [CoordinatorPath] = ["/child", "/child/named", "/child/other", "/child/other/deep"]

    let testDescription: String
    let steps: [(Step, String?)]

    static let all = [
        Cascade(
            testDescription: "one that was paused by name before the cascade stays paused after it",
            steps: [
                (.pause("/child/named"), "apaa"), (.pause("/child"), "pppp"), (.resume("/child"), "apaa"),
                (.resume("/child/named"), "aaaa"),
            ]
        ),
        Cascade(
            testDescription: "one paused by name within the cascade stays paused, and one resumed by name waits for the cascade",
            steps: [
                (.pause("/child"), nil), (.pause("/child/named"), nil), (.pause("/child/other"), nil), (.resume("/child/other"), "pppp"),
                (.resume("/child"), "apaa"), (.resume("/child/named"), "aaaa"),
            ]
        ),
        Cascade(
            testDescription: "a pause in the middle leaves the cascade above it alone, and its subtree stays paused with it",
            steps: [
                (.pause("/child/other"), "aapp"), (.pause("/child"), nil), (.resume("/child"), "aapp"), (.resume("/child/other"), "aaaa"),
            ]
        ),
    ]
}
