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
            let pages = try await tree.runtime.ask(FixtureFlow.Pages(), at: "/shop", timeout: .seconds(15))
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
            let childs = try await tree.runtime.ask(FixtureFlow.Pages(), at: "/child", timeout: .seconds(15))
            #expect(childs == [.product(1)])
            let inners = try await tree.runtime.ask(FixtureFlow.Pages(), at: "/child/inner", timeout: .seconds(15))
            #expect(inners == [.product(2), .review(of: 2, stars: 3)])
        }
    }

    @Test("What happens to coordinators and pages changes the stack, step by step", arguments: PageCase.all, Where.allCases)
    fileprivate func steps(_ pages: PageCase, _ place: Where) async throws {
        try await PageTree.run { tree in for step in pages.steps { try await step.take(in: tree, place) } }
    }

    @Test("A navigation coordinator has a stack of its own", arguments: Where.allCases)
    func ownStack(_ place: Where) async throws {
        try await PageTree.run { tree in
            tree.root.show(.list)
            try await tree.start(StackCoordinator.self, as: "stack", place) { $0.pagesAtStart = [.product(1)] }
            try await tree.step("inner", below: "/stack", place) { $0.pagesAtStart = [.product(2)] }
            try await eventually("its stack has both pages") {
                try await tree.runtime.ask(StackCoordinator.Stack(), at: "/stack", timeout: .seconds(15)) == ["/stack", "/stack/inner"]
            }
            try await tree.shows(["/ list"])
            let seen = try await tree.perform(.navigation, at: "/stack/inner")
            #expect(seen == "/stack /stack/inner")
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
        try await PageTree.run(options: Support.options.allowing(restarts: 1)) { tree in
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
            await Support.expect(.dismissed) { try await running.value }
            try await tree.isGone("/child")
            try await tree.reads("/child stop")
            try await tree.reads("/ popped list")
            try await tree.shows(["/ list"])
            // A transient child that was dismissed isn't started again.
            #expect(tree.count("/child start") == 1)
        }
    }
}

/// What happens to a tree, and what its stack and its notebook show then.
private struct PageCase: CustomTestStringConvertible, Sendable {
    enum Step: Sendable {
        /// The root shows a page, and so on.
        case root(FixtureFlow.Action)
        /// A step coordinator begins with a page.
        case start(String, below: CoordinatorPath = .root, [StepCoordinator.Page] = [])
        case act(CoordinatorPath, FixtureFlow.Action)
        /// It may be gone before it answers.
        case last(CoordinatorPath, FixtureFlow.Action)
        case remove(String)
        case shows([String])
        /// At once.
        case showsNow([String])
        case isGone(CoordinatorPath)
        case reads(String)
        case count(String, Int)
        case incarnation(CoordinatorPath, UInt32)

        func take(in tree: PageTree, _ place: Where) async throws {
            switch self {
            case .root(.show(let page)): tree.root.show(page)
            case .root(.present(let page)): tree.root.present(page)
            case .root(.popTo(let page)): tree.root.pop(to: page)
            case .root(.dismiss): tree.root.dismiss()
            case .root(let action): Issue.record("the root can't do \(action)")
            case .start(let key, .root, let pages): try await tree.step(key, place) { $0.pagesAtStart = pages }
            case .start(let key, let path, let pages): try await tree.step(key, below: path, place) { $0.pagesAtStart = pages }
            case .act(let path, let action): try await tree.perform(action, at: path)
            case .last(let path, let action): _ = try? await tree.perform(action, at: path)
            case .remove(let key): try await tree.root.remove(key)
            case .shows(let stack): try await tree.shows(stack)
            case .showsNow(let stack): #expect(try await tree.stack() == stack)
            case .isGone(let path): try await tree.isGone(path)
            case .reads(let line): try await tree.reads(line)
            case .count(let line, let count): #expect(tree.count(line) == count, "\(line)")
            case .incarnation(let path, let number): #expect(try await tree.runtime.snapshot(of: path).incarnation == number)
            }
        }
    }

    let testDescription: String
    let steps: [Step]

    init(_ description: String, _ steps: [Step]) { (testDescription, self.steps) = (description, steps) }

    static let all = [
        PageCase(
            "a coordinator shows, replaces, pops and sets the root of its pages",
            [
                .start("child"), .act("/child", .show(.list)), .act("/child", .show(.product(1))),
                .shows(["/child list", "/child product(1)"]), .act("/child", .replaceTop(.product(2))),
                .shows(["/child list", "/child product(2)"]), .act("/child", .show(.product(3))), .act("/child", .pop),
                .shows(["/child list", "/child product(2)"]), .act("/child", .show(.product(4))), .act("/child", .show(.product(5))),
                .act("/child", .popTo(.list)), .shows(["/child list"]), .act("/child", .show(.product(6))),
                .act("/child", .setRoot(.review(of: 6, stars: 1))), .shows(["/child review(of: 6, stars: 1)"]), .incarnation("/child", 1),
            ]
        ),
        PageCase(
            "dismissing removes the topmost modal page and all above it",
            [
                .start("child", [.list]), .act("/child", .present(.product(1))), .act("/child", .show(.product(2))),
                .act("/child", .present(.product(3))), .act("/child", .show(.product(4))),
                .shows(["/child list", "/child product(1)", "/child product(2)", "/child product(3)", "/child product(4)"]),
                .act("/child", .dismiss), .shows(["/child list", "/child product(1)", "/child product(2)"]), .act("/child", .dismiss),
                .shows(["/child list"]),
            ]
        ),
        // Its first page is gone, and so is the child.
        PageCase(
            "dismissing a coordinator's modal page removes the pages of others above it",
            [
                .root(.show(.list)), .root(.present(.product(1))), .start("child", [.product(2)]),
                .shows(["/ list", "/ product(1)", "/child product(2)"]), .root(.dismiss), .shows(["/ list"]), .isGone("/child"),
            ]
        ),
        // The former owner is told once, however many pages were above.
        PageCase(
            "a stop rewinds to the pages before the start",
            [
                .root(.show(.list)), .start("child", [.product(1)]), .start("inner", below: "/child", [.product(2)]),
                .shows(["/ list", "/child product(1)", "/child/inner product(2)"]), .remove("child"), .showsNow(["/ list"]),
                .reads("/ popped list"), .start("child", [.product(3)]), .shows(["/ list", "/child product(3)"]),
            ]
        ),
        PageCase(
            "a stop of a coordinator between others removes its own pages alone",
            [
                .start("one", [.product(1)]), .shows(["/one product(1)"]), .start("two", [.product(2)]),
                .shows(["/one product(1)", "/two product(2)"]), .start("three", [.product(3)]),
                .shows(["/one product(1)", "/two product(2)", "/three product(3)"]), .remove("two"),
                .shows(["/one product(1)", "/three product(3)"]), .remove("three"), .shows(["/one product(1)"]),
                .reads("/one popped product(1)"),
            ]
        ),
        PageCase(
            "a parent without a page of its own is uncovered without a page",
            [
                .start("child", [.list]), .shows(["/child list"]), .remove("child"), .shows([]), .reads("/ popped nil"),
            ]
        ),
        PageCase(
            "popping to a page below a child finishes it and its subtree",
            [
                .root(.show(.list)), .root(.show(.product(0))), .start("child", [.product(1)]),
                .start("inner", below: "/child", [.product(2)]),
                .shows(["/ list", "/ product(0)", "/child product(1)", "/child/inner product(2)"]), .root(.popTo(.list)),
                .shows(["/ list"]), .isGone("/child"), .reads("/child/inner stop"), .reads("/child stop"),
            ]
        ),
        // Permanent is the default of `start`; afterwards the key is free.
        PageCase(
            "popping finishes a permanent child as well",
            [
                .root(.show(.list)), .start("child", [.product(1)]), .shows(["/ list", "/child product(1)"]), .last("/child", .pop),
                .isGone("/child"), .reads("/ popped list"), .count("/child start", 1), .start("child", [.product(2)]),
                .shows(["/ list", "/child product(2)"]),
            ]
        ),
        // The child owns the top again, and the root was never exposed.
        PageCase(
            "popping a child's pages uncovers the child below it, and not the root",
            [
                .root(.show(.list)), .start("child", [.product(1)]), .start("inner", below: "/child", [.product(2)]),
                .shows(["/ list", "/child product(1)", "/child/inner product(2)"]), .last("/child/inner", .pop),
                .reads("/child popped product(1)"), .shows(["/ list", "/child product(1)"]), .isGone("/child/inner"),
                .count("/ popped list", 0), .act("/child", .show(.product(3))),
                .shows(["/ list", "/child product(1)", "/child product(3)"]),
            ]
        ),
    ]
}
