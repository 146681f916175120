import ConcurrencySupport

extension Node {
    /// Shortens the end of a subtree that is stopping: from now on no child is given longer than this, nor are the coordinator's own handlers
    /// and its hook.
    ///
    /// It never lengthens what was granted before, and does nothing to a subtree that isn't stopping. `brutalKill` kills all processes below
    /// at once.
    func hasten(_ shutdown: Shutdown) {
        guard let limit = shutdown.grace else { return }
        let (grace, children) = state.withLock { $0.phase == .stopping ? ($0.grace, $0.children) : (nil, nil) }
        grace?.shorten(to: limit)
        children?.hasten(shutdown)
    }
}

extension ChildSupervisor {
    /// Those that are told to stop later get no longer than this either.
    fileprivate func hasten(_ shutdown: Shutdown) {
        let hosts = state.withLock { state -> [any ChildHost] in
            state.haste = state.hastened(shutdown)
            // The others come in their turn, unless there is no time for turns.
            return state.machine.ids.filter { shutdown.grace == .zero || state.isEnding($0) }.compactMap { state.slots[$0]?.host }
        }
        for host in hosts { host.stop(shutdown) }
    }
}

extension ChildSupervisor.State {
    /// What a child is given that should get so much.
    func hastened(_ shutdown: Shutdown) -> Shutdown {
        guard let haste, let limit = haste.grace else { return shutdown }
        guard let grace = shutdown.grace else { return haste }
        return grace <= limit ? shutdown : haste
    }
}
