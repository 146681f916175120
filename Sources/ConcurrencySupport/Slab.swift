/// Elements under numbers that are never used twice.
///
/// The type is public, its members aren't: in other targets the compiler specializes only what belongs to public types.
public struct Slab<Element> {
    @usableFromInline
    struct Slot {
        /// The number of elements that had this place before.
        @usableFromInline var generation: UInt32 = 0
        @usableFromInline var element: Element?

        @inlinable
        init(_ element: Element) { self.element = element }
    }

    @usableFromInline var slots: [Slot] = []
    @usableFromInline var free: [UInt32] = []

    /// The numbers below are left to others.
    @usableFromInline static var firstNumber: UInt64 { 2 }

    @inlinable
    package init() {}

    /// The number of elements.
    @inlinable
    package var count: Int { slots.count - free.count }

    /// All elements.
    @inlinable
    package var elements: some Sequence<Element> { slots.lazy.compactMap(\.element) }

    /// Adds an element.
    ///
    /// - Returns: The element's number.
    @inlinable
    package mutating func insert(_ element: Element) -> UInt64 {
        guard let place = free.popLast() else {
            slots.append(Slot(element))
            return number(of: slots.count - 1)
        }
        slots[Int(place)].element = element
        return number(of: Int(place))
    }

    /// Removes and returns an element.
    @inlinable
    package mutating func remove(_ number: UInt64) -> Element? {
        guard let place = place(of: number), let element = slots[place].element.take() else { return nil }
        slots[place].generation &+= 1
        free.append(UInt32(place))
        return element
    }

    /// Removes and returns all elements.
    @inlinable
    package mutating func removeAll() -> [Element] { slots.indices.compactMap { remove(number(of: $0)) } }

    @inlinable
    package subscript(number: UInt64) -> Element? {
        get { place(of: number).flatMap { slots[$0].element } }
        set { if let place = place(of: number), slots[place].element != nil { slots[place].element = newValue } }
    }

    @inlinable
    package func contains(_ number: UInt64) -> Bool { place(of: number).map { slots[$0].element != nil } ?? false }

    /// Returns the number of the element at a place: below the place, and in the upper half its generation.
    @inlinable
    func number(of place: Int) -> UInt64 { UInt64(slots[place].generation) << 32 | UInt64(place) + Self.firstNumber }

    @inlinable
    func place(of number: UInt64) -> Int? {
        let low = number & UInt64(UInt32.max)
        guard low >= Self.firstNumber else { return nil }
        let place = Int(low - Self.firstNumber)
        guard place < slots.count, slots[place].generation == UInt32(number >> 32) else { return nil }
        return place
    }
}

extension Slab: Sendable where Element: Sendable {}
extension Slab.Slot: Sendable where Element: Sendable {}
