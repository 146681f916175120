import ConcurrencySupport
public import Coordinators

/// A fault that a test causes in a tree.
public struct Fault: Sendable {
    let injected: InjectedFault

    /// The coordinator ends at once: its worker is killed, as by `kill -9`; without a worker of its own it fails.
    public static let crash = Fault(injected: .crash)

    /// The coordinator doesn't answer: its worker's process is stopped, as by `kill -STOP`; without a worker of its own it begins no message.
    ///
    /// A worker that hangs is killed by its parent after `CoordinatorRuntime.Options.heartbeatTimeout`, and what stands for one behind an
    /// encoded border fails after that time, with the reason `hung`.
    public static let hang = Fault(injected: .hang)

    /// The link between the coordinator's worker and its parent's process is lost.
    ///
    /// A worker connects again. Behind an encoded border, every message across fails with `peerLost` while the fault lasts.
    public static let lostLink = Fault(injected: .lostLink)

    /// Each message to the coordinator's worker arrives later than it was sent.
    ///
    /// Behind an encoded border, messages from it are delayed too.
    public static func slowLink(_ delay: Duration) -> Fault { Fault(injected: .slowLink(delay)) }
}

/// A fault that was caused.
public struct CausedFault: Sendable {
    let end: @Sendable () -> Void

    /// Ends the fault, as far as it lasts: a hanging coordinator goes on, a slow link is fast again.
    ///
    /// The end of the tree does so too.
    public func undo() { end() }
}

extension CoordinatorRuntime {
    /// Causes a fault, for as long as `withRuntime` runs the tree or until it's undone.
    ///
    ///     try await runtime.fault(.crash, at: "/cart")
    ///
    /// Only coordinators and workers of this tree are hit. The call returns when the fault has been caused: wait for what it leads to.
    ///
    /// - Throws: `noSuchPath`; `stopped` when there is no such life at the moment; `unsupported` when the coordinator has no link, or is
    ///   within a worker that another worker has started.
    @discardableResult
    public func fault(_ fault: Fault, at path: CoordinatorPath) async throws -> CausedFault {
        let caused = CausedFault(end: try await inject(fault.injected, at: path))
        Faults.current?.add(caused)
        return caused
    }
}

/// The faults that were caused in a tree.
final class Faults: Sendable {
    @TaskLocal static var current: Faults?

    private let caused = Lock<[CausedFault]>([])

    func add(_ fault: CausedFault) { caused.withLock { $0.append(fault) } }

    /// Ends them all, the latest first.
    func undo() {
        let caused = caused.withLock { caused in
            defer { caused = [] }
            return caused
        }
        for fault in caused.reversed() { fault.undo() }
    }
}
