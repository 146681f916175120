/// An input as a source of randomness: its bytes one after the other, and then zeros.
struct BytesAsDice: RandomNumberGenerator {
    private var bytes: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

    mutating func next() -> UInt64 {
        // The upper bits decide what is chosen from a range; the lower must not be so small that the standard library wants others.
        UInt64(bytes.popFirst() ?? 0) << 56 | 0x00AA_AAAA_AAAA_AAAA
    }
}
