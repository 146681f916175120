/// Memory that nng reads into or writes from while an operation is in flight.
final class TransferBuffer: @unchecked Sendable {
    // Touched by one side at a time: by nng during the operation, by the task before and after it.
    let bytes: UnsafeMutableRawBufferPointer

    init(capacity: Int) {
        bytes = .allocate(byteCount: capacity, alignment: 1)
    }

    convenience init(copying source: [UInt8]) {
        self.init(capacity: source.count)
        bytes.copyBytes(from: source)
    }

    deinit {
        bytes.deallocate()
    }
}
