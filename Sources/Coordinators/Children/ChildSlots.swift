import ConcurrencySupport

/// The slots of a coordinator's children, by key.
///
/// Each slot is in a box of its own and changed in place, because a table of a hundred thousand slots has as many empty places, which must
/// be small.
struct ChildSlots: Sendable {
    private var boxes: [String: Box<ChildSlot>] = [:]
    private var tenancies: UInt64 = 0

    /// Returns a copy of a slot; `nil` when there is none.
    subscript(key: String) -> ChildSlot? { boxes[key]?.value }

    func contains(_ key: String) -> Bool { boxes[key] != nil }

    /// Returns a slot as it stays in the table, for several changes of it under one lock; `nil` when there is none.
    func box(_ key: String) -> Box<ChildSlot>? { boxes[key] }

    /// Reads or changes a slot in place.
    ///
    /// - Returns: `nil` when there is none.
    func with<Result>(_ key: String, _ body: (inout ChildSlot) throws -> Result) rethrows -> Result? {
        guard let box = boxes[key] else { return nil }
        return try body(&box.value)
    }

    /// Gives a key to a child that is started by a request.
    ///
    /// - Parameter known: The key's slot, if it has one.
    /// - Returns: The slot, and as it was before; `nil` when there was none.
    mutating func begin(_ definition: ChildDefinition, in known: Box<ChildSlot>?) -> (Box<ChildSlot>, former: ChildSlot?) {
        tenancies += 1
        let tenancy = ChildSlot.Tenancy(number: tenancies, definition: definition)
        guard let known else {
            let box = Box(ChildSlot(tenancy))
            boxes[definition.key] = box
            return (box, nil)
        }
        let former = known.value
        known.value.tenancy = tenancy
        return (known, former)
    }

    mutating func remove(_ key: String) -> ChildSlot? { boxes.removeValue(forKey: key)?.value }

    mutating func removeAll() -> [ChildSlot] {
        defer { boxes = [:] }
        return boxes.values.map(\.value)
    }
}
