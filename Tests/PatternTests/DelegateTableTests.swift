import Coordinators
import Fixtures
import TestSupport
import Testing

@Suite("Pattern: names, tables and directions", .timeLimit(minutes: 3))
struct DelegateTableTests {
    @Test("A prefix row intercepts all messages of a namespace", arguments: Where.allCases)
    func prefix(_ place: Where) async throws {
        #expect(Basket.Add.name == "Basket.Add")
        #expect(Basketball.Throw.name == "Basketball.Throw")
        try await PageTree.run { tree in
            try await tree.start(AuditCoordinator.self, as: "audit", place)
            try await tree.step("step", below: "/audit", place)
            let count = try await tree.perform(.add(sku: "apple"), at: "/audit/step")
            #expect(count == "1")
            try await tree.perform(.toggle, at: "/audit/step")
            // Another namespace, though its name begins with the same letters.
            let thrown = try await tree.runtime.ask(Basketball.Throw(), at: "/audit/step", timeout: .seconds(15))
            #expect(thrown == "in the basket")
            #expect(
                tree.notebook.words(at: "/audit") == [
                    "saw Basket.Add from /audit/step", "of apple", "answered Basket.Add",
                    // The same table goes on after its interceptor, so the root isn't reached.
                    "saw Basket.Toggle from /audit/step", "toggled", "answered Basket.Toggle",
                ]
            )
            #expect(tree.count("/ toggled") == 0)
        }
    }

    @Test("A message that no coordinator answers stays unhandled behind a prefix row", arguments: Where.allCases)
    func unhandledBehindPrefix(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.start(AuditCoordinator.self, as: "audit", place)
            try await tree.step("step", below: "/audit", place)
            await Support.expect(.unhandled) { try await tree.perform(.basketOfUnknown, at: "/audit/step") }
            try await tree.reads("/ unhandled Basket.Unknown from /audit/step")
            #expect(tree.count("/audit saw Basket.Unknown from /audit/step") == 1)
            #expect(tree.count("/audit answered Basket.Unknown") == 0)
        }
    }

    @Test("A message and an event of one child reach one table of its parent", arguments: Where.allCases)
    func oneTable(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.step("child", place)
            // No delegate was added.
            let echo = try await tree.perform(.echo("up the chain"), at: "/child")
            #expect(echo == "up the chain")
            try await tree.perform(.emit(.count(7)), at: "/child")
            try await tree.reads("/ child told count(7)")
        }
    }

    @Test("A flow knows its input and its output, and neither its parent's type nor its siblings", arguments: Where.allCases)
    func isolation(_ place: Where) async throws {
        try await PageTree.run { tree in
            // One type below two types of parents.
            try await tree.start(AuditCoordinator.self, as: "audit", place)
            try await tree.step("one", place)
            try await tree.step("two", place)
            try await tree.step("three", below: "/audit", place)
            for path: CoordinatorPath in ["/one", "/two", "/audit/three"] { try await tree.perform(.emit(.count(1)), at: path) }
            try await tree.reads("/ one told count(1)")
            try await tree.reads("/ two told count(1)")
            // Only the parent is told: not the grandparent, not a sibling.
            #expect(tree.count("/ three told count(1)") == 0)
            #expect(tree.notebook.words(at: "/two") == ["start"])
        }
    }

    @Test("A child's events are a sequence for code outside the tree", arguments: Where.allCases)
    func events(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.step("child", place)
            let events = child.events()
            let listening = Task {
                var heard: [StepCoordinator.Event] = []
                for try await event in events { heard.append(event) }
                return heard
            }
            try await tree.perform(.emit(.loggedIn(user: "ann")), at: "/child")
            try await tree.perform(.emit(.failed(reason: "no")), at: "/child")
            try await tree.reads("/ child told failed(reason: \"no\")")
            try await tree.root.remove("child")
            // What was told before the end is heard, and the end ends the sequence.
            let heard = try await listening.value
            #expect(heard == [.loggedIn(user: "ann"), .failed(reason: "no")])
        }
    }

    @Test("A closure gets events until it's cancelled", arguments: Where.allCases)
    func onEvent(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.step("child", place)
            let first = Heard()
            let second = Heard()
            let subscription = child.onEvent { first.append($0) }
            let other = child.onEvent { second.append($0) }
            try await tree.perform(.emit(.count(1)), at: "/child")
            try await eventually("both hear") { first.events == [.count(1)] && second.events == [.count(1)] }
            subscription.cancel()
            try await tree.perform(.emit(.count(2)), at: "/child")
            try await eventually("the other hears on") { second.events == [.count(1), .count(2)] }
            #expect(first.events == [.count(1)])
            other.cancel()
        }
    }

    @Test("A sequence without a reader keeps the newest 256 events", arguments: Where.allCases)
    func bounded(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.step("child", place)
            let events = child.events()
            let heard = Heard()
            let subscription = child.onEvent { heard.append($0) }
            defer { subscription.cancel() }
            try await tree.perform(.emitCounts(1_000), at: "/child")
            try await eventually("the last has come") { heard.events.last == .count(1_000) }
            var kept: [Int] = []
            for try await case .count(let number) in events {
                kept.append(number)
                if number == 1_000 { break }
            }
            // One may have been on its way to a reader already.
            #expect(kept.count <= 257)
            #expect(kept.count > 0 && kept == kept.sorted())
            #expect(kept.suffix(200) == Array(801...1_000)[...])
        }
    }

    @Test("An ask of a parent to its child stays with the child", arguments: Where.allCases)
    func straightDown(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.step("child", place)
            let there = try await child.ask(Fixture.WhereAmI(), timeout: .seconds(15))
            #expect(there.path == "/child")
            // The root would answer it.
            await Support.expect(.unhandled) { try await child.ask(Fixture.Echo("no"), timeout: .seconds(15)) }
            let isTaken = try await child.send(Fixture.Echo("no"))
            #expect(!isTaken)
        }
    }

    @Test("An ask to a child that is gone fails at once", arguments: Where.allCases)
    func deadChild(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.step("child", place)
            try await tree.root.remove("child")
            // The deadline is longer than the test may take.
            let error = await #expect(throws: CoordinatorError.self) { try await child.ask(Fixture.WhereAmI(), timeout: .seconds(600)) }
            #expect([.stopped, .noSuchChild, .peerLost].contains(error?.code))
            #expect(child.state == .inactive)
            // Twice is not an error.
            await child.remove()
        }
    }
}
