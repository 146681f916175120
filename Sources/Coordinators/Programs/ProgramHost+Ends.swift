import ConcurrencySupport
import Logging
import Processes

/// The end of a program: it's asked by a signal, the others of its family after it, and what is left when the time is over is killed.
///
/// The order is the same for every way in which a program ends: a stop, a restart, recycling, a check, the watchdog, the end of the daemon. A
/// program that ends by itself leaves the others the time that a stop would have given.
extension ProgramHost {
    /// Asks a program that runs to end.
    ///
    /// - Parameter grace: The time after which what is left of it is killed; nil: it may take any time.
    func ask(_ child: ChildProcess, by signal: Signal, within grace: Duration?) {
        let end = grace.map { MonotonicTime.now + $0 }
        let isFirst = state.withLock { state in
            if let end { state.endsAt = min(end, state.endsAt ?? end) }
            defer { state.isAsked = true }
            return !state.isAsked
        }
        if let grace, grace <= .zero { return killRest(after: .zero) }
        // One that has been asked, or has ended, has others that were asked too: a second signal often means haste.
        if isFirst, exited.outcome == nil {
            // If these are refused, the kill remains. SIGCONT, because a stopped process can't act on a signal.
            if specification.stopsGroup { try? child.sendToGroup(signal) } else { try? child.send(signal) }
            try? child.sendToGroup(.continue)
        }
        guard let grace else { return }
        tasks.add { [self] in
            let read = runtime.spawner.spawner.readPending
            guard await Patience.wait(for: gone, atMost: grace, reading: read) == nil else { return }
            killRest(after: grace)
        }
    }

    /// Kills what is left of the program, whose time is over.
    private func killRest(after grace: Duration) {
        guard gone.outcome == nil, let (child, family) = state.withLock({ state in state.child.map { ($0, state.family) } }) else { return }
        if exited.outcome == nil {
            noteKill(after: grace)
            try? child.sendToGroup(.kill)
        } else if let family {
            // The wait for these ends with them.
            tasks.add { [self] in await runtime.end([family]) { if !$0.isEmpty { noteKill(after: grace) } } }
        }
    }

    private func noteKill(after grace: Duration) {
        let isFirst = state.withLock { state in
            defer { state.killedAfter = state.killedAfter ?? grace }
            return state.killedAfter == nil
        }
        guard isFirst, grace > .zero else { return }
        logger.warning(
            "a program was not stopped within its time, and is killed",
            metadata: ["coordinator.path": "\(path)", "limit": "\(grace)"]
        )
    }

    /// Ends the others of a program that has ended: they get the stop signal, and what is left of the time.
    func endRest(of family: ProcessFamily) async {
        let grace = min(shutdown.grace ?? Self.longestEnd, Self.longestEnd)
        let (deadline, hasToldGroup) = state.withLock { state -> (MonotonicTime?, Bool) in
            let isAsked = state.isAsked
            // By itself, or killed by an operator: the path is to live again soon.
            if !isAsked { state.endsAt = state.isKilled ? .now : .now + grace }
            return (state.endsAt, isAsked && state.specification.stopsGroup)
        }
        let left = deadline.map { $0 - .now }
        if left.map({ $0 > .zero }) ?? true {
            let end = ContinuousClock.now + min(left ?? Self.forEver, Self.forEver)
            if await family.terminate(by: specification.stopSignal, hasToldGroup: hasToldGroup, until: end) {
                return await concluded(family)
            }
        }
        let (isKilled, limit) = state.withLock { ($0.isKilled, $0.stopGrace.flatMap(\.self) ?? grace) }
        await runtime.end([family]) { if !$0.isEmpty, !isKilled { noteKill(after: limit) } }
        await concluded(family)
    }

    private func concluded(_ family: ProcessFamily) async {
        // A process that still holds the pipes isn't of the family.
        state.withLock { $0.child }?.endCapture()
        await runtime.processEnded(family)
    }
}

extension ExitStatus {
    /// Whether SIGKILL has ended the process.
    var isKill: Bool { if case .signaled(.kill, _) = self { true } else { false } }
}
