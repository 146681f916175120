/// A message that waits until it can be delivered.
protocol Parked: Sendable {
    var envelope: Envelope { get }
}

/// The messages that wait for a child, or for the way up, bounded and in order.
struct MessageParking<Message: Parked> {
    /// The number of messages that may wait.
    static var limit: Int { 1_024 }
    /// The number of bytes that those messages may have together; a single message may wait whatever its size.
    static var bytesLimit: Int { 4 << 20 }

    private(set) var messages: [Message] = []
    /// The number of messages at the front that have come back from an ended link: they are older than all later ones.
    private var returned = 0
    /// Whether a thread delivers the messages that have waited; newer messages can't overtake them.
    var isBeingDelivered = false

    /// Whether there is a message that isn't delivered yet.
    var isBusy: Bool { !messages.isEmpty || isBeingDelivered }

    /// Takes a message, if there is room.
    mutating func take(_ message: Message) -> Bool {
        // A message whose asker has given up takes no room.
        if !hasRoom(for: message.envelope) { _ = remove(where: \.isWithdrawn) }
        guard hasRoom(for: message.envelope) else { return false }
        messages.append(message)
        return true
    }

    /// Takes a delivered message back, before all later ones, and in order with the others that have come back.
    mutating func takeBack(_ message: Message) {
        // They come back from several links and threads, each in order.
        var place = returned
        while place > 0, messages[place - 1].envelope.arrived > message.envelope.arrived { place -= 1 }
        messages.insert(message, at: place)
        returned += 1
    }

    /// Removes and returns all messages.
    mutating func removeAll() -> [Message] {
        defer { (messages, returned) = ([], 0) }
        return messages
    }

    /// Removes and returns the messages whose envelopes satisfy the condition.
    mutating func remove(where isUnwanted: (Envelope) -> Bool) -> [Message] {
        remove { (message: Message) in isUnwanted(message.envelope) }
    }

    /// Removes and returns the messages that satisfy the condition.
    mutating func remove(_ isUnwanted: (Message) -> Bool) -> [Message] {
        let removed = messages.filter(isUnwanted)
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
