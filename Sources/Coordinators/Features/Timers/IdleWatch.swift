import ConcurrencySupport

/// The watch over a coordinator that ends by itself when it has nothing to do.
struct IdleWatch {
    /// The number of looks in one idle time-out.
    static let looks = 4

    var timer: Timers.Timer?
    /// The number of messages that had been handled at the last look.
    var handled: UInt64 = 0
    /// The number of looks since the coordinator last worked.
    var quietLooks = 0
}

extension CoordinatorCell {
    /// Begins to look now and then whether the coordinator has something to do.
    func watchIdleness(_ timeout: Duration) {
        // The root of the tree has no parent that could remove it.
        if isRoot { return }
        let interval = max(timeout / IdleWatch.looks, .milliseconds(1))
        state.withLock { state in
            guard state.life.phase == .active else { return }
            state.idleWatch.watch = IdleWatch(handled: state.mailbox.handled)
        }
        look(after: interval)
    }

    private func look(after interval: Duration) {
        let timer = runtime.time.schedule(at: runtime.time.now + interval) { [weak self] in self?.lookForWork(every: interval) }
        let isWanted = state.withLock { state -> Bool in
            guard state.life.phase == .active, state.idleWatch.watch != nil else { return false }
            state.idleWatch.watch?.timer = timer
            return true
        }
        if !isWanted { runtime.time.cancel(timer) }
    }

    private func lookForWork(every interval: Duration) {
        let isNeeded = isNeeded
        let isIdle = state.withLock { state -> Bool? in
            guard state.life.phase == .active, var watch = state.idleWatch.watch else { return nil }
            let isQuiet = !isNeeded && state.mailbox.handled == watch.handled && state.isQuiet
            watch.handled = state.mailbox.handled
            watch.quietLooks = isQuiet ? watch.quietLooks + 1 : 0
            state.idleWatch.watch = watch
            return watch.quietLooks >= IdleWatch.looks
        }
        guard let isIdle else { return }
        if isIdle { tell(.becameIdle) }
        look(after: interval)
    }

    /// Takes no message any more, if the coordinator has nothing to do; called for a parent that holds all further messages back.
    ///
    /// - Returns: Whether the coordinator has nothing to do, and can be removed.
    func retire() -> Bool {
        let hasRetired = state.withLock { state -> Bool in
            guard state.life.phase == .active, state.isQuiet, state.idleWatch.watch?.handled == state.mailbox.handled else {
                return false
            }
            // A message of the coordinator's own that comes all the same waits, and ends with the stop.
            state.mailbox.pause()
            return true
        }
        // From now on nothing starts a child.
        guard hasRetired, isNeeded else { return hasRetired }
        state.withLock { $0.mailbox.resume() }
        runtime.features.isResumed(self)
        return false
    }

    /// Whether a child lives, or a call waits for the end of the coordinator's flow.
    ///
    /// It's asked outside of the lock: what knows that looks at this coordinator under its own.
    private var isNeeded: Bool { existingChildren?.hasLivingChild == true || runtime.features.isFlowAwaited(of: self) }

    func endIdleWatch() {
        let timer = state.withLock { state -> Timers.Timer? in
            guard state.hasExtras, let watch = state.idleWatch.watch else { return nil }
            state.idleWatch.watch = nil
            return watch.timer
        }
        if let timer { runtime.time.cancel(timer) }
    }
}

/// What the watch keeps for a coordinator.
struct IdleWatchState: Emptiable, Sendable {
    var watch: IdleWatch?

    var isEmpty: Bool { watch == nil }
}

extension CoordinatorCell.State {
    fileprivate var idleWatch: IdleWatchState {
        get { extras.features[IdleWatchState.self] }
        _modify { yield &extras.features[IdleWatchState.self] }
    }

    /// Whether nothing waits and nothing runs.
    fileprivate var isQuiet: Bool {
        mailbox.isIdle && mailbox.reserved.count == 0 && handlers.running.isEmpty && runTask == nil && extras.waitingForChildren.isEmpty
            && (!hasExtras || timers.all.allSatisfy { $0.interval != nil || $0.hasEnded })
    }
}

/// A request to a coordinator to take no message any more, if it has nothing to do.
struct Retire: BuiltinMessage {
    static var builtin: Builtin { .retire }
    typealias Reply = Bool
}

extension ChildSupervisor {
    /// Whether a child lives, or something is left of its life.
    fileprivate var hasLivingChild: Bool {
        state.withLock { state in state.machine.ids.contains { state.isAlive($0) || state.isEnding($0) } }
    }

    /// Removes a child that has nothing to do, unless a message arrives for it meanwhile.
    ///
    /// A message that has been handed to the host before and is still on its way there is awaited by the tracking of deliveries, which begins
    /// with the first notice: the child is removed after a later one.
    func becameIdle(_ life: IncarnationID) {
        let host = state.withLock { state -> (any ChildHost)? in
            guard state.isRunning(life.key) else { return nil }
            return state.slots.with(life.key) { slot -> (any ChildHost)? in
                guard slot.incarnation == life.incarnation, case .active(let present) = slot.phase else { return nil }
                guard slot.record.tracksDeliveries else {
                    slot.record.tracksDeliveries = true
                    return nil
                }
                guard slot.record.deliveries == 0, slot.starts.isEmpty else { return nil }
                slot.phase.hold()
                return present.host
            } ?? nil
        }
        if let host { tasks.add { await self.retire(life, host) } }
    }

    /// Asks the child, which gets no messages any more, whether it still has nothing to do.
    private func retire(_ life: IncarnationID, _ host: any ChildHost) async {
        guard !host.isBusy else { return goOn(life) }
        do {
            let deadline = cell.runtime.time.now + .seconds(5)
            let answer = try await cell.request(Retire(), by: deadline) { host.deliver($0, to: [], isDirect: true) }
            guard try answer.decoded(as: Bool.self) else { return goOn(life) }
        } catch {
            // The child may have retired: only a fresh life is sure to take messages.
            return replace(life)
        }
        let isRemoved = mutateAndPerform { state -> Bool? in
            guard state.isRunning(life.key) else { return nil }
            let isMeant =
                state.slots.with(life.key) { slot -> Bool? in
                    guard slot.incarnation == life.incarnation else { return nil }
                    guard !slot.record.parking.isBusy else { return false }
                    slot.record.lastError = CoordinatorError(.dismissed, "\(cell.path.appending(life.key)) had nothing to do")
                    slot.record.isRetired = true
                    return true
                } ?? nil
            if isMeant == true { state.feed(.removeRequested(life.key)) }
            return isMeant
        }
        if isRemoved == false { replace(life) }
    }

    /// Delivers the messages that have arrived meanwhile.
    private func goOn(_ life: IncarnationID) { handle(.becameReachable, of: life) }

    /// Restarts a child that has retired, for a message that has arrived meanwhile.
    private func replace(_ life: IncarnationID) { handle(.recyclingDue, of: life) }
}
