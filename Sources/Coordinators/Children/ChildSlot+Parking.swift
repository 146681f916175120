extension ChildSlot {
    /// The messages that wait for a child.
    struct Parking {
        struct Message {
            let envelope: Envelope
            let rest: ArraySlice<Substring>
            let isDirect: Bool
        }

        /// The number of messages that may wait for a child that isn't ready.
        static let limit = 1_024
        /// The number of bytes that those messages may have together; a single message may wait whatever its size.
        static let bytesLimit = 4 << 20

        private(set) var messages: [Message] = []
        /// The number of messages at the front that have come back from an ended link: they are older than all later ones.
        private var returned = 0
        /// Whether a thread delivers the messages that have waited; newer messages can't overtake them.
        var isBeingDelivered = false

        /// Whether there is a message that isn't handed to a host yet.
        var isBusy: Bool { !messages.isEmpty || isBeingDelivered }

        /// Takes a message, if there is room.
        mutating func take(_ message: Message) -> Bool {
            // A message whose asker has given up takes no room.
            if !hasRoom(for: message.envelope) { _ = remove(where: \.hasEnded) }
            guard hasRoom(for: message.envelope) else { return false }
            messages.append(message)
            return true
        }

        /// Takes a delivered message back, behind the others that have come back and before all later ones.
        mutating func takeBack(_ message: Message) {
            messages.insert(message, at: returned)
            returned += 1
        }

        /// Removes and returns all messages.
        mutating func removeAll() -> [Message] {
            defer { (messages, returned) = ([], 0) }
            return messages
        }

        /// Removes and returns the messages whose envelopes satisfy the condition.
        mutating func remove(where isUnwanted: (Envelope) -> Bool) -> [Message] {
            let removed = messages.filter { isUnwanted($0.envelope) }
            guard !removed.isEmpty else { return [] }
            let unwanted = Set(removed.map { ObjectIdentifier($0.envelope) })
            returned -= messages.prefix(returned).count { unwanted.contains(ObjectIdentifier($0.envelope)) }
            messages.removeAll { unwanted.contains(ObjectIdentifier($0.envelope)) }
            return removed
        }

        /// Returns whether there is room for a message; those that have come back aren't counted, since the limits of a link bound them.
        private func hasRoom(for envelope: Envelope) -> Bool {
            let new = messages.dropFirst(returned)
            guard new.count < Self.limit else { return false }
            return new.isEmpty || new.reduce(envelope.size) { $0 + $1.envelope.size } <= Self.bytesLimit
        }
    }
}
