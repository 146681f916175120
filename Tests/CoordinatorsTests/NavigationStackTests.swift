import TestSupport
import Testing

@testable import Coordinators
@testable import Supervision

@Suite("Navigation: the stack that coordinators share")
struct NavigationStackTests {
    // MARK: Moves

    @Test("show appends, whichever coordinator is on top")
    func show() {
        let stack = stacked(("/a", 1))
        let effects = stack.apply(.show(.integer(2), isModal: false), by: "/a/b")
        #expect(stack.words == ["/a 1", "/a/b 2"])
        #expect(effects == NavigationStack.Effects())
    }

    @Test("replaceTop replaces the coordinator's own top page, and removes the pages above it")
    func replaceTop() {
        let stack = stacked(("/a", 1), ("/a", 2), ("/a/b", 3))
        let effects = stack.apply(.replaceTop(.integer(4)), by: "/a")
        #expect(stack.words == ["/a 1", "/a 4"])
        #expect(effects.slices == ["/a/b": []])
        #expect(effects.finished == ["/a/b"])
        #expect(!effects.uncoversSomebody)
    }

    @Test("replaceTop of a coordinator without pages shows the page")
    func replaceNothing() {
        let stack = stacked(("/a", 1))
        let effects = stack.apply(.replaceTop(.integer(2)), by: "/b")
        #expect(stack.words == ["/a 1", "/b 2"])
        #expect(effects == NavigationStack.Effects())
    }

    @Test("A modal page that is replaced stays modal")
    func replaceModal() {
        let stack = stacked(("/a", 1))
        _ = stack.apply(.show(.integer(2), isModal: true), by: "/a")
        _ = stack.apply(.replaceTop(.integer(3)), by: "/a")
        #expect(stack.entries.map(\.isModal) == [false, true])
        _ = stack.apply(.dismiss, by: "/a")
        #expect(stack.words == ["/a 1"])
    }

    @Test("setRoot leaves one page, and removes the pages above the first")
    func setRoot() {
        let stack = stacked(("/", 0), ("/a", 1), ("/b", 2), ("/a", 3))
        let effects = stack.apply(.setRoot(.integer(4)), by: "/a")
        #expect(stack.words == ["/ 0", "/a 4"])
        #expect(effects.finished == ["/b"])
        #expect(effects.slices == ["/b": []])
        #expect(!effects.uncoversSomebody)
    }

    @Test("pop removes the top page and everything above it")
    func pop() {
        let stack = stacked(("/a", 1), ("/a", 2), ("/b", 3))
        let effects = stack.apply(.pop, by: "/a")
        #expect(stack.words == ["/a 1"])
        #expect(effects.finished == ["/b"])
        // A coordinator that has popped a page of its own knows the one below it.
        #expect(!effects.uncoversSomebody)
        #expect(stack.apply(.pop, by: "/b") == NavigationStack.Effects())
        #expect(stack.words == ["/a 1"])
    }

    @Test("Popping the first page finishes the coordinator, and uncovers the one below")
    func popFirst() {
        let stack = stacked(("/", 0), ("/a", 1))
        let effects = stack.apply(.pop, by: "/a")
        #expect(stack.words == ["/ 0"])
        #expect(effects.finished == ["/a"])
        #expect(effects.slices.isEmpty)
        #expect(effects.uncovered?.path == "/")
        #expect(effects.uncovered?.page == .integer(0))
    }

    @Test("Popping the last page of all leaves the stack empty, and reports it")
    func empty() throws {
        let stack = stacked(("/a", 1))
        let effects = stack.apply(.pop, by: "/a")
        #expect(stack.entries.isEmpty)
        let uncovered = try #require(effects.uncovered)
        #expect(uncovered.path == nil)
        #expect(uncovered.page == nil)
    }

    @Test("popTo leaves the page on top, and does nothing without it")
    func popTo() {
        let stack = stacked(("/a", 1), ("/a", 2), ("/b", 3))
        #expect(stack.apply(.popTo(.integer(3)), by: "/a") == NavigationStack.Effects())
        let effects = stack.apply(.popTo(.integer(1)), by: "/a")
        #expect(stack.words == ["/a 1"])
        #expect(effects.finished == ["/b"])
        #expect(stack.apply(.popTo(.integer(1)), by: "/a") == NavigationStack.Effects())
    }

    @Test("dismiss removes the coordinator's topmost modal page and everything above it")
    func dismiss() {
        let stack = stacked(("/a", 1))
        _ = stack.apply(.show(.integer(2), isModal: true), by: "/a")
        _ = stack.apply(.show(.integer(3), isModal: true), by: "/b")
        _ = stack.apply(.show(.integer(4), isModal: false), by: "/a")
        let effects = stack.apply(.dismiss, by: "/a")
        #expect(stack.words == ["/a 1"])
        #expect(effects.finished == ["/b"])
        #expect(stack.apply(.dismiss, by: "/a") == NavigationStack.Effects())
    }

    // MARK: Effects

    @Test("A coordinator whose slice another's move has changed gets the rest of it")
    func slices() {
        let stack = stacked(("/b", 1), ("/a", 2), ("/b", 3), ("/c", 4))
        let effects = stack.apply(.pop, by: "/a")
        #expect(stack.words == ["/b 1"])
        #expect(effects.slices.mapValues { $0.map(\.page) } == ["/b": [.integer(1)], "/c": []])
        #expect(effects.finished.sorted { "\($0)" < "\($1)" } == ["/a", "/c"])
        #expect(effects.uncovered?.path == "/b")
    }

    @Test("The innermost coordinators are finished first")
    func innermostFirst() {
        let stack = stacked(("/", 0), ("/a", 1), ("/a/b/c", 2), ("/a/b", 3))
        #expect(stack.apply(.setRoot(.integer(9)), by: "/").finished == ["/a/b/c", "/a/b", "/a"])
    }

    @Test("A rewind removes a subtree's pages, wherever they are, and finishes no coordinator")
    func rewind() {
        let stack = stacked(("/", 0), ("/a", 1), ("/ab", 2), ("/a/b", 3))
        let effects = stack.apply(.rewind, by: "/a")
        #expect(stack.words == ["/ 0", "/ab 2"])
        #expect(effects.slices.isEmpty)
        #expect(effects.finished.isEmpty)
        #expect(effects.uncovered?.path == "/ab")
        #expect(effects.uncovered?.page == .integer(2))
        _ = stack.apply(.rewind, by: "/")
        #expect(stack.entries.isEmpty)
    }

    @Test("A rewind below the top uncovers no coordinator")
    func rewindBelow() {
        let stack = stacked(("/", 0), ("/a", 1), ("/b", 2))
        let effects = stack.apply(.rewind, by: "/a")
        #expect(stack.words == ["/ 0", "/b 2"])
        #expect(effects == NavigationStack.Effects())
    }

    // MARK: Random walk

    @Test(
        "Ten thousand random moves do what a naive model does, and each coordinator's view stays correct",
        arguments: [UInt64(1), 2, 3, .random(in: 4 ... .max)]
    )
    func randomWalk(_ seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed, "navigation")
        let paths: [CoordinatorPath] = ["/", "/a", "/a/b", "/a/b/c", "/d", "/d/e", "/ab"]
        let stack = NavigationStack()
        var model = NaiveStack()
        /// The pages that each coordinator takes for its own.
        var views: [CoordinatorPath: [NavigationEntry]] = [:]
        for step in 1...10_000 {
            let path = paths[Int.random(in: 0..<paths.count, using: &dice)]
            let move = model.randomMove(by: path, page: step, using: &dice)
            let expected = model.apply(move, by: path)
            if move == .rewind {
                for other in paths where other.isWithin(path) { views[other] = nil }
            } else {
                views[path, default: []].apply(move, by: path, 0)
            }
            var found = stack.apply(move, by: path)
            for (other, slice) in found.slices { views[other] = slice }
            let depths = found.finished.map(\.components.count)
            try #require(depths == depths.sorted(by: >), "seed \(seed), step \(step): \(found.finished)")
            // Those of equal depth may come in any order.
            found.finished.sort { ($1.components.count, "\($0)") < ($0.components.count, "\($1)") }
            try #require(stack.entries == model.entries, "seed \(seed), step \(step): \(move) by \(path)")
            try #require(found == expected, "seed \(seed), step \(step): \(move) by \(path)")
            for other in paths {
                let slice = model.entries.filter { $0.path == other }
                try #require(views[other] ?? [] == slice, "seed \(seed), step \(step): what \(other) sees after \(move) by \(path)")
            }
        }
    }

    private func stacked(_ pages: (CoordinatorPath, Int64)...) -> NavigationStack {
        let stack = NavigationStack()
        for (path, page) in pages { _ = stack.apply(.show(.integer(page), isModal: false), by: path) }
        return stack
    }
}

/// The stack as one would explain it: every move says which pages stay and which one comes.
private struct NaiveStack {
    private(set) var entries: [NavigationEntry] = []

    mutating func apply(_ move: NavigationMove, by path: CoordinatorPath) -> NavigationStack.Effects {
        let before = entries
        let own = before.indices.filter { before[$0].path == path }
        switch move {
        case .show(let page, let isModal): entries.append(NavigationEntry(path: path, page: page, isModal: isModal))
        case .replaceTop(let page):
            let isModal = own.last.map { before[$0].isModal } ?? false
            keep(own.last)
            entries.append(NavigationEntry(path: path, page: page, isModal: isModal))
        case .setRoot(let page):
            keep(own.first)
            entries.append(NavigationEntry(path: path, page: page, isModal: false))
        case .pop: keep(own.last)
        case .popTo(let page): keep(own.last { before[$0].page == page }.map { $0 + 1 })
        case .dismiss: keep(own.last { before[$0].isModal })
        case .rewind: entries = before.filter { !$0.path.isWithin(path) }
        }
        return effects(before, move, path)
    }

    /// So many stay; all of them without a number.
    private mutating func keep(_ count: Int?) {
        if let count { entries = Array(entries.prefix(count)) }
    }

    private func effects(_ before: [NavigationEntry], _ move: NavigationMove, _ path: CoordinatorPath) -> NavigationStack.Effects {
        var effects = NavigationStack.Effects()
        for owner in Set(before.map(\.path)) {
            let former = before.filter { $0.path == owner }
            let now = entries.filter { $0.path == owner }
            let isRewound = move == .rewind && owner.isWithin(path)
            if former != now, owner != path, !isRewound { effects.slices[owner] = now }
            if now.isEmpty, move != .rewind { effects.finished.append(owner) }
        }
        effects.finished.sort { ($1.components.count, "\($0)") < ($0.components.count, "\($1)") }
        // Pages are unique here: one that is on top and was there before has been uncovered if it wasn't on top.
        guard !before.isEmpty, before.last != entries.last else { return effects }
        guard let top = entries.last else {
            effects.uncovered = (nil, nil)
            return effects
        }
        if before.contains(top), top.path != path || move == .rewind { effects.uncovered = (top.path, top.page) }
        return effects
    }

    /// A move whose page, if it shows one, has never been shown.
    func randomMove(by path: CoordinatorPath, page: Int, using dice: inout SeededGenerator) -> NavigationMove {
        let page = JSONValue.integer(Int64(page))
        switch Int.random(in: 0..<100, using: &dice) {
        case 0..<35: return .show(page, isModal: false)
        case 35..<45: return .show(page, isModal: true)
        case 45..<55: return .replaceTop(page)
        case 55..<60: return .setRoot(page)
        case 60..<75: return .pop
        case 75..<85: return .popTo(entries.randomElement(using: &dice)?.page ?? page)
        case 85..<93: return .dismiss
        default: return .rewind
        }
    }
}

extension NavigationStack {
    /// The pages, bottom first: "/a 1".
    fileprivate var words: [String] {
        entries.map { entry in
            guard case .integer(let page) = entry.page else { return "\(entry.path) ?" }
            return "\(entry.path) \(page)"
        }
    }
}

extension NavigationStack.Effects {
    fileprivate var uncoversSomebody: Bool { uncovered != nil }
}
