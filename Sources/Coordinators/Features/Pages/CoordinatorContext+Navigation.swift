import Logging
import WireProtocol

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
    public func pop() { node.navigate(.pop) }

    /// Removes everything above a page of the coordinator; without effect when it doesn't show that page.
    public func pop(to page: C.Page) { move(page) { .popTo($0) } }

    /// Shows a page on top of the flow, separate from it, until it's dismissed.
    public func present(_ page: C.Page) { move(page) { .show($0, isModal: true) } }

    /// Removes the coordinator's topmost presented page and everything above it.
    public func dismiss() { node.navigate(.dismiss) }

    /// The coordinator's own pages, bottom first.
    public var pages: [C.Page] { node.pages.compactMap { try? C.Page(decoding: $0.page) } }

    /// Returns the whole stack that the coordinator shares with others.
    public func navigation() async throws -> [NavigationEntry] { try await node.navigationEntries() }

    /// Opens a route below this coordinator: a section that is missing is started by its parent's `open(section:)`, one that isn't ready is waited
    /// for, each shows its page by its `display(page:)`, and the next is opened below it.
    ///
    /// - Throws: The error of a hook; `timedOut`; `peerLost` when a section died on the way: nothing is opened twice.
    public func open(_ route: Route, timeout: Duration = .seconds(30)) async throws {
        try await node.open(route, timeout: timeout)
    }

    private func move(_ page: C.Page, _ move: (JSONValue) -> NavigationMove) {
        do {
            node.navigate(move(try page.encodedAsJSON()))
        } catch {
            node.logger.error("a page can't be encoded, and isn't shown", metadata: ["error": "\(error)"])
        }
    }
}
