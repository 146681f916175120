/// Takes note of the length of a message that is larger than the reader's buffer and hasn't arrived yet.
///
/// What it returns is kept until all of the message has arrived, or the connection is forgotten.
public typealias LargeMessageReservation = @Sendable (_ length: Int) -> any AnyObject & Sendable

/// A message larger than the reader's buffer, which is read straight into its array.
final class LargeMessage: @unchecked Sendable {
    let body: [UInt8]
    // The storage of `body`: written by nng until the message is complete; until then `body` is neither read nor copied.
    private let storage: UnsafeMutableRawBufferPointer
    // Belongs to the holder of the reader's turn.
    private var filled = 0
    private let reservation: (any AnyObject & Sendable)?

    init(length: Int, _ reservation: (any AnyObject & Sendable)?) {
        self.reservation = reservation
        var storage = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        // Not initialised: a peer that announces much and sends little costs address space only. Every byte is written before `body` is
        // given away.
        body = [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
            storage = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<length])
            count = length
        }
        self.storage = storage
    }

    /// The memory for the bytes that are missing.
    var missing: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: storage[filled...])
    }

    var isComplete: Bool {
        filled == storage.count
    }

    /// Copies as many of `bytes` as are missing, and returns their number.
    func append(_ bytes: UnsafeRawBufferPointer) -> Int {
        let count = min(bytes.count, storage.count - filled)
        missing.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        filled += count
        return count
    }

    /// Counts bytes that nng has written.
    func advance(by count: Int) {
        filled += count
    }
}
