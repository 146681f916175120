import ConcurrencySupport

extension Node {
    /// Finishes what the coordinator and those below it have taken, if the stop says so, until the time for that is over.
    ///
    /// First the messages from outside of the subtree end, because their handlers may need the children; then the children drain and
    /// stop, in the order of their stops, and may ask this coordinator meanwhile; then the messages end that they have sent.
    func drain(for stop: Stop) async {
        guard let time = stop.drain, beginDrain(stop) else { return }
        stop.grace.begin()
        time.begin()
        // What a pause holds back would never begin.
        endPause(stop.hasFailed)
        _ = await time.within { await self.waitForMessages(.fromOutside) }
        if let children = existingChildren {
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
            (state.life.phase, state.life.stop) = (.draining, stop)
            return true
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

extension Node.State {
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

    /// Whether there are messages that no coordinator below has sent; of those that begin at the moment some may have ended.
    private func hasMessagesFromOutside(of path: CoordinatorPath) -> Bool {
        let beginning = handlers.batch.lazy.compactMap(\.envelope)
        let running = handlers.running.values.lazy.compactMap(\.envelope)
        let isFromOutside = { (envelope: Envelope) in envelope.sender == path || !envelope.sender.isWithin(path) }
        // Those that wait for a child to be opened are few, and are handed on soon.
        return !extras.waitingForChildren.isEmpty || beginning.contains(where: isFromOutside) || running.contains(where: isFromOutside)
            || mailbox.waitingMessages.contains(where: isFromOutside)
    }
}
