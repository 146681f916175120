import Synchronization
import WireProtocol

extension Node {
    /// Makes a move on the stack that the coordinator shares with others.
    func navigate(_ move: NavigationMove) {
        state.withLock { state in
            state.pages.applyToSlice(move, by: path, incarnation)
        }
        runtime.hasNavigated.store(true, ordering: .relaxed)
        send(Navigate(move: move, path: path, incarnation: incarnation))
    }

    /// The pages of a subtree that has ended go.
    func rewind(_ path: CoordinatorPath) {
        // Where nobody has ever shown a page there is nothing to rewind; workers below may have shown some.
        guard runtime.hasNavigated.load(ordering: .relaxed) else { return }
        send(Navigate(move: .rewind, path: path, incarnation: 0))
    }

    /// Carries out a move at the stack's owner, and tells those whom it concerns.
    func apply(_ request: Navigate) {
        guard let ownNavigation else { return }
        runtime.hasNavigated.store(true, ordering: .relaxed)
        let effects = ownNavigation.apply(request.move, by: request.path, incarnation: request.incarnation)
        for (path, slice) in effects.slices { send(SetPages(pages: slice), to: path) }
        for path in effects.finished where path != self.path {
            guard let parent = path.parent else { continue }
            send(FinishPopped(key: path.key, incarnation: effects.incarnations[path] ?? 0), to: parent)
        }
        guard let uncovered = effects.uncovered else { return }
        send(Uncovered(page: uncovered.page), to: uncovered.path ?? path)
    }

    /// What the stack's owner, or somebody above another coordinator, has to tell this one.
    func setPages(_ pages: [NavigationEntry]) {
        state.withLock { $0.pages = pages }
    }

    /// The coordinator's own pages, bottom first.
    var pages: [NavigationEntry] { state.withLock { $0.pages } }

    /// The whole stack, wherever its owner is.
    func navigationEntries() async throws -> [NavigationEntry] {
        let envelope = Envelope(.value(ReadNavigation()), sender: path, deadline: .now + .seconds(5), isBuiltin: true)
        return try await envelope.delivered(owner: openAsks) { climb($0) }.decoded(as: [NavigationEntry].self)
    }

    private func send(_ message: some BuiltinMessage) {
        let envelope = Envelope(.value(message), sender: path, deadline: nil, isOneWay: true, isBuiltin: true)
        envelope.open { _ in }
        climb(envelope)
    }

    private func send(_ message: some BuiltinMessage, to target: CoordinatorPath) {
        let envelope = Envelope(.value(message), sender: path, deadline: nil, isOneWay: true, isBuiltin: true)
        envelope.open { _ in }
        route(envelope, to: target)
    }
}
