/// The decisions about a child that has ended, each in a function of its own.
///
/// They are: whether the exit leads to a restart, whether the restart is within the intensity, and which siblings are restarted as well.
extension Supervisor {
    /// The decision whether an exit leads to a restart.
    enum Verdict {
        case restart
        case leave
        /// The child's type asks for a restart, but the reason of the exit makes it pointless.
        case giveUp
    }

    /// The way in which a child has ended by itself.
    enum End {
        /// Before it was ready, or before it had been for as long as it must.
        case failedStart
        case failure
        case normal
    }

    mutating func startHasFailed(_ child: Child, _ reason: ExitReason) {
        report(child.place, .startFailed(reason))
        switch child.launch {
        case .first where !child.specification.isRetriedAtFirstStart: forget(child.place)
        case .again where !child.specification.isRetriedAtFirstStart: retire(child.place)
        // A child that ends before it is ready has failed, even with a normal exit.
        case .first, .again, .restart: act(on: verdict(child, reason, isFailure: true), child, reason, .failedStart)
        }
    }

    mutating func lifeHasEnded(_ child: Child, _ reason: ExitReason) {
        report(child.place, reason.isNormal ? .stopped(reason) : .crashed(reason))
        var end = reason.isNormal ? End.normal : .failure
        endRow(of: child)
        if case .running(_, let since) = child.state {
            if let shortest = child.specification.restartLimits?.shortestLife, now - since < shortest { end = .failedStart }
        }
        act(on: verdict(child, reason, isFailure: !reason.isNormal), child, reason, end)
    }

    /// Ends the child's row of failures, if the life that ends has been ready for long enough.
    mutating func endRow(of child: Child) {
        guard child.attempts > 0, case .running(_, let since) = child.state, now - since >= backoff(of: child).resetAfter else { return }
        table.update(child.place) { $0.attempts = 0 }
    }

    private mutating func act(on verdict: Verdict, _ child: Child, _ reason: ExitReason, _ end: End) {
        let isTemporary = child.specification.restart == .temporary
        if case .stoppingSiblings(_, let siblings) = course, siblings.members.contains(child.id), isTemporary || verdict != .giveUp {
            // The child was about to be stopped because of a sibling, whose failure is counted already: its own end isn't counted, whatever
            // the reason.
            if isTemporary { retire(child.place) } else { wait(child.place, until: siblings.at) }
            return
        }
        switch verdict {
        case .restart:
            restart(child, after: reason, end)
        case .leave:
            retire(child.place)
            hasEndedForGood(child)
        case .giveUp:
            giveUp(child.place, reason)
            hasEndedForGood(child)
        }
    }

    private mutating func giveUp(_ place: Int, _ reason: ExitReason) {
        report(place, .gaveUp(reason))
        table.update(place) { $0.hasGivenUp = true }
        retire(place)
    }

    /// Ends the supervisor, if the policy asks for it, after a child has ended by itself and isn't restarted.
    mutating func hasEndedForGood(_ child: Child) {
        guard child.specification.isSignificant else { return }
        switch policy.autoShutdown {
        case .never: break
        case .anySignificant: end(.automatic)
        case .allSignificant: if table.significantCount == 0 { end(.automatic) }
        }
    }

    // Decides whether this exit leads to a restart.
    private func verdict(_ child: Child, _ reason: ExitReason, isFailure: Bool) -> Verdict {
        if isEnding { return .leave }
        if child.specification.isFinal(reason) { return .giveUp }
        switch child.specification.restart {
        case .permanent: return .restart
        case .transient: return isFailure ? .restart : .leave
        case .temporary: return .leave
        }
    }

    // Whether the restart is within the intensity. A restart counts when it is decided, failed or not, once for all siblings that it
    // concerns; one for the memory that a child has occupied doesn't.
    private mutating func isWithinIntensity(_ child: Child) -> Bool {
        guard case .restarts(let intensity) = intensity(of: child) else { return true }
        guard isolatesFailures || child.specification.restartLimits?.hasOwnWindow == true else {
            return window.admit(at: now, intensity: intensity, period: policy.period)
        }
        return ownWindows[child.id, default: RestartWindow()].admit(at: now, intensity: intensity, period: period(of: child))
    }

    private func intensity(of child: Child) -> RestartLimits.Intensity {
        if let own = child.specification.restartLimits?.intensity { return own }
        return counted(of: child) != .everyRestart && policy.limitsFailures == false ? .unlimited : .restarts(policy.intensity)
    }

    private func counted(of child: Child) -> RestartLimits.Counted { child.specification.restartLimits?.counts ?? .everyRestart }

    /// Whether a restart after such an end counts against the intensity.
    private func counts(_ end: End, of child: Child, _ reason: ExitReason) -> Bool {
        guard reason.isCounted else { return false }
        return switch (counted(of: child), end) {
        case (.everyRestart, _), (.failures, .failedStart), (.failures, .failure), (.failedStarts, .failedStart): true
        case (.failures, .normal), (.failedStarts, .failure), (.failedStarts, .normal): false
        }
    }

    /// Returns the delay before a restart.
    ///
    /// - Parameter attempt: The number of the restart in a row of failures; nil after a normal end, which is none.
    private mutating func delay(of child: Child, attempt: Int?) -> Duration {
        let limits = child.specification.restartLimits
        if attempt == 1, let first = limits?.firstDelay { return first }
        if let fixed = limits?.delay { return fixed }
        guard let attempt else { return .zero }
        return backoff(of: child).delay(attempt: attempt, random: .random(in: 0..<1, using: &random))
    }

    private func period(of child: Child) -> Duration { child.specification.restartLimits?.period ?? policy.period }

    private func backoff(of child: Child) -> Backoff { child.specification.restartLimits?.backoff ?? policy.backoff }

    /// The limit that the child has exceeded, in words.
    private func limit(of child: Child) -> String {
        guard case .restarts(let intensity) = intensity(of: child) else { return "any number of restarts" }
        return "\(intensity) restarts in \(period(of: child))"
    }

    // Returns the children that are restarted with a child, itself included, in start order.
    private func affected(by child: Child) -> [String] {
        switch policy.strategy {
        case .oneForOne: [child.id]
        case .oneForAll: ids
        case .restForOne: table.ids(from: child.place)
        }
    }

    private mutating func restart(_ child: Child, after reason: ExitReason, _ way: End) {
        let place = child.place
        guard !counts(way, of: child, reason) || isWithinIntensity(child) else {
            giveUp(place, reason)
            if isolatesFailures { return }
            end(.escalated(.escalated("gave up on \(child.id), more than \(limit(of: child)): \(reason)")))
            return
        }
        let isNormal = way == .normal && counted(of: child) != .everyRestart
        table.update(place) {
            if isNormal || $0.hasEndedNormally { $0.attempts = 0 }
            $0.hasEndedNormally = isNormal
            $0.attempts += 1
        }
        let attempt = table[place].attempts
        let at = now + delay(of: child, attempt: isNormal ? nil : attempt)
        report(place, .restarting(attempt: attempt, at: at))
        wait(place, until: at)

        let affected = affected(by: child)
        if case .steady = course, affected.count == 1 {
            if at <= now {
                start(place, as: .restart)
            } else {
                let ticket = deadlines.add(child.id, at: at)
                table.update(place) { $0.ticket = ticket }
            }
        } else {
            restartTogether(affected)
        }
    }

    mutating func wait(_ place: Int, until time: Duration) {
        table.update(place) {
            $0.state = .waiting(nextAttempt: time, attempt: $0.attempts)
            $0.ticket = 0
        }
    }

    // MARK: - Deadlines

    mutating func startWhatIsDue() {
        announcedWake = nil
        while let entry = nextDeadline(), entry.time <= now {
            deadlines.removeFirst()
            request(entry.id, .due)
        }
    }

    /// Tells the owner when to wake the supervisor, if that time has changed.
    ///
    /// A wake that is no longer needed isn't withdrawn: one wake too many is harmless.
    /// One that is late comes at once, and what is due is looked for then.
    mutating func announceNextWake() {
        if deadlines.count == 0, case .steady = course { return }
        guard !isEnding, !(announcedWake.map { $0 <= now } ?? false) else { return }
        var wake = nextDeadline()?.time
        if case .startingSiblings(_, let at) = course, at > now {
            wake = min(wake ?? at, at)
        }
        guard let wake, wake != announcedWake else { return }
        announcedWake = wake
        directives.append(.wake(at: wake))
    }

    /// Returns the soonest valid entry, and drops the invalid ones before it.
    ///
    /// Drops all invalid entries once they are the majority.
    private mutating func nextDeadline() -> Deadlines.Entry? {
        if deadlines.count > 2 * table.count(in: .waiting) + 32 {
            deadlines.retain { [table] in Self.holds($0, table) }
        }
        while let entry = deadlines.first, !Self.holds(entry, table) {
            deadlines.removeFirst()
        }
        return deadlines.first
    }

    private static func holds(_ entry: Deadlines.Entry, _ table: Children) -> Bool {
        guard let child = table[entry.id], case .waiting = child.state else { return false }
        return child.ticket == entry.mark
    }
}
