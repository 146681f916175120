extension ProcessIdentity {
    /// Returns when this process has ended, at once if it has already.
    ///
    /// It need not be a child.
    ///
    /// It sleeps in the kernel (a pidfd, see pidfd_open(2)). Only while descriptors or threads have run out is it asked for every 100 ms.
    /// Cancellation returns early: look at `isAlive`.
    public func waitUntilGone() async {
        await waitUntilGone(on: ProcessSpawner.shared.thread)
    }

    func waitUntilGone(on thread: ProcessThread) async {
        while isAlive(thread.systemCalls), !Task.isCancelled {
            guard await thread.watch(self) == .failed else { return }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }
}
