import ConcurrencySupport
import Coordinators
import Fixtures
import Foundation
import TestSupport
import Testing

@Suite("Pattern: snapshots of mailboxes", .timeLimit(minutes: 3))
struct MailboxSnapshotTests {
    @Test("A snapshot tells what waits, runs and was handled", arguments: Where.allCases)
    func serial(_ place: Where) async throws {
        try await run(place, configure: { $0.isSerial = true }) { tree, notebook in
            let before = try await mailbox(tree)
            #expect(before == CoordinatorSnapshot.Mailbox())
            let began = MonotonicTime.now
            let asks = (0..<5).map { _ in
                Task { try await tree.runtime.ask(Observed.Hold(until: "go on"), at: "/child", timeout: .seconds(600)) }
            }
            try await eventually("one runs, and four wait") {
                let mailbox = try await mailbox(tree)
                return mailbox.running == 1 && mailbox.waiting == 4
            }
            let first = try #require(try await mailbox(tree).oldestWaiting)
            try await eventually("it gets older") { try await mailbox(tree).oldestWaiting ?? .zero > first }
            let (oldest, age) = (try #require(try await mailbox(tree).oldestWaiting), MonotonicTime.now - began)
            #expect(oldest <= age)
            notebook.note("go on")
            for ask in asks { try await ask.value }
            try await eventually("all are handled") { try await mailbox(tree) == CoordinatorSnapshot.Mailbox(handled: 5) }
            try await tree.runtime.restart("/child")
            let after = try await mailbox(tree)
            #expect(after == CoordinatorSnapshot.Mailbox())
        }
    }

    @Test("A message whose asker has given up doesn't wait any more", arguments: Where.allCases)
    func withdrawn(_ place: Where) async throws {
        try await run(place, configure: { $0.isSerial = true }) { tree, notebook in
            let holding = Task { try await tree.runtime.ask(Observed.Hold(until: "go on"), at: "/child", timeout: .seconds(600)) }
            try await eventually("it runs") { try await mailbox(tree).running == 1 }
            let asks = (0..<4).map { _ in
                Task { try await tree.runtime.ask(Observed.Hold(until: "go on"), at: "/child", timeout: .seconds(600)) }
            }
            try await eventually("four wait") { try await mailbox(tree).waiting == 4 }
            await Support.expect(.timedOut) {
                try await tree.runtime.ask(Observed.Hold(until: "go on"), at: "/child", timeout: .milliseconds(50))
            }
            for ask in asks.prefix(3) { ask.cancel() }
            try await eventually("one is left") { try await mailbox(tree).waiting == 1 }
            notebook.note("go on")
            try await holding.value
            try await asks[3].value
            try await eventually("two were handled") { try await mailbox(tree) == CoordinatorSnapshot.Mailbox(handled: 2) }
        }
    }

    @Test("Rows of every kind count what they have handled", arguments: Where.allCases)
    func handled(_ place: Where) async throws {
        try await run(place) { tree, _ in
            let child = try tree.runtime.coordinator(ObservedCoordinator.self, at: "/child")
            for number in 0..<10 {
                try await child.send(Fixture.Note(number))
                try await child.ask(Observed.NoteSlowly(number), timeout: .seconds(20))
                _ = try await child.ask(Observed.Instant(), timeout: .seconds(20))
                await #expect(throws: Fixture.Refusal.self) { try await child.ask(Fixture.Refuse(asCodable: true), timeout: .seconds(20)) }
            }
            for try await _ in try child.stream(Observed.Count(to: 3)) {}
            try await eventually("each is counted once") { try await mailbox(tree) == CoordinatorSnapshot.Mailbox(handled: 41) }
            // The root has answered directly, in the child's task or over the link.
            let before = try #require(try await tree.runtime.snapshot().mailbox).handled
            for _ in 0..<7 { _ = try await tree.runtime.ask(Observed.Climb("ask"), at: "/child", timeout: .seconds(20)) }
            let after = try #require(try await tree.runtime.snapshot().mailbox)
            #expect(after.handled == before + 7)
        }
    }

    @Test("While a row that doesn't await is slow, those that were taken with it wait", arguments: Where.allCases)
    func batch(_ place: Where) async throws {
        try await BlockedThread.run {
            try await run(place) { tree, notebook in
                let child = try tree.runtime.coordinator(ObservedCoordinator.self, at: "/child")
                try await tree.runtime.pause("/child")
                // All of them are taken from the mailbox at once.
                let blocking = Task { try await child.ask(Observed.Block(until: "go on"), timeout: .seconds(600)) }
                try await eventually("it waits") { try await mailbox(tree).waiting == 1 }
                for number in 0..<6 { try await child.send(Fixture.Note(number)) }
                try await eventually("they wait too") { try await mailbox(tree).waiting == 7 }
                try await tree.runtime.resume("/child")
                try await eventually("it blocks") { notebook.reads("blocks") }
                let during = try await mailbox(tree)
                #expect(during.running == 1)
                #expect(during.waiting == 6)
                #expect(during.handled == 0)
                #expect(during.oldestWaiting != nil)
                notebook.note("go on")
                try await blocking.value
                try await eventually("all are handled") { try await mailbox(tree) == CoordinatorSnapshot.Mailbox(handled: 7) }
            }
        }
    }

    @Test("What waits for a restart waits", arguments: Where.allCases)
    func parked(_ place: Where) async throws {
        try await run(place, configure: { $0.restartSeconds = 600 }) { tree, _ in
            // The first restart is immediate.
            try await tree.runtime.ask(Fixture.Fail(), at: "/child", timeout: .seconds(20))
            try await eventually("it's restarted") {
                let child = try await tree.runtime.snapshot(of: "/child")
                return child.incarnation == 2 && child.state == .active
            }
            try await tree.runtime.ask(Fixture.Fail(), at: "/child", timeout: .seconds(20))
            try await eventually("it's restarted later") { try await tree.runtime.snapshot(of: "/child").nextStart ?? .zero > .seconds(60) }
            let asking = Task { try await tree.runtime.ask(Observed.Quick(), at: "/child", timeout: .seconds(3_600)) }
            try await eventually("it waits") { try await tree.runtime.snapshot(of: "/child").mailbox?.waiting == 1 }
            let snapshot = try await tree.runtime.snapshot(of: "/child")
            #expect(snapshot.state == .restarting && snapshot.uptime == nil)
            #expect(snapshot.lastExit == .failed(#"Refusal(reason: "broken")"#))
            #expect(snapshot.mailbox?.oldestWaiting != nil)
            asking.cancel()
            _ = try? await asking.value
        }
    }

    @Test("Snapshots stay what they are when they're encoded and decoded")
    func coding() throws {
        let text = """
            {"path": "/a", "type": "A", "state": "restarting", "host": "worker", "incarnation": 3, "restarts": 2, "restartAttempt": 1,
             "nextStartMilliseconds": 1500, "uptimeMilliseconds": 20, "lastExit": {"signaled": {"_0": 9}}, "isUnresponsive": false,
             "mailbox": {"waiting": 1, "running": 2, "oldestWaitingMilliseconds": 3, "handled": 4},
             "children": [{"path": "/a/b", "type": "B", "state": "active", "host": "program", "incarnation": 1}]}
            """
        let snapshot = try JSONDecoder().decode(CoordinatorSnapshot.self, from: Data(text.utf8))
        #expect(snapshot.nextStart == .milliseconds(1_500) && snapshot.uptime == .milliseconds(20) && snapshot.lastExit == .signaled(9))
        let mailbox = CoordinatorSnapshot.Mailbox(waiting: 1, running: 2, oldestWaiting: .milliseconds(3), handled: 4)
        #expect(snapshot.mailbox == mailbox && snapshot.children.count == 1)
        let json = try JSONEncoder().encode(snapshot)
        #expect(try JSONDecoder().decode(CoordinatorSnapshot.self, from: json) == snapshot)
        // A worker of an older build leaves out what it doesn't know.
        let old = #"{"path": "/a", "type": "A", "state": "active", "host": "worker", "incarnation": 1, "uptimeMilliseconds": 7}"#
        let read = try JSONDecoder().decode(CoordinatorSnapshot.self, from: Data(old.utf8))
        #expect(read.mailbox == nil && read.uptime == .milliseconds(7) && read.children.isEmpty)
        // One of a newer build knows states, hosts and reasons that this one doesn't, and its children are seen all the same.
        let new = """
            {"path": "/a", "type": "A", "state": "dreaming", "host": "moon", "incarnation": 1, "lastExit": {"abducted": {}},
             "children": [{"path": "/a/b", "type": "B", "state": "active", "host": "worker", "incarnation": 1}]}
            """
        let strange = try JSONDecoder().decode(CoordinatorSnapshot.self, from: Data(new.utf8))
        #expect(strange.state == .active && strange.host == .inProcess && strange.lastExit == .unknown && strange.children.count == 1)
    }

    private func run(
        _ place: Where,
        configure: (inout ObservedRoot.Configuration) -> Void = { _ in },
        _ body: (ObservedTree, Notebook) async throws -> Void
    ) async throws {
        let notebook = try Notebook.temporary()
        defer { notebook.remove() }
        try await ObservedTree.run(place, [Recorder()], notebook, configure: configure) { try await body($0, notebook) }
    }

    private func mailbox(_ tree: ObservedTree) async throws -> CoordinatorSnapshot.Mailbox {
        try #require(try await tree.runtime.snapshot(of: "/child").mailbox)
    }
}
