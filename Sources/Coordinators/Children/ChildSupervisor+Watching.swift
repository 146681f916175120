import ConcurrencySupport

extension ChildSupervisor {
    /// Answers when the child's present life ends, or at once.
    func watch(_ key: String, _ envelope: Envelope) {
        let path = node.path.appending(key)
        let gone = state.withLock { state -> Termination? in
            guard let slot = state.slots[key] else { return Termination(path: path, incarnation: 0, reason: .unknown) }
            guard state.isAlive(key) || state.isEnding(key), slot.host != nil else {
                return Termination(path: path, incarnation: slot.incarnation, reason: slot.lastExit ?? .unknown)
            }
            state.slots[key]?.watchers.append(envelope)
            return nil
        }
        if let gone { envelope.complete(.success(.value(gone))) }
        envelope.release()
    }
}
