import Coordinators
import Fixtures
import TestSupport
import Testing

@Suite("Pattern: pages", .timeLimit(minutes: 3))
struct PageTests {
    @Test("A section is a coordinator, and a page is a step with its values", arguments: Where.allCases)
    func sections(_ place: Where) async throws {
        try await PageTree.run(configure: { $0.sections = ["shop": place.isWorker] }) { tree in
            let product = StepCoordinator.Page.product(7)
            let review = StepCoordinator.Page.review(of: 7, stars: 5)
            // Get or start, then display: the second time nothing is started.
            try await tree.runtime.open(Route("shop", product), timeout: .seconds(20))
            try await tree.runtime.open(Route("shop", review), timeout: .seconds(20))
            #expect(tree.count("/shop start") == 1)
            try await tree.shows(["/shop product(7)", "/shop review(of: 7, stars: 5)"])
            let pages = try await tree.runtime.ask(Flow.Pages(), at: "/shop", timeout: .seconds(15))
            #expect(pages == [product, review])
        }
    }

    @Test("A tree has one stack, of which each coordinator owns its slice", arguments: Where.allCases)
    func sharedStack(_ place: Where) async throws {
        try await PageTree.run { tree in
            tree.root.show(.list)
            try await tree.step("child", place) { $0.pagesAtStart = [.product(1)] }
            try await tree.shows(["/ list", "/child product(1)"])
            try await tree.step("inner", below: "/child", place) { $0.pagesAtStart = [.product(2), .review(of: 2, stars: 3)] }
            let whole = ["/ list", "/child product(1)", "/child/inner product(2)", "/child/inner review(of: 2, stars: 3)"]
            try await tree.shows(whole)
            // The same from everywhere.
            let seen = try await tree.perform(.navigation, at: "/child/inner")
            #expect(seen == "/ /child /child/inner /child/inner")
            let here = try await tree.root.navigation().map { "\($0.path)" }
            #expect(here == ["/", "/child", "/child/inner", "/child/inner"])
            // And to each its own.
            #expect(tree.root.pages == [.list])
            let childs = try await tree.runtime.ask(Flow.Pages(), at: "/child", timeout: .seconds(15))
            #expect(childs == [.product(1)])
            let inners = try await tree.runtime.ask(Flow.Pages(), at: "/child/inner", timeout: .seconds(15))
            #expect(inners == [.product(2), .review(of: 2, stars: 3)])
        }
    }

    @Test("A coordinator shows, replaces, pops and sets the root of its pages", arguments: Where.allCases)
    func operations(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.step("child", place)
            try await tree.perform(.show(.list), at: "/child")
            try await tree.perform(.show(.product(1)), at: "/child")
            try await tree.shows(["/child list", "/child product(1)"])
            try await tree.perform(.replaceTop(.product(2)), at: "/child")
            try await tree.shows(["/child list", "/child product(2)"])
            try await tree.perform(.show(.product(3)), at: "/child")
            try await tree.perform(.pop, at: "/child")
            try await tree.shows(["/child list", "/child product(2)"])
            try await tree.perform(.show(.product(4)), at: "/child")
            try await tree.perform(.show(.product(5)), at: "/child")
            try await tree.perform(.popTo(.list), at: "/child")
            try await tree.shows(["/child list"])
            try await tree.perform(.show(.product(6)), at: "/child")
            try await tree.perform(.setRoot(.review(of: 6, stars: 1)), at: "/child")
            try await tree.shows(["/child review(of: 6, stars: 1)"])
            let snapshot = try await tree.runtime.snapshot(of: "/child")
            #expect(snapshot.incarnation == 1)
        }
    }

    @Test("Dismissing removes the topmost modal page and all above it", arguments: Where.allCases)
    func modal(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.step("child", place) { $0.pagesAtStart = [.list] }
            try await tree.perform(.present(.product(1)), at: "/child")
            try await tree.perform(.show(.product(2)), at: "/child")
            try await tree.perform(.present(.product(3)), at: "/child")
            try await tree.perform(.show(.product(4)), at: "/child")
            try await tree.shows(["/child list", "/child product(1)", "/child product(2)", "/child product(3)", "/child product(4)"])
            try await tree.perform(.dismiss, at: "/child")
            try await tree.shows(["/child list", "/child product(1)", "/child product(2)"])
            try await tree.perform(.dismiss, at: "/child")
            try await tree.shows(["/child list"])
        }
    }

    @Test("Dismissing a coordinator's modal page removes the pages of others above it", arguments: Where.allCases)
    func modalOfOthers(_ place: Where) async throws {
        try await PageTree.run { tree in
            tree.root.show(.list)
            tree.root.present(.product(1))
            try await tree.step("child", place) { $0.pagesAtStart = [.product(2)] }
            try await tree.shows(["/ list", "/ product(1)", "/child product(2)"])
            tree.root.dismiss()
            try await tree.shows(["/ list"])
            // Its first page is gone, and so is it.
            try await tree.isGone("/child")
        }
    }

    @Test("A navigation coordinator has a stack of its own", arguments: Where.allCases)
    func ownStack(_ place: Where) async throws {
        try await PageTree.run { tree in
            tree.root.show(.list)
            try await tree.root.start(StackCoordinator.self, as: "stack", in: place.isWorker ? .worker : .inProcess) {
                $0.notebook = tree.notebook
                $0.pagesAtStart = [.product(1)]
            }
            try await tree.step("inner", below: "/stack", place) { $0.pagesAtStart = [.product(2)] }
            try await eventually("its stack has both pages") {
                try await tree.runtime.ask(StackCoordinator.Stack(), at: "/stack", timeout: .seconds(15)) == ["/stack", "/stack/inner"]
            }
            try await tree.shows(["/ list"])
            let seen = try await tree.perform(.navigation, at: "/stack/inner")
            #expect(seen == "/stack /stack/inner")
        }
    }

    @Test("A stop rewinds to the pages before the start", arguments: Where.allCases)
    func stop(_ place: Where) async throws {
        try await PageTree.run { tree in
            tree.root.show(.list)
            try await tree.step("child", place) { $0.pagesAtStart = [.product(1)] }
            try await tree.step("inner", below: "/child", place) { $0.pagesAtStart = [.product(2)] }
            try await tree.shows(["/ list", "/child product(1)", "/child/inner product(2)"])
            try await tree.root.remove("child")
            let stack = try await tree.stack()
            #expect(stack == ["/ list"])
            // The former owner is told once, however many pages were above.
            try await tree.reads("/ popped list")
            try await tree.step("child", place) { $0.pagesAtStart = [.product(3)] }
            try await tree.shows(["/ list", "/child product(3)"])
        }
    }

    @Test("A stop of a coordinator between others removes its own pages alone", arguments: Where.allCases)
    func between(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.step("one", place) { $0.pagesAtStart = [.product(1)] }
            try await tree.shows(["/one product(1)"])
            try await tree.step("two", place) { $0.pagesAtStart = [.product(2)] }
            try await tree.shows(["/one product(1)", "/two product(2)"])
            try await tree.step("three", place) { $0.pagesAtStart = [.product(3)] }
            try await tree.shows(["/one product(1)", "/two product(2)", "/three product(3)"])
            try await tree.root.remove("two")
            try await tree.shows(["/one product(1)", "/three product(3)"])
            try await tree.root.remove("three")
            try await tree.shows(["/one product(1)"])
            try await tree.reads("/one popped product(1)")
        }
    }

    @Test("A parent without a page of its own is uncovered without a page", arguments: Where.allCases)
    func uncovered(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.step("child", place) { $0.pagesAtStart = [.list] }
            try await tree.shows(["/child list"])
            try await tree.root.remove("child")
            try await tree.shows([])
            try await tree.reads("/ popped nil")
        }
    }

    @Test("A page that no link can carry is not shown, and becomes a dead letter")
    func tooLarge() async throws {
        // Placement: a worker, for within a process there is no such limit.
        try await PageTree.run { tree in
            let child = try await tree.root.start(LastWordsCoordinator.self, as: "child", in: .worker)
            for bytes in [10, 1 << 20, 20] { try await child.ask(LastWords.Show(bytes: bytes), timeout: .seconds(20)) }
            #expect(try await child.ask(LastWords.Pages(), timeout: .seconds(20)) == [10, 20])
            try await eventually("the stack has the others") { try await tree.root.navigation().count == 2 }
            try await eventually("it's a dead letter") { tree.runtime.deadLetters.count == 1 }
            #expect(tree.runtime.deadLetters.letters.first?.name == "coordinators.Navigate")
            // One that is as large as may be crosses.
            try await child.ask(LastWords.Show(bytes: (1 << 20) - 4_096), timeout: .seconds(20))
            try await eventually("it's shown") { try await tree.root.navigation().count == 3 }
        }
    }

    @Test("A new incarnation shows its pages again, and those of the old one are gone", arguments: Where.allCases)
    func restart(_ place: Where) async throws {
        try await PageTree.run { tree in
            tree.root.show(.list)
            try await tree.step("child", place) { $0.pagesAtStart = [.product(1)] }
            try await tree.perform(.show(.product(2)), at: "/child")
            try await tree.step("inner", below: "/child", place) { $0.pagesAtStart = [.product(3)] }
            try await tree.shows(["/ list", "/child product(1)", "/child product(2)", "/child/inner product(3)"])
            if place.isWorker { _ = try await tree.runtime.kill("/child") } else { await tree.fail("/child") }
            try await tree.reaches(.active, at: "/child", incarnation: 2)
            try await tree.shows(["/ list", "/child product(1)"])
        }
    }

    @Test("Giving up a child rewinds its pages too", arguments: Where.allCases)
    func gaveUp(_ place: Where) async throws {
        var options = Support.options
        options.supervision = SupervisionPolicy(.oneForOne, intensity: 1, period: .seconds(60), backoff: .none)
        try await PageTree.run(options: options) { tree in
            tree.root.show(.list)
            try await tree.step("child", place) {
                $0.pagesAtStart = [.product(1)]
                $0.livesOnce = true
            }
            try await tree.shows(["/ list", "/child product(1)"])
            await tree.fail("/child")
            try await tree.reaches(.failed, at: "/child")
            try await tree.shows(["/ list"])
            try await eventually("the root's page is on top again") { tree.count("/ popped list") > 0 }
        }
    }

    @Test("Popping past a child's first page finishes it, and the run throws", arguments: Where.allCases)
    func dismissed(_ place: Where) async throws {
        try await PageTree.run { tree in
            tree.root.show(.list)
            let running = Task {
                try await tree.root.run(StepCoordinator.self, as: "child", in: place.isWorker ? .worker : .inProcess) {
                    $0.notebook = tree.notebook
                    $0.pagesAtStart = [.product(1), .product(2)]
                }
            }
            try await tree.shows(["/ list", "/child product(1)", "/child product(2)"])
            try await tree.perform(.pop, at: "/child")
            try await tree.shows(["/ list", "/child product(1)"])
            _ = try? await tree.perform(.pop, at: "/child")
            let error = await #expect(throws: CoordinatorError.self) { try await running.value }
            #expect(error?.code == .dismissed)
            try await tree.isGone("/child")
            try await tree.reads("/child stop")
            try await tree.reads("/ popped list")
            try await tree.shows(["/ list"])
            // A transient child that was dismissed isn't started again.
            #expect(tree.count("/child start") == 1)
        }
    }

    @Test("Popping to a page below a child finishes it and its subtree", arguments: Where.allCases)
    func popTo(_ place: Where) async throws {
        try await PageTree.run { tree in
            tree.root.show(.list)
            tree.root.show(.product(0))
            try await tree.step("child", place) { $0.pagesAtStart = [.product(1)] }
            try await tree.step("inner", below: "/child", place) { $0.pagesAtStart = [.product(2)] }
            try await tree.shows(["/ list", "/ product(0)", "/child product(1)", "/child/inner product(2)"])
            tree.root.pop(to: .list)
            try await tree.shows(["/ list"])
            try await tree.isGone("/child")
            try await tree.reads("/child/inner stop")
            try await tree.reads("/child stop")
        }
    }

    @Test("Popping finishes a permanent child as well", arguments: Where.allCases)
    func permanent(_ place: Where) async throws {
        try await PageTree.run { tree in
            tree.root.show(.list)
            // Permanent is the default of `start`.
            try await tree.step("child", place) { $0.pagesAtStart = [.product(1)] }
            try await tree.shows(["/ list", "/child product(1)"])
            _ = try? await tree.perform(.pop, at: "/child")
            try await tree.isGone("/child")
            try await tree.reads("/ popped list")
            #expect(tree.count("/child start") == 1)
            // Its key is free.
            try await tree.step("child", place) { $0.pagesAtStart = [.product(2)] }
            try await tree.shows(["/ list", "/child product(2)"])
        }
    }

    @Test("Popping a child's pages uncovers the child below it, and not the root", arguments: Where.allCases)
    func exposed(_ place: Where) async throws {
        try await PageTree.run { tree in
            tree.root.show(.list)
            try await tree.step("child", place) { $0.pagesAtStart = [.product(1)] }
            try await tree.step("inner", below: "/child", place) { $0.pagesAtStart = [.product(2)] }
            try await tree.shows(["/ list", "/child product(1)", "/child/inner product(2)"])
            _ = try? await tree.perform(.pop, at: "/child/inner")
            try await tree.reads("/child popped product(1)")
            try await tree.shows(["/ list", "/child product(1)"])
            try await tree.isGone("/child/inner")
            // It owns the top again, and the root was never exposed.
            #expect(tree.count("/ popped list") == 0)
            try await tree.perform(.show(.product(3)), at: "/child")
            try await tree.shows(["/ list", "/child product(1)", "/child product(3)"])
        }
    }
}
