import ConcurrencySupport

/// A coordinator of several children of which exactly one is active: it's selected, the others are paused.
///
///     actor Tabs: TabCoordinator {
///         func open(section key: ChildKey) async throws { try await context.start(SearchCoordinator.self, as: key) }
///     }
///     try await context.select(.search)
///
/// A child that is selected and doesn't live is started by ``Coordinator/open(section:)``, as for a deep link. Tabs serve the blue and green
/// versions of a service as well as the tabs of an app.
public protocol TabCoordinator: Coordinator {}

extension CoordinatorContext where C: TabCoordinator {
    /// Makes a child the active one: the former one is paused, this one started or resumed.
    ///
    /// Selections are made one after the other. When the child can't be started, the former one is resumed, and stays selected.
    ///
    /// - Throws: The error that `open(section:)` threw; `stopped`; `CancellationError` when the task was cancelled before its turn.
    public func select(_ key: C.ChildKey) async throws {
        let turn = cell.lock(\.selections)
        // The one before takes the time that its child takes.
        let waiting = HandlerScope.current?.beginWaitForChild()
        await turn.enter()
        waiting?.end()
        defer { turn.leave() }
        try Task.checkCancellation()
        try await cell.select(key.description) { coordinator in
            let me: C = try MessageRow.cast(coordinator)
            try await me.open(section: key)
        }
    }

    /// The active child's key.
    public var selected: C.ChildKey? {
        cell.state.withLock { $0.pages.selected }.flatMap { C.ChildKey($0) }
    }
}

extension CoordinatorCell {
    fileprivate func select(_ key: String, start: @Sendable (any Coordinator) async throws -> Void) async throws {
        let (former, instance) = state.withLock { ($0.pages.selected, $0.life.instance) }
        guard let instance else { throw CoordinatorError.hasStopped(path) }
        let lives = children.lives(key)
        if former == key, lives { return }
        if let former, former != key { try? await children.setPaused(true, for: former, initiator: .parent) }
        do {
            if !lives { try await start(instance) }
            try? await children.setPaused(false, for: key, initiator: .parent)
        } catch {
            if let former { try? await children.setPaused(false, for: former, initiator: .parent) }
            throw error
        }
        state.withLock { $0.pages.selected = key }
    }
}

// MARK: - Scenes

extension CoordinatorCell {
    /// Returns the scene of a scene coordinator.
    func scene(of instance: any Coordinator) -> (any Scene)? { type.ownsScene ? (instance as? any SceneCoordinator)?.scene : nil }

    /// Watches the scene while the coordinator is active.
    func attend(_ scene: any Scene) {
        handle {
            await scene.waitUntilClosed()
            if !Task.isCancelled { _ = await self.requestDismissal(timeout: .seconds(5)) }
        }
    }
}
