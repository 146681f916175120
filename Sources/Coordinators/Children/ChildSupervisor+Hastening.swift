import Synchronization

extension ChildSupervisor {
    /// Shortens the end of the children that are stopping; those that are told to stop later get no longer than this either.
    func hasten(_ shutdown: Shutdown) {
        let hosts = state.withLock { state -> [any ChildHost] in
            state.haste = state.hastened(shutdown)
            // The others come in their turn, unless there is no time for turns.
            return state.machine.ids.filter { shutdown.grace == .zero || state.isEnding($0) }.compactMap { state.host(of: $0) }
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
