import ConcurrencySupport
import Logging
import Processes

/// The end of a program: it's asked by a signal, the others of its family after it, and what is left when the time is over is killed.
///
/// The order is the same for every way in which a program ends: a stop, a restart, recycling, a check, the watchdog, the end of the daemon. A
/// program that ends by itself leaves the others the time that a stop would have given.
extension ProgramHost {
    /// What is known of a program's end, from the first request on.
    struct Ending {
        /// The ways in which a program was asked to end.
        enum Request {
            case none
            /// By a hook, after which the signal is due.
            case hook
            case signal
        }

        /// The time that a stop grants; nil: it wasn't told to stop.
        var grace: Duration??
        /// The reason why the host itself has ended the program, instead of the exit status.
        var verdict: ExitReason?
        /// The time at which what is left of the program is killed; nil: it wasn't asked to end, or may take any time.
        var deadline: PatientDeadline?
        var request = Request.none
        /// The time after which some of the program was killed; nil: nothing was.
        var killedAfter: Duration?
        /// Whether the kernel has killed the program for want of memory.
        var hasRunOutOfMemory = false
        /// Whether an operator has had the program killed.
        var isKilled = false
        /// The end of the kill of what the first process has left; nil: it hasn't begun.
        var restKilled: OneShot<Void>?
    }

    /// Asks a program that runs to end.
    ///
    /// - Parameters:
    ///   - signal: The signal; nil: that of the specification, after its hook, if it has one.
    ///   - grace: The time after which what is left of it is killed; nil: it may take any time.
    func ask(_ child: ChildProcess, by signal: Signal? = nil, within grace: Duration?) {
        let deadline = grace.map { PatientDeadline($0) }
        let hasTime = grace.map { $0 > .zero } ?? true
        let hook = signal == nil && hasTime ? specification.hooks.stop : nil
        // One that has been asked has others that were asked too: a second signal often means haste. The hook isn't waited for twice.
        let former = state.withLock { state in
            if let deadline, state.ending.deadline.map({ deadline.end < $0.end }) ?? true { state.ending.deadline = deadline }
            defer { state.ending.request = hook == nil || state.ending.request != .none ? .signal : .hook }
            return state.ending.request
        }
        guard hasTime else { return killRest(after: .zero) }
        let signal = signal ?? specification.stopSignal
        switch (former, hook) {
        case (.none, let hook?):
            tasks.add { [self] in
                await ask(child, by: hook, within: grace ?? Self.forEver)
                let isDue = state.withLock { state in
                    guard state.ending.request == .hook, exited.outcome == nil else { return false }
                    state.ending.request = .signal
                    return true
                }
                if isDue { send(signal, to: child) }
            }
        case (.none, nil), (.hook, _): send(signal, to: child)
        case (.signal, _): break
        }
        guard let grace, let deadline else { return }
        tasks.add { [self] in
            var deadline = deadline
            let read = runtime.processes.spawner.spawner.readPending
            guard await Patience.wait(for: gone, until: &deadline, reading: read) == nil else { return }
            killRest(after: grace)
        }
    }

    /// Sends the signal that asks a program to end, unless it has ended: its others are asked then.
    private func send(_ signal: Signal, to child: ChildProcess) {
        guard exited.outcome == nil else { return }
        // If these are refused, the kill remains. SIGCONT, because a stopped process can't act on a signal.
        if specification.stopsGroup { try? child.sendToGroup(signal) } else { try? child.send(signal) }
        try? child.sendToGroup(.continue)
    }

    /// Kills what is left of the program, whose time is over.
    private func killRest(after grace: Duration) {
        guard gone.outcome == nil, let (child, family) = state.withLock({ state in state.child.map { ($0, state.family) } }) else { return }
        if exited.outcome == nil {
            noteKill(after: grace)
            try? child.sendToGroup(.kill)
        } else if let family {
            // The wait for these ends with them.
            tasks.add { [self] in await kill(family, after: grace) }
        }
    }

    /// Kills what the first process has left, once: who comes later waits for that, so that nothing is concluded before the kill is noted.
    private func kill(_ family: ProcessFamily, after grace: Duration) async {
        let (killed, isFirst, isNoted) = state.withLock { state in
            let former = state.ending.restKilled
            let killed = former ?? OneShot<Void>()
            state.ending.restKilled = killed
            return (killed, former == nil, !state.ending.isKilled)
        }
        guard isFirst else { return await killed.value }
        await runtime.end([family]) { if !$0.isEmpty, isNoted { noteKill(after: grace) } }
        killed.settle(())
    }

    private func noteKill(after grace: Duration) {
        let isFirst = state.withLock { state in
            defer { state.ending.killedAfter = state.ending.killedAfter ?? grace }
            return state.ending.killedAfter == nil
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
        let (deadline, hasToldGroup) = state.withLock { state -> (PatientDeadline?, Bool) in
            let request = state.ending.request
            // By itself, or killed by an operator: the path is to live again soon.
            if request == .none { state.ending.deadline = PatientDeadline(state.ending.isKilled ? .zero : grace) }
            // The end may be heard late, because this process stood still, and the others weren't asked meanwhile.
            _ = state.ending.deadline?.look()
            return (state.ending.deadline, request == .signal && state.specification.stopsGroup)
        }
        if deadline.map({ $0.left > .zero }) ?? true {
            let deadline = deadline ?? PatientDeadline(Self.forEver)
            if await family.terminate(by: specification.stopSignal, hasToldGroup: hasToldGroup, until: deadline) {
                await state.withLock { $0.ending.restKilled }?.value
                return await concluded(family)
            }
        }
        await kill(family, after: state.withLock { $0.ending.grace.flatMap(\.self) ?? grace })
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
