/// Values by the types of messages.
///
/// Each ask looks up a row at every coordinator that it passes. A dictionary hashes the key with great care each time; addresses of types
/// are spread well enough by one multiplication.
struct TypeMap<Value: Sendable>: Sendable {
    /// The types in their slots, a power of two of them; at least half are empty, so that every search ends.
    private let types: [ObjectIdentifier?]
    /// The index of each type's value.
    private let indices: [Int]
    /// The values; a part of one is read by its index, without a copy of the whole.
    let values: [Value]
    private let shift: Int

    init(_ values: [ObjectIdentifier: Value]) {
        var bits = 1
        while 1 << bits < 2 * values.count { bits += 1 }
        let (shift, mask) = (UInt.bitWidth - bits, 1 << bits - 1)
        var types = [ObjectIdentifier?](repeating: nil, count: mask + 1)
        var indices = [Int](repeating: 0, count: mask + 1)
        for (index, type) in values.keys.enumerated() {
            var slot = Self.slot(of: type, shift)
            while types[slot] != nil { slot = (slot + 1) & mask }
            (types[slot], indices[slot]) = (type, index)
        }
        (self.types, self.indices, self.values, self.shift) = (types, indices, Array(values.values), shift)
    }

    /// Returns the index of a type's value.
    func index(of type: ObjectIdentifier) -> Int? {
        var slot = Self.slot(of: type, shift)
        while let found = types[slot] {
            if found == type { return indices[slot] }
            slot = (slot + 1) & (types.count - 1)
        }
        return nil
    }

    /// Returns the slot at which the search begins: the upper bits of the address times the golden ratio (Knuth, TAOCP 3, 6.4).
    private static func slot(of type: ObjectIdentifier, _ shift: Int) -> Int {
        Int(truncatingIfNeeded: (UInt(bitPattern: type) &* 0x9E37_79B9_7F4A_7C15) >> UInt(shift))
    }
}
