/// What a ``PlaceIndex`` finds.
public protocol Named {
    /// What no other element of the array has.
    var name: String { get }
}

/// A name with its hash, for what looks for it and then adds it.
public struct HashedName: Sendable {
    @usableFromInline let name: String
    @usableFromInline let hash: Int

    @inlinable
    package init(_ name: String) { (self.name, hash) = (name, name.hashValue) }
}

/// The places of named elements in an array, by name.
///
/// A dictionary has a copy of each name beside the place, 40 bytes for each element on average; this has 4 to 11, and reads the names where
/// they are. A look-up, an insertion and a removal take constant time. Each call gets the array: it's not held here, so that it changes in
/// place.
///
/// Open addressing with linear probing. A removal leaves a mark if entries stand behind it; marks count as entries, and go when the table is made
/// anew, so that nothing gets slower with time.
///
/// The type is public, its members aren't: in other targets the compiler specializes only what belongs to public types.
public struct PlaceIndex<Element: Named & Sendable>: Sendable {
    /// The buckets, each of which is free, or has one more than a place in its low bits.
    ///
    /// Of these there are ``bits``; the others are of the name's hash, so that only names are read that are very likely the right ones. A mark has
    /// no place.
    @usableFromInline var entries: [UInt32] = []
    /// The binary logarithm of the number of entries.
    @usableFromInline var bits: UInt32 = 0
    @usableFromInline var storedCount: UInt32 = 0
    /// The number of entries that aren't free.
    @usableFromInline var used: UInt32 = 0

    @inlinable
    package init() {}

    /// The number of names.
    package var count: Int { Int(storedCount) }

    @inlinable var mask: Int { entries.count - 1 }

    @inlinable
    func entry(_ place: Int, _ hash: Int) -> UInt32 {
        UInt32(truncatingIfNeeded: hash >> 32) << bits | UInt32(truncatingIfNeeded: place + 1)
    }

    /// Returns the place that an entry has; -1 of a mark, and of a free one.
    @inlinable
    func place(in entry: UInt32) -> Int { Int(entry & ((1 << bits) - 1)) - 1 }

    @inlinable var mark: UInt32 { 1 << bits }

    /// Returns the place of the element with a name; `nil` when there is none.
    @inlinable
    package func place(of name: String, in elements: [Element]) -> Int? {
        storedCount == 0 ? nil : place(of: HashedName(name), in: elements)
    }

    @inlinable
    package func place(of name: HashedName, in elements: [Element]) -> Int? {
        storedCount == 0 ? nil : bucket(of: name, in: elements).map { place(in: entries[$0]) }
    }

    @inlinable
    func bucket(of name: HashedName, in elements: [Element]) -> Int? {
        let wanted = entry(-1, name.hash)
        var bucket = name.hash & mask
        while entries[bucket] != 0 {
            let entry = entries[bucket]
            if (entry >> bits) << bits == wanted, place(in: entry) >= 0, elements[place(in: entry)].name == name.name { return bucket }
            bucket = (bucket + 1) & mask
        }
        return nil
    }

    /// Adds the element at a place, whose name isn't there.
    @inlinable
    package mutating func insert(_ place: Int, of elements: [Element]) { insert(HashedName(elements[place].name), at: place, of: elements) }

    /// Adds the element at a place by its name.
    @inlinable
    package mutating func insert(_ name: HashedName, at place: Int, of elements: [Element]) {
        let capacity = entries.count
        if Int(used + 1) * 4 > capacity * 3 || place + 1 >= capacity { grow(for: place, in: elements) }
        put(place, name.hash)
        storedCount += 1
    }

    @inlinable
    mutating func put(_ place: Int, _ hash: Int) {
        var bucket = hash & mask
        while entries[bucket] != 0 { bucket = (bucket + 1) & mask }
        entries[bucket] = entry(place, hash)
        used += 1
    }

    @inlinable
    mutating func grow(for place: Int, in elements: [Element]) {
        let places = entries.lazy.map(place(in:)).filter { $0 >= 0 }
        var larger = Self()
        larger.bits = 2
        // With room for marks if there are any, so that names that come and go don't have the table made anew each time.
        let eighths = used > storedCount ? 5 : 6
        while Int(storedCount + 1) * 8 > eighths << larger.bits || place + 1 >= 1 << larger.bits { larger.bits += 2 }
        larger.entries = [UInt32](repeating: 0, count: 1 << larger.bits)
        for place in places { larger.put(place, elements[place].name.hashValue) }
        larger.storedCount = storedCount
        self = larger
    }

    /// Notes that the element with a name, which is at its former place still, is moved to another.
    @inlinable
    package mutating func move(_ name: String, to place: Int, in elements: [Element]) {
        guard let bucket = bucket(of: HashedName(name), in: elements) else { return }
        entries[bucket] = (entries[bucket] >> bits) << bits | UInt32(truncatingIfNeeded: place + 1)
    }

    /// Notes that all elements have moved, in an array that is shorter than before.
    ///
    /// Nothing is hashed, unless the table has become much too large.
    ///
    /// - Parameter places: The new place of the element at each former place.
    @inlinable
    package mutating func renumber(_ places: [Int32], of elements: [Element]) {
        if elements.count * 16 < entries.count {
            self = Self()
            for place in elements.indices { insert(place, of: elements) }
            return
        }
        for bucket in entries.indices where place(in: entries[bucket]) >= 0 {
            let entry = entries[bucket]
            entries[bucket] = (entry >> bits) << bits | UInt32(truncatingIfNeeded: places[place(in: entry)] + 1)
        }
    }

    /// Removes a name, whose element is still in the array.
    ///
    /// - Returns: Its place; `nil` when there was none.
    @discardableResult @inlinable
    package mutating func remove(_ name: String, in elements: [Element]) -> Int? {
        guard storedCount > 0, var bucket = bucket(of: HashedName(name), in: elements) else { return nil }
        let removed = place(in: entries[bucket])
        storedCount -= 1
        entries[bucket] = mark
        // Nothing is searched for beyond a free entry, so that no mark is needed before one.
        if entries[(bucket + 1) & mask] == 0 {
            while entries[bucket] == mark {
                entries[bucket] = 0
                used -= 1
                bucket = (bucket - 1) & mask
            }
        }
        return removed
    }
}
