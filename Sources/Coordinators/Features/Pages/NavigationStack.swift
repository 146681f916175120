import ConcurrencySupport
import Logging
import Supervision
public import WireProtocol

/// A change that a coordinator makes to the stack that it shares with others.
enum NavigationMove: Sendable, Hashable, Codable {
    case show(JSONValue, isModal: Bool)
    case replaceTop(JSONValue)
    case setRoot(JSONValue)
    case pop
    case popTo(JSONValue)
    case dismiss
    /// The coordinator's subtree has ended, and its pages are removed.
    case rewind

    /// The page that is shown.
    var page: JSONValue? {
        switch self {
        case .show(let page, _), .replaceTop(let page), .setRoot(let page): page
        case .pop, .popTo, .dismiss, .rewind: nil
        }
    }
}

/// The pages of a flow that several coordinators share, each with its own slice.
///
/// Follows radianttap/Coordinator's NavigationCoordinator: popping below a coordinator's first page finishes it, and the coordinator that
/// is uncovered is informed.
final class NavigationStack: Sendable {
    /// The notices to other coordinators that follow from a move.
    struct Effects: Sendable, Equatable {
        /// The pages of coordinators whose slice another's move has changed.
        var slices: [CoordinatorPath: [NavigationEntry]] = [:]
        /// Coordinators that have no pages left because they were popped; the innermost first.
        var finished: [CoordinatorPath] = []
        /// The incarnations of the coordinators that have finished.
        var incarnations: [CoordinatorPath: Incarnation] = [:]
        /// The coordinator that is now on top and wasn't before, with its page; `nil` path: the stack is empty.
        var uncovered: (path: CoordinatorPath?, page: JSONValue?)?

        static func == (left: Self, right: Self) -> Bool {
            left.slices == right.slices && left.finished == right.finished && left.uncovered?.path == right.uncovered?.path
                && left.uncovered?.page == right.uncovered?.page
        }
    }

    /// The largest number of pages, and of the bytes that they have in memory: workers that mean harm show pages too.
    static let limit = 1_024
    static let bytesLimit = 16 << 20

    private struct State {
        var entries: [NavigationEntry] = []
        /// About the bytes of the pages in memory.
        var bytes = 0
        var wasFull = false
    }

    private let state = Lock(State())

    var entries: [NavigationEntry] { state.withLock { $0.entries } }

    func apply(_ move: NavigationMove, by path: CoordinatorPath, incarnation: Incarnation = 0) -> Effects {
        state.withLock { state in
            let before = state.entries
            state.entries.apply(move, by: path, incarnation)
            // As a rule, a page has come, or none has.
            let new = state.entries.count - before.count
            if new == 1 { state.bytes += state.entries[before.count].page.bytesInMemory }
            if new < 0 || move.page != nil && new == 0 { state.bytes = state.entries.reduce(0) { $0 + $1.page.bytesInMemory } }
            return Self.effects(from: before, to: state.entries, of: move, by: path)
        }
    }

    /// Returns whether there is no room for the page that a move shows, and whether that is so for the first time.
    func isFull(for move: NavigationMove, by path: CoordinatorPath) -> (now: Bool, first: Bool) {
        guard let size = move.page?.bytesInMemory else { return (false, false) }
        return state.withLock { state in
            var isFull = state.entries.count >= Self.limit || size > Self.bytesLimit - state.bytes
            if isFull {
                // It may take the room of the pages that go by it.
                var next = state.entries
                next.apply(move, by: path, 0)
                isFull = next.count > Self.limit || next.reduce(0) { $0 + $1.page.bytesInMemory } > Self.bytesLimit
            }
            defer { state.wasFull = state.wasFull || isFull }
            return (isFull, isFull && !state.wasFull)
        }
    }

    private static func effects(
        from before: [NavigationEntry],
        to after: [NavigationEntry],
        of move: NavigationMove,
        by path: CoordinatorPath
    ) -> Effects {
        var effects = Effects()
        let owners = Set(before.map(\.path))
        let left = Dictionary(grouping: after, by: \.path)
        for owner in owners where owner != path || move == .rewind {
            let slice = left[owner] ?? []
            if slice != before.filter({ $0.path == owner }) { effects.slices[owner] = slice }
        }
        if move == .rewind {
            // These coordinators have ended already.
            for owner in effects.slices.keys where owner.isWithin(path) { effects.slices[owner] = nil }
        } else {
            effects.incarnations = Dictionary(before.map { ($0.path, $0.incarnation) }) { max($0, $1) }
            effects.finished = owners.filter { left[$0] == nil }.sorted { $0.components.count > $1.components.count }
        }
        guard before.last != after.last, after.count < before.count else { return effects }
        let top = after.last
        // A coordinator that has popped a page of its own knows the one below it.
        if top?.path != path || move == .rewind { effects.uncovered = (top?.path, top?.page) }
        return effects
    }
}

extension [NavigationEntry] {
    /// Applies a move by the coordinator at `path`.
    mutating func apply(_ move: NavigationMove, by path: CoordinatorPath, _ incarnation: Incarnation) {
        switch move {
        case .show(let page, let isModal):
            append(NavigationEntry(path: path, page: page, isModal: isModal, incarnation: incarnation))
        case .replaceTop(let page):
            guard let index = lastIndex(where: { $0.path == path }) else {
                return apply(.show(page, isModal: false), by: path, incarnation)
            }
            let isModal = self[index].isModal
            removeSubrange(index...)
            append(NavigationEntry(path: path, page: page, isModal: isModal, incarnation: incarnation))
        case .setRoot(let page):
            if let index = firstIndex(where: { $0.path == path }) { removeSubrange(index...) }
            append(NavigationEntry(path: path, page: page, isModal: false, incarnation: incarnation))
        case .pop:
            if let index = lastIndex(where: { $0.path == path }) { removeSubrange(index...) }
        case .popTo(let page):
            if let index = lastIndex(where: { $0.path == path && $0.page == page }) { removeSubrange((index + 1)...) }
        case .dismiss:
            if let index = lastIndex(where: { $0.path == path && $0.isModal }) { removeSubrange(index...) }
        case .rewind:
            removeAll { $0.path.isWithin(path) }
        }
    }
}

/// One page on a stack.
public struct NavigationEntry: Sendable, Hashable, Codable {
    /// The coordinator that shows the page.
    public let path: CoordinatorPath
    /// The page, encoded as its coordinator's type of pages.
    public let page: JSONValue
    /// Whether the page was presented on top of a flow, rather than shown as its next step.
    public let isModal: Bool
    /// The incarnation of the coordinator that shows the page.
    var incarnation: UInt32 = 0

    /// Returns the page as a value of its coordinator's type.
    ///
    /// - Throws: `coding` when it's another one.
    public func decoded<Page: Codable>(as type: Page.Type = Page.self) throws -> Page { try Page(decoding: page) }
}

// MARK: - Pages, as a coordinator shows them

extension CoordinatorContext {
    /// Shows a page on top of the stack.
    ///
    /// The call never waits, in one process and in a worker alike. Pages of one coordinator arrive in the order of the calls.
    public func show(_ page: C.Page) { move(page) { .show($0, isModal: false) } }

    /// Replaces the coordinator's topmost page, and removes the pages above it.
    public func replaceTop(_ page: C.Page) { move(page) { .replaceTop($0) } }

    /// Makes a page the coordinator's first and only one, and removes the pages above it.
    public func setRoot(_ page: C.Page) { move(page) { .setRoot($0) } }

    /// Removes the coordinator's topmost page and everything above it.
    ///
    /// Popping the first page ends the coordinator: it's removed without an output, and a caller of `run` gets `dismissed`.
    public func pop() { cell.navigate(.pop) }

    /// Removes everything above a page of the coordinator; without effect when it doesn't show that page.
    public func pop(to page: C.Page) { move(page) { .popTo($0) } }

    /// Shows a page on top of the flow, separate from it, until it's dismissed.
    public func present(_ page: C.Page) { move(page) { .show($0, isModal: true) } }

    /// Removes the coordinator's topmost presented page and everything above it.
    public func dismiss() { cell.navigate(.dismiss) }

    /// The coordinator's own pages, bottom first.
    public var pages: [C.Page] { cell.pages.compactMap { try? C.Page(decoding: $0) } }

    /// Returns the whole stack that the coordinator shares with others.
    public func navigation() async throws -> [NavigationEntry] { try await cell.navigationEntries() }

    /// Opens a route below this coordinator: a section that is missing is started by its parent's `open(section:)`, one that isn't ready is waited
    /// for, each shows its page by its `display(page:)`, and the next is opened below it.
    ///
    /// - Throws: The error of a hook; `timedOut`; `peerLost` when a section died on the way: nothing is opened twice.
    public func open(_ route: Route, timeout: Duration = .seconds(30)) async throws {
        try await cell.open(route, timeout: timeout)
    }

    private func move(_ page: C.Page, _ move: (JSONValue) -> NavigationMove) {
        do {
            cell.navigate(move(try page.encodedAsJSON()))
        } catch {
            cell.logger.error("a page can't be encoded, and isn't shown", metadata: ["error": "\(error)"])
        }
    }
}

// MARK: - Deep links

/// A deep link: sections of the tree by key, each with the page to show there.
///
///     Route("shop").then("catalog", CatalogPage.product(7))
public struct Route: Sendable, Hashable, Codable {
    /// One section, and the page to show in it.
    public struct Step: Sendable, Hashable, Codable {
        /// The child's key.
        public var section: String
        /// The page, encoded as the section's type of pages; `nil`: the page that the section shows by itself.
        public var page: JSONValue?

        /// Creates a step.
        public init(section: String, page: JSONValue? = nil) {
            self.section = section
            self.page = page
        }
    }

    /// The sections, from the top down.
    public var steps: [Step]

    /// Creates a route from its steps, as they come from a link.
    public init(steps: [Step]) { self.steps = steps }

    /// Creates a route that begins with a section.
    public init(_ section: some CoordinatorKey) { steps = [Step(section: section.description)] }

    /// Creates a route that begins with a section and a page in it.
    public init(_ section: some CoordinatorKey, _ page: some Codable & Sendable) {
        steps = [Step(section: section.description, page: Self.json(page))]
    }

    /// Returns the route with another section below.
    public func then(_ section: some CoordinatorKey) -> Route {
        Route(steps: steps + [Step(section: section.description)])
    }

    /// Returns the route with another section below, and a page in it.
    public func then(_ section: some CoordinatorKey, _ page: some Codable & Sendable) -> Route {
        Route(steps: steps + [Step(section: section.description, page: Self.json(page))])
    }

    /// Encodes a page; one that can't be encoded is refused where the route is opened, like any other that the section doesn't have.
    private static func json(_ page: some Codable & Sendable) -> JSONValue {
        (try? page.encodedAsJSON()) ?? .null
    }
}
