import Coordinators
import Fixtures
import TestSupport
import Testing

@Suite("Pattern: dismissal", .timeLimit(minutes: 3))
struct DelegateDismissalTests {
    @Test("A parent without a dismissal row dismisses the child", arguments: Where.allCases)
    func byDefault(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.start(AuditCoordinator.self, as: "audit", place)
            try await tree.step("step", below: "/audit", place)
            await tree.asksToGo("/audit/step", milliseconds: 15_000)
            try await tree.isGone("/audit/step")
            try await tree.reads("/audit/step stop")
            // A dismissal is no crash: the child isn't started again.
            #expect(tree.count("/audit/step start") == 1)
            let snapshot = try await tree.runtime.snapshot(of: "/audit")
            #expect(snapshot.state == .active)
        }
    }

    @Test("A parent may dismiss or refuse", arguments: Where.allCases, [FixtureFlow.Decision.dismiss, .refuse])
    func decided(_ place: Where, _ decision: FixtureFlow.Decision) async throws {
        try await PageTree.run(configure: { $0.decision = decision }) { tree in
            let child = try await tree.step("child", place)
            await tree.asksToGo("/child", milliseconds: 15_000)
            try await tree.reads("/ child asked to go")
            if decision == .dismiss {
                try await tree.isGone("/child")
                try await tree.reads("/child stop")
            } else {
                try await tree.reads("/child refused")
                #expect(child.state == .active)
                #expect(child.incarnation == 1)
                let echo = try await tree.perform(.echo("still there"), at: "/child")
                #expect(echo == "still there")
            }
        }
    }

    @Test("A child that gets no answer in time stays active", arguments: Where.allCases)
    func noAnswer(_ place: Where) async throws {
        try await PageTree.run(configure: { $0.decision = .never }) { tree in
            let child = try await tree.step("child", place)
            await tree.asksToGo("/child", milliseconds: 300)
            try await tree.reads("/child refused")
            #expect(child.state == .active)
            let echo = try await tree.perform(.echo("still there"), at: "/child")
            #expect(echo == "still there")
        }
    }

    @Test("A forwarded request becomes the parent's own", arguments: Where.allCases)
    func forward(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.step("outer", place) { $0.decision = .forward }
            try await tree.step("inner", below: "/outer", place)
            await tree.asksToGo("/outer/inner", milliseconds: 15_000)
            try await tree.reads("/ outer asked to go")
            try await tree.isGone("/outer")
            try await tree.reads("/outer/inner stop")
        }
    }

    @Test("A forwarded request that is refused above is refused below", arguments: Where.allCases)
    func forwardRefused(_ place: Where) async throws {
        try await PageTree.run(configure: { $0.decision = .refuse }) { tree in
            let outer = try await tree.step("outer", place) { $0.decision = .forward }
            try await tree.step("inner", below: "/outer", place)
            await tree.asksToGo("/outer/inner", milliseconds: 15_000)
            try await tree.reads("/outer/inner refused")
            #expect(tree.count("/ outer asked to go") == 1)
            #expect(outer.state == .active)
            let inner = try await tree.runtime.snapshot(of: "/outer/inner")
            #expect(inner.state == .active)
        }
    }

    @Test("The owner of the bottom of a navigation stack asks for the whole stack", arguments: Where.allCases)
    func navigationRoot(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.start(StackCoordinator.self, as: "stack", place)
            try await tree.step("bottom", below: "/stack", place) { $0.pagesAtStart = [.list] }
            try await eventually("its page is the bottom") {
                try await tree.runtime.ask(StackCoordinator.Stack(), at: "/stack", timeout: .seconds(15)) == ["/stack/bottom"]
            }
            await tree.asksToGo("/stack/bottom", milliseconds: 15_000)
            try await tree.reads("/ stack asked to go")
            try await tree.isGone("/stack")
        }
    }

    @Test("An owner of higher pages of a navigation stack asks for itself", arguments: Where.allCases)
    func notTheBottom(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.start(StackCoordinator.self, as: "stack", place) { $0.pagesAtStart = [.list] }
            try await tree.step("above", below: "/stack", place) { $0.pagesAtStart = [.product(1)] }
            try await eventually("its page is above the stack's own") {
                try await tree.runtime.ask(StackCoordinator.Stack(), at: "/stack", timeout: .seconds(15)) == ["/stack", "/stack/above"]
            }
            await tree.asksToGo("/stack/above", milliseconds: 15_000)
            try await tree.isGone("/stack/above")
            try await tree.reads("/stack popped list")
            #expect(tree.count("/ stack asked to go") == 0)
            let stack = try await tree.runtime.snapshot(of: "/stack")
            #expect(stack.state == .active)
        }
    }
}
