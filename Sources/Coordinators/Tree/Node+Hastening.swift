import Synchronization

extension Node {
    /// Shortens the end of a subtree that is stopping: from now on no child is given longer than this.
    ///
    /// It never lengthens what was granted before, and does nothing to a subtree that isn't stopping. `brutalKill` kills all processes below
    /// at once.
    func hasten(_ shutdown: Shutdown) {
        for host in existingChildren?.hosts ?? [] { host.stop(shutdown) }
    }
}
