import WireProtocol

/// What waits to leave on a link, and the names that the other end knows.
struct Outbound {
    /// How much may wait for the other side, in bytes: a side that takes nothing of what it's sent is given up.
    static let limit = 256 << 20

    var batches = OutboundBatches()
    var names = OutboundNames()
    private(set) var closed: LinkError?
    /// The largest frame that the other side takes.
    var maximumFrameSize: Int
    /// How many batches have been handed to the connection.
    private(set) var transmissions: UInt64 = 0
    private var isTransmitting = false

    init(maximumFrameSize: Int) { self.maximumFrameSize = maximumFrameSize }

    /// The batch to send now, if none is on its way.
    mutating func beginTransmission() -> [UInt8]? {
        guard !isTransmitting else { return nil }
        isTransmitting = true
        return continueTransmission()
    }

    /// The batch to send after one has left; `nil`: the link is idle.
    mutating func continueTransmission() -> [UInt8]? {
        let next = closed == nil ? batches.next() : nil
        isTransmitting = next != nil
        if next != nil { transmissions &+= 1 }
        return next
    }

    /// The id of a name, after defining it to the other end if it's new.
    mutating func intern(_ text: String) -> NameID {
        if text.isEmpty { return 0 }
        switch names.intern(text) {
        case .known(let id):
            return id
        case .new(let id, replacing: let isReplacing):
            // Frames that still wait may use the name's former meaning: nothing may overtake them now.
            if isReplacing { batches.seal() }
            batches.define(DefineName(id: id, text: text))
            return id
        }
    }

    mutating func close(_ error: LinkError) {
        closed = error
        batches = OutboundBatches()
        names = OutboundNames()
    }
}
