extension ProcessIdentity {
    /// Waits until this process has ended; returns at once if it has already.
    ///
    /// The process need not be a child.
    ///
    /// The wait is a sleep in the kernel (a pidfd, see pidfd_open(2)). Only while descriptors or threads have run out is the process
    /// examined every 100 ms. Cancellation ends the wait early: check `isAlive`.
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
