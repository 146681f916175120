/// Values by the types of messages.
///
/// Each ask looks up a row at every coordinator that it passes. A dictionary hashes the key with great care each time; addresses of types
/// are spread well enough by one multiplication.
struct TypeMap<Value: Sendable>: Sendable {
    private struct Slot: Sendable {
        let type: ObjectIdentifier
        let value: Value
    }

    /// The slots, a power of two of them; at least half are empty, so that every search ends.
    private let slots: [Slot?]
    private let shift: Int

    init(_ values: [ObjectIdentifier: Value]) {
        var bits = 1
        while 1 << bits < 2 * values.count { bits += 1 }
        shift = UInt.bitWidth - bits
        var slots = [Slot?](repeating: nil, count: 1 << bits)
        for (type, value) in values {
            var place = Self.place(of: type, shift)
            while slots[place] != nil { place = (place + 1) & (slots.count - 1) }
            slots[place] = Slot(type: type, value: value)
        }
        self.slots = slots
    }

    subscript(type: ObjectIdentifier) -> Value? {
        var place = Self.place(of: type, shift)
        while let slot = slots[place] {
            if slot.type == type { return slot.value }
            place = (place + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Returns the slot at which the search begins: the upper bits of the address times the golden ratio (Knuth, TAOCP 3, 6.4).
    private static func place(of type: ObjectIdentifier, _ shift: Int) -> Int {
        Int(truncatingIfNeeded: (UInt(bitPattern: type) &* 0x9E37_79B9_7F4A_7C15) >> UInt(shift))
    }
}
