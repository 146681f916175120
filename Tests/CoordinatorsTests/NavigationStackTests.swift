import TestSupport
import Testing

@testable import Coordinators
@testable import Supervision

@Suite("Navigation: the stack that coordinators share")
struct NavigationStackTests {
    // MARK: Moves

    @Test("show appends, whichever coordinator is on top")
    func show() throws {
        try expectMove(.show(2, isModal: false), by: "/a/b", on: "/a 1", leaves: "/a 1, /a/b 2")
    }

    @Test("replaceTop replaces the coordinator's own top page, and removes the pages above it")
    func replaceTop() throws {
        let pages = "/a 1, /a 2, /a/b 3"
        try expectMove(.replaceTop(4), by: "/a", on: pages, leaves: "/a 1, /a 4", slices: ["/a/b": ""], finishes: ["/a/b"])
    }

    @Test("replaceTop of a coordinator without pages shows the page")
    func replaceNothing() throws {
        try expectMove(.replaceTop(2), by: "/b", on: "/a 1", leaves: "/a 1, /b 2")
    }

    @Test("A modal page that is replaced stays modal")
    func replaceModal() throws {
        try expectMove(.replaceTop(3), by: "/a", on: "/a 1, /a 2!", leaves: "/a 1, /a 3!")
    }

    @Test("setRoot leaves one page, and removes the pages above the first")
    func setRoot() throws {
        let pages = "/ 0, /a 1, /b 2, /a 3"
        try expectMove(.setRoot(4), by: "/a", on: pages, leaves: "/ 0, /a 4", slices: ["/b": ""], finishes: ["/b"])
    }

    @Test("pop removes the top page and everything above it; a coordinator that has popped a page of its own knows the one below it")
    func pop() throws {
        try expectMove(.pop, by: "/a", on: "/a 1, /a 2, /b 3", leaves: "/a 1", slices: ["/b": ""], finishes: ["/b"])
        try expectMove(.pop, by: "/b", on: "/a 1", leaves: "/a 1")
    }

    @Test("Popping the first page finishes the coordinator, and uncovers the one below")
    func popFirst() throws {
        try expectMove(.pop, by: "/a", on: "/ 0, /a 1", leaves: "/ 0", finishes: ["/a"], uncovers: "/ 0")
    }

    @Test("Popping the last page of all leaves the stack empty, and reports it")
    func empty() throws {
        try expectMove(.pop, by: "/a", on: "/a 1", leaves: "", finishes: ["/a"], uncovers: "")
    }

    @Test("popTo leaves the page on top, and does nothing without it")
    func popTo() throws {
        let pages = "/a 1, /a 2, /b 3"
        try expectMove(.popTo(3), by: "/a", on: pages, leaves: pages)
        try expectMove(.popTo(1), by: "/a", on: pages, leaves: "/a 1", slices: ["/b": ""], finishes: ["/b"])
        try expectMove(.popTo(1), by: "/a", on: "/a 1", leaves: "/a 1")
    }

    @Test("dismiss removes the coordinator's topmost modal page and everything above it")
    func dismiss() throws {
        try expectMove(.dismiss, by: "/a", on: "/a 1, /a 2!, /b 3!, /a 4", leaves: "/a 1", slices: ["/b": ""], finishes: ["/b"])
        try expectMove(.dismiss, by: "/a", on: "/a 1", leaves: "/a 1")
    }

    // MARK: Effects

    @Test("A coordinator whose slice another's move has changed gets the rest of it")
    func slices() throws {
        let slices: [CoordinatorPath: String] = ["/b": "/b 1", "/c": ""]
        let pages = "/b 1, /a 2, /b 3, /c 4"
        try expectMove(.pop, by: "/a", on: pages, leaves: "/b 1", slices: slices, finishes: ["/a", "/c"], uncovers: "/b 1")
    }

    @Test("The innermost coordinators are finished first")
    func innermostFirst() throws {
        let finished: [CoordinatorPath] = ["/a/b/c", "/a/b", "/a"]
        let slices = Dictionary(uniqueKeysWithValues: finished.map { ($0, "") })
        try expectMove(.setRoot(9), by: "/", on: "/ 0, /a 1, /a/b/c 2, /a/b 3", leaves: "/ 9", slices: slices, finishes: finished)
    }

    @Test("A rewind removes a subtree's pages, wherever they are, and finishes no coordinator")
    func rewind() throws {
        try expectMove(.rewind, by: "/a", on: "/ 0, /a 1, /ab 2, /a/b 3", leaves: "/ 0, /ab 2", uncovers: "/ab 2")
        try expectMove(.rewind, by: "/", on: "/ 0, /ab 2", leaves: "", uncovers: "")
    }

    @Test("A rewind below the top uncovers no coordinator")
    func rewindBelow() throws {
        try expectMove(.rewind, by: "/a", on: "/ 0, /a 1, /b 2", leaves: "/ 0, /b 2")
    }

    /// Expects all that a move does to pages, which are written bottom first, modal ones with an exclamation mark.
    private func expectMove(
        _ move: NavigationMove,
        by path: CoordinatorPath,
        on pages: String,
        leaves left: String,
        slices: [CoordinatorPath: String] = [:],
        finishes finished: [CoordinatorPath] = [],
        uncovers uncovered: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let stack = NavigationStack()
        for entry in try Self.entries(pages) { _ = stack.apply(.show(entry.page, isModal: entry.isModal), by: entry.path) }
        var effects = stack.apply(move, by: path)
        let depths = effects.finished.map(\.components.count)
        #expect(depths == depths.sorted(by: >), "\(effects.finished)", sourceLocation: sourceLocation)
        effects.sortFinished()
        var expected = NavigationStack.Effects(slices: try slices.mapValues { try Self.entries($0) }, finished: finished)
        if let uncovered {
            let top = try Self.entries(uncovered).last
            expected.uncovered = (top?.path, top?.page)
        }
        let entries = try Self.entries(left)
        #expect(stack.entries == entries, sourceLocation: sourceLocation)
        #expect(effects == expected, sourceLocation: sourceLocation)
    }

    private static func entries(_ pages: String) throws -> [NavigationEntry] {
        try pages.split(separator: ", ").map { page in
            let parts = page.split { " !".contains($0) }
            let path = try #require(CoordinatorPath(String(parts[0])))
            return NavigationEntry(path: path, page: .integer(try #require(Int64(parts[1]))), isModal: page.hasSuffix("!"))
        }
    }

    @Test("A full stack has room for a page that takes the place of others, and for no further one")
    func full() {
        let stack = NavigationStack()
        for number in 0..<NavigationStack.limit {
            let path = CoordinatorPath.root.appending("\(number % 2)")
            #expect(!stack.isFull(for: .show(.integer(0), isModal: false), by: path).now)
            _ = stack.apply(.show(.integer(0), isModal: false), by: path)
        }
        #expect(stack.isFull(for: .show(.integer(1), isModal: false), by: "/0").now)
        #expect(stack.isFull(for: .setRoot(.integer(1)), by: "/2").now)
        for move in [NavigationMove.replaceTop(.integer(1)), .setRoot(.integer(1))] {
            #expect(!stack.isFull(for: move, by: "/0").now)
        }
        let large = JSONValue.string(String(repeating: "x", count: NavigationStack.bytesLimit))
        #expect(stack.isFull(for: .setRoot(large), by: "/0").now)
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
            found.sortFinished()
            try #require(stack.entries == model.entries, "seed \(seed), step \(step): \(move) by \(path)")
            try #require(found == expected, "seed \(seed), step \(step): \(move) by \(path)")
            for other in paths {
                let slice = model.entries.filter { $0.path == other }
                try #require(views[other] ?? [] == slice, "seed \(seed), step \(step): what \(other) sees after \(move) by \(path)")
            }
        }
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
        effects.sortFinished()
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

extension NavigationStack.Effects {
    /// Sorts those of equal depth, which may come in any order, by their paths.
    fileprivate mutating func sortFinished() {
        finished.sort { ($1.components.count, "\($0)") < ($0.components.count, "\($1)") }
    }
}
