import ConcurrencySupport
import Coordinators

/// The daemon's end, asked for by signals and operators alike: whoever asks can wait for it, and whoever asks again makes it quicker.
final class ShutdownSignal: Sendable {
    /// What the processes that still run are given when the end was asked for a second time.
    static let hurriedGrace = Duration.seconds(1)

    private let runtime: CoordinatorRuntime
    private let asked = OneShot<Void>()
    private let completion = OneShot<Void>()
    private let hurry = Lock(Hurry())

    private struct Hurry {
        /// The shortest time that was granted so far; nil: what the configuration says.
        var shutdown: Shutdown?
        /// Whether the tree has heard of it: it must be stopping for that.
        var isKnown = true
    }

    init(_ runtime: CoordinatorRuntime) { self.runtime = runtime }

    /// Asks for the end; the second time does nothing.
    func begin() { asked.settle() }

    /// Asks for the end, and that nothing that runs is given longer than this.
    func hasten(_ shutdown: Shutdown) {
        hurry.withLock { hurry in
            if hurry.shutdown != .brutalKill { hurry.shutdown = shutdown }
            hurry.isKnown = false
        }
        begin()
        hastenTree()
    }

    /// Whether somebody has asked.
    var isRequested: Bool { asked.isSettled }

    /// Waits until somebody asks, or the waiting task is cancelled.
    func requested() async { _ = await asked.valueUnlessCancelled() }

    /// Ends the tree.
    func carryOut() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.runtime.stop() }
            group.addTask { await self.hastenAgain() }
            await group.next()
            group.cancelAll()
        }
        completion.settle()
    }

    /// Waits until the tree has ended.
    func completed() async { _ = await completion.valueUnlessCancelled() }

    private func hastenTree() {
        guard let shutdown = hurry.withLock({ $0.isKnown ? nil : $0.shutdown }), runtime.hasten(shutdown) else { return }
        // What is to be killed may just be starting, and is killed the next time.
        hurry.withLock { $0.isKnown = $0.shutdown != .brutalKill }
    }

    private func hastenAgain() async {
        while !Task.isCancelled {
            hastenTree()
            try? await Task.sleep(for: .milliseconds(100))
        }
    }
}
