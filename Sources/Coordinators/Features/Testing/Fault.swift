import ConcurrencySupport
import Processes
import Synchronization

/// A fault that a test wants.
package enum InjectedFault: Sendable {
    /// The coordinator fails; a worker's process is killed.
    case crash
    /// The coordinator begins no message; a worker's process is stopped.
    case hang
    /// The link to a worker is closed.
    case lostLink
    /// Messages to a worker arrive later.
    case slowLink(Duration)
}

extension CoordinatorRuntime {
    /// Causes a fault.
    ///
    /// - Returns: A function that ends the fault, as far as it lasts.
    /// - Throws: `noSuchPath`, `stopped`; `unsupported` if such a fault can't be caused there.
    package func inject(_ fault: InjectedFault, at path: CoordinatorPath) async throws -> @Sendable () -> Void {
        let root = try root
        if let cell = root.inThisProcess(path.components[...]) { return try cell.inject(fault) }
        if let children = path.parent.flatMap({ root.inThisProcess($0.components[...]) })?.existingChildren {
            guard let host = try children.host(of: path.key) else { throw CoordinatorError.hasStopped(path) }
            if let host = host as? WorkerHost { return try await host.inject(fault) }
        }
        // The coordinator is in a worker of a worker, or there is none.
        let snapshot = try await snapshot(of: path)
        guard snapshot.host == .worker, let id = snapshot.processID, let startTime = snapshot.processStartTime else {
            throw CoordinatorError(
                .unsupported,
                "\(path) is within a worker: faults hit a whole worker, or a coordinator of the test's process"
            )
        }
        let process = ProcessIdentity(processID: id, startTime: startTime)
        switch fault {
        case .crash:
            try process.send(.kill)
            return {}
        case .hang: return try await process.hang()
        case .lostLink, .slowLink:
            throw CoordinatorError(
                .unsupported,
                "the link of \(path) isn't one of the test's process: only \(path)'s parent could break it"
            )
        }
    }
}

extension CoordinatorCell {
    fileprivate func inject(_ fault: InjectedFault) throws(CoordinatorError) -> @Sendable () -> Void {
        switch fault {
        case .crash:
            end(.failed(.failed("the test wants a crash")))
            return {}
        case .hang:
            state.withLock { if !$0.mailbox.isPaused { $0.mailbox.pause() } }
            let heartbeat = missedHeartbeat()
            return {
                if let heartbeat { self.runtime.time.cancel(heartbeat) }
                self.goOn()
            }
        case .lostLink:
            let border = try borderOrRefusal()
            border.lose(true)
            return { border.lose(false) }
        case .slowLink(let delay):
            let border = try borderOrRefusal()
            border.delay(by: delay)
            return { border.delay(by: nil) }
        }
    }

    /// Has the coordinator fail when its parent would have killed the worker that it stands for, which answers no heartbeat.
    private func missedHeartbeat() -> Timers.Timer? {
        guard border != nil else { return nil }
        let time = runtime.time
        return time.schedule(at: time.now + runtime.options.heartbeatTimeout) { [weak self] in self?.end(.failed(.hung)) }
    }

    private func borderOrRefusal() throws(CoordinatorError) -> Border {
        if let border { return border }
        throw CoordinatorError(
            .unsupported,
            "\(path) has no link: only a worker has one, and what stands for a worker behind an encoded border"
        )
    }

    /// Begins the messages that have waited while the coordinator hung.
    private func goOn() {
        let run = state.withLock { state -> MailboxRun? in
            guard state.pauseReasons.isEmpty, state.mailbox.isPaused else { return nil }
            state.mailbox.resume()
            return state.mailboxRunToBegin()
        }
        if let run { runMailbox(run) }
        callHeldTimers()
    }
}

extension WorkerHost {
    fileprivate func inject(_ fault: InjectedFault) async throws -> @Sendable () -> Void {
        switch fault {
        case .crash:
            try kill()
            return {}
        case .hang:
            guard let process else { throw CoordinatorError(.stopped, "\(path) has no process at the moment") }
            return try await process.hang()
        case .lostLink:
            for peer in state.withLock({ $0.links.attached.values.map(\.peer) }) { peer.close() }
            return {}
        case .slowLink(let delay):
            delayLine.delay(by: delay)
            return { [weak self] in self?.delayLine.delay(by: nil) }
        }
    }
}

extension ProcessIdentity {
    /// Stops the process, and returns when it has stopped; the function that is returned has it go on.
    fileprivate func hang() async throws -> @Sendable () -> Void {
        try send(.stop)
        do {
            // A thread takes the signal when it has a processor; until then the others go on.
            while isAlive, !isStopped { try await Task.sleep(for: .milliseconds(1)) }
        } catch {
            try? send(.continue)
            throw error
        }
        return { try? send(.continue) }
    }
}

// MARK: - Names of types, for stand-ins

extension CoordinatorRuntime {
    /// Returns the name by which a coordinator's type is known.
    package static func name(of type: any Coordinator.Type) -> String { TypeNames.name(of: type) }
}

extension CoordinatorContext {
    /// The name of the type for which the parent has started the coordinator, though another may stand for it; `nil` for the root.
    package var definedTypeName: String? { cell.parent?.existingChildren?.typeName(of: path.key) }
}
