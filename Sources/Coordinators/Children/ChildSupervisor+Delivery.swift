import ConcurrencySupport
import WireProtocol

extension ChildSupervisor {
    /// How many messages may wait for a child that isn't ready.
    static let parkedLimit = 1_024
    /// How many bytes they may have together; one may wait whatever its size.
    static let parkedBytesLimit = 4 << 20

    /// Whether a child, or one below it, has a message that isn't handled yet.
    var isBusy: Bool {
        let (areAnyParked, hosts) = state.withLock { state in
            (
                state.machine.ids.contains { state.slots[$0]?.parked.isEmpty == false },
                state.machine.ids.compactMap { state.slots[$0]?.host }
            )
        }
        return areAnyParked || hosts.contains { $0.isBusy }
    }

    /// Delivers to a child or below it.
    ///
    /// A child that isn't ready is waited for, until the deadline.
    func deliver(_ envelope: Envelope, to key: String, _ rest: ArraySlice<Substring>, isDirect: Bool) {
        let path = node.path.appending(key)
        let (host, error) = state.withLock { state -> ((any ChildHost)?, CoordinatorError?) in
            switch state.slots[key]?.phase {
            case .active(let host):
                return (host, nil)
            case .flushing:
                break
            case .pending(let nextAttempt):
                if let nextAttempt, let deadline = envelope.deadline, nextAttempt > deadline {
                    return (nil, CoordinatorError(.restarting, "\(path) is being restarted, later than the deadline"))
                }
            case .down(let isFailed):
                let what = isFailed ? "has failed" : "has stopped"
                return (nil, CoordinatorError(.stopped, "\(path) \(what)"))
            case nil:
                return (nil, CoordinatorError(.noSuchPath, "there is no coordinator at \(path)"))
            }
            if state.slots[key]?.hasRoom(for: envelope) == false {
                // Whose asker has given up takes no room.
                state.slots[key]?.removeParked(where: \.hasEnded)
            }
            guard state.slots[key]?.hasRoom(for: envelope) == true else {
                return (nil, CoordinatorError(.mailboxFull, "as many messages, or bytes of them, wait for \(path) as may"))
            }
            state.slots[key]?.parked.append(.init(envelope: envelope, rest: rest, isDirect: isDirect))
            return (nil, nil)
        }
        if let host { host.deliver(envelope, to: rest, isDirect: isDirect) }
        if let error { envelope.end(.failure(error)) }
    }

    /// Takes back a message that has not left: before all that has come after it, and whatever else waits, for it was taken already.
    ///
    /// - Returns: false when the child doesn't wait for a life or a link.
    func park(returned message: ChildSlot.Parked, for key: String) -> Bool {
        state.withLock { state in
            switch state.slots[key]?.phase {
            case .pending(nextAttempt: nil), .flushing:
                state.slots[key]?.takeBack(message)
                return true
            case .pending, .active, .down, nil: return false
            }
        }
    }
}

extension ChildSlot {
    /// Those that have come back aren't counted: they are bounded by what may be under way on a link.
    fileprivate func hasRoom(for envelope: Envelope) -> Bool {
        let new = parked.dropFirst(returned)
        guard new.count < ChildSupervisor.parkedLimit else { return false }
        return new.isEmpty || new.reduce(envelope.size) { $0 + $1.envelope.size } <= ChildSupervisor.parkedBytesLimit
    }

    fileprivate mutating func takeBack(_ message: Parked) {
        parked.insert(message, at: returned)
        returned += 1
    }

    mutating func removeParked(where isUnwanted: (Envelope) -> Bool) {
        returned -= parked.prefix(returned).count { isUnwanted($0.envelope) }
        parked.removeAll { isUnwanted($0.envelope) }
    }
}
