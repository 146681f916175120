import ConcurrencySupport

extension CoordinatorCell {
    /// Finishes what the coordinator and those below it have taken, if the stop says so, until the time for that is over.
    ///
    /// First the `run` hook ends, if it's to be waited for, and the messages from outside of the subtree, because these may need the children;
    /// then the children drain and stop, in the order of their stops, and may ask this coordinator meanwhile; then the messages end that they
    /// have sent.
    func drain(for stop: Stop) async {
        guard let time = stop.drain, beginDrain(stop) else { return }
        runtime.features.beginsToEnd(self)
        stop.grace.startClock()
        time.startClock()
        noteDrain()
        // What a pause holds back would never begin.
        endPause(stop.hasFailed)
        if let run = awaitedRun { _ = await time.within { await run.value } }
        _ = await time.within { await self.waitForMessages(.fromOutside) }
        if let children = existingSupervision {
            _ = await time.within { await children.waitUntilNoneIsParked() }
            if time.remaining != .zero { await children.shutDown(within: stop) }
        }
        _ = await time.within { await self.waitForMessages(.all) }
    }

    /// Whether the coordinator takes no new messages, and finishes those that it has taken.
    var isDraining: Bool { state.withLock { $0.life.phase == .draining } }

    private func beginDrain(_ stop: Stop) -> Bool {
        state.withLock { state in
            guard state.life.phase == .active else { return false }
            state.begin(stop, .draining)
            return true
        }
    }

    /// Has the drain wait for the `run` hook.
    func awaitRun() { state.withLock { $0.life.awaitsRun = true } }

    /// The task of the `run` hook, if a drain waits for it.
    ///
    /// It does if the coordinator's own `shutdown` drains, or its code looks for a drain, and so ends with one. Others may go on for ever.
    private var awaitedRun: Task<Void, Never>? {
        state.withLock { state in
            state.life.awaitsRun || state.hasExtras && state.extras.drainNotice?.isAwaited == true ? state.runTask : nil
        }
    }

    private func waitForMessages(_ awaited: DrainWait.Messages) async {
        let wait = DrainWait(awaited)
        let ended = state.withLock { state -> [DrainWait] in
            state.extras.drainWaits.append(wait)
            return state.takeEndedDrainWaits(at: path)
        }
        for wait in ended { wait.end.settle(()) }
        await wait.end.value
    }

    /// Resumes the drain if the messages for which it waits have ended.
    func endDrainWaits() {
        for wait in state.withLock({ $0.takeEndedDrainWaits(at: path) }) { wait.end.settle(()) }
    }
}

extension CoordinatorCell {
    /// Tells the code of this coordinator, and that of the children that are run to their ends, that a drain has begun.
    ///
    /// The drain waits for what these children do, as it does for the handlers that await them. Other children learn of it when their turn to
    /// drain has come.
    func noteDrain() {
        let (beginning, children) = state.withLock { state in
            let notice = state.extras.drainNotice ?? DrainNotice()
            state.extras.drainNotice = notice
            return (notice.beginning, state.supervision)
        }
        guard beginning.settle(true) else { return }
        for host in children?.hostsOfRuns ?? [] { host.noteDrain() }
    }

    /// Returns the signal of a drain for the coordinator's code, which from now on counts as looking for it.
    func awaitDrain() -> OneShot<Bool> {
        state.withLock { state in
            var notice = state.extras.drainNotice ?? DrainNotice()
            notice.isAwaited = true
            state.extras.drainNotice = notice
            return notice.beginning
        }
    }
}

extension CoordinatorCell.State {
    /// Whether the coordinator's code has been told of a drain.
    var isDrainNoted: Bool { hasExtras && extras.drainNotice?.beginning.outcome == true }
}

/// What the code of a coordinator learns of a drain.
struct DrainNotice: Sendable {
    /// The name of the subscription by which a parent tells a worker that a drain has begun.
    static let notification = "coordinators.drain"

    /// Settled with true when a drain begins, and with false when the coordinator has ended without one.
    let beginning = OneShot<Bool>()
    /// Whether the coordinator's code looks for it.
    var isAwaited = false
}

/// A wait of a drain for the ends of messages.
struct DrainWait: Sendable {
    enum Messages {
        /// All messages but those of the coordinators below, which may go on for as long as these live.
        case fromOutside
        case all
    }

    let messages: Messages
    let end = OneShot<Void>()

    init(_ messages: Messages) { self.messages = messages }
}

extension CoordinatorCell.State {
    /// Removes and returns the drain's waits whose messages have ended; called whenever messages have ended.
    mutating func takeEndedDrainWaits(at path: CoordinatorPath) -> [DrainWait] {
        // Most coordinators never drain.
        !hasExtras || extras.drainWaits.isEmpty ? [] : takeDrainWaits(at: path)
    }

    private mutating func takeDrainWaits(at path: CoordinatorPath) -> [DrainWait] {
        let isAnyLeft = hasMessages
        let isAnyFromOutside = isAnyLeft && hasMessagesFromOutside(of: path)
        let open = extras.drainWaits.filter { $0.messages == .all ? isAnyLeft : isAnyFromOutside }
        defer { extras.drainWaits = open }
        return extras.drainWaits.filter { $0.messages == .all ? !isAnyLeft : !isAnyFromOutside }
    }

    /// Whether there are messages that no coordinator below has sent; of those that begin at the moment some may have ended, or come from below.
    private func hasMessagesFromOutside(of path: CoordinatorPath) -> Bool {
        let beginning = handlers.batch.lazy.compactMap(\.envelope)
        let running = handlers.running.values.lazy.compactMap(\.envelope)
        let isFromOutside = { (envelope: Envelope) in envelope.sender == path || !envelope.sender.isWithin(path) }
        // Those that wait for a child to be opened are few, and are handed on soon.
        return mailbox.acceptedSince != nil || !extras.waitingForChildren.isEmpty
            || beginning.contains(where: isFromOutside) || running.contains(where: isFromOutside)
            || mailbox.waitingMessages.contains(where: isFromOutside)
    }
}
