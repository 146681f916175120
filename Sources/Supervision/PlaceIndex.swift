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
/// A dictionary has a copy of each name beside the place, 40 bytes for each element on average; this has 5 to 18, and reads the names where
/// they are. A look-up, an insertion and a removal take constant time. Each call gets the array: it's not held here, so that it changes in
/// place.
///
/// Open addressing with linear probing, in which an entry that is far from its home has the way before one that is near (Robin Hood hashing, Celis
/// 1986): all stay near. An entry has its distance from its home, by which the home is known, and more bits of the hash. So a table that grows
/// hashes nothing and reads no name, a look-up reads those names that are very likely the right ones, and a removal needs no mark.
///
/// The type is public, its members aren't: in other targets the compiler specializes only what belongs to public types.
public struct PlaceIndex<Element: Named & Sendable>: Sendable {
    /// The buckets, each of which is free, which is 0, or has one more than a place in its low bits.
    ///
    /// Of these there are ``bits``. Above them are five of the distance, and then those of the hash that aren't the home.
    @usableFromInline var entries: [UInt32] = []
    /// The binary logarithm of the number of entries.
    @usableFromInline var bits: UInt32 = 0
    @usableFromInline var storedCount: UInt32 = 0

    @inlinable
    package init() {}

    /// The number of names.
    @inlinable
    package var count: Int { Int(storedCount) }

    /// The greatest distance of an entry from its home.
    @inlinable static var limit: UInt32 { 31 }

    @inlinable var mask: Int { entries.count - 1 }
    /// One step of the distance.
    @inlinable var step: UInt32 { 1 &<< bits }

    /// Returns the bits of a hash that the table knows: as many as an entry has, distance apart.
    @inlinable
    static func known(_ hash: Int) -> UInt32 { UInt32(truncatingIfNeeded: hash) & (1 << 27 - 1) }

    /// Returns an entry in its home.
    @inlinable
    func entry(_ place: Int, _ known: UInt32) -> UInt32 { (known &>> bits) &<< (bits + 5) | UInt32(truncatingIfNeeded: place + 1) }

    @inlinable
    func place(in entry: UInt32) -> Int { Int(entry & (step - 1)) - 1 }

    @inlinable
    func distance(of entry: UInt32) -> UInt32 { (entry &>> bits) & Self.limit }

    /// Returns the bits of the hash of the entry in a bucket.
    @inlinable
    func known(_ entry: UInt32, in bucket: Int) -> UInt32 {
        (entry &>> (bits + 5)) &<< bits | UInt32(truncatingIfNeeded: (bucket - Int(distance(of: entry))) & mask)
    }

    /// Returns the place of the element with a name; `nil` when there is none.
    @inlinable
    package func place(of name: String, in elements: [Element]) -> Int? {
        storedCount == 0 ? nil : place(of: HashedName(name), in: elements)
    }

    @inlinable
    package func place(of name: HashedName, in elements: [Element]) -> Int? {
        bucket(of: name, in: elements).map { place(in: entries[$0]) }
    }

    @inlinable
    func bucket(of name: HashedName, in elements: [Element]) -> Int? {
        if storedCount == 0 { return nil }
        let known = Self.known(name.hash)
        var bucket = Int(known) & mask
        var wanted = entry(-1, known)
        for distance in 0...Self.limit {
            let entry = entries[bucket]
            if entry &>> bits == wanted &>> bits, entry != 0, elements[place(in: entry)].name == name.name { return bucket }
            // The one that is looked for would have had the way before it.
            if entry == 0 || self.distance(of: entry) < distance { return nil }
            wanted &+= step
            bucket = (bucket + 1) & mask
        }
        return nil
    }

    /// Adds the element at a place, whose name isn't there.
    @inlinable
    package mutating func insert(_ place: Int, of elements: [Element]) { insert(HashedName(elements[place].name), at: place) }

    /// Adds the place of an element whose name isn't there.
    @inlinable
    package mutating func insert(_ name: HashedName, at place: Int) {
        storedCount += 1
        if count * 8 > entries.count * 7 || place + 1 >= entries.count { resize(for: place) }
        put(place, Self.known(name.hash))
    }

    @inlinable
    mutating func put(_ place: Int, _ known: UInt32) {
        var bucket = Int(known) & mask
        var entry = entry(place, known)
        while entries[bucket] != 0 {
            if distance(of: entries[bucket]) < distance(of: entry) { swap(&entries[bucket], &entry) }
            if distance(of: entry) == Self.limit {
                let (place, known) = (self.place(in: entry), self.known(entry, in: bucket))
                resize(for: entries.count)
                return put(place, known)
            }
            entry &+= step
            bucket = (bucket + 1) & mask
        }
        entries[bucket] = entry
    }

    /// Makes the table as large as its elements need.
    ///
    /// - Parameter place: The highest place for which there has to be room.
    @inlinable
    mutating func resize(for place: Int) {
        var larger = Self()
        (larger.bits, larger.storedCount) = (2, storedCount)
        while count * 8 > 7 << larger.bits || place + 1 >= 1 << larger.bits { larger.bits += 2 }
        precondition(larger.bits < 27, "too many names")
        larger.entries = [UInt32](repeating: 0, count: 1 << larger.bits)
        for bucket in entries.indices where entries[bucket] != 0 {
            larger.put(self.place(in: entries[bucket]), known(entries[bucket], in: bucket))
        }
        self = larger
    }

    /// Notes that the element with a name, which is at its former place still, is moved to another.
    @inlinable
    package mutating func move(_ name: String, to place: Int, in elements: [Element]) {
        if let bucket = bucket(of: HashedName(name), in: elements) { move(bucket, to: place) }
    }

    @inlinable
    mutating func move(_ bucket: Int, to place: Int) {
        entries[bucket] = entries[bucket] & ~(step - 1) | UInt32(truncatingIfNeeded: place + 1)
    }

    /// Notes that all elements have moved, in an array that is shorter than before.
    ///
    /// - Parameters:
    ///   - places: The new place of the element at each former place.
    ///   - end: The end of the new places.
    @inlinable
    package mutating func renumber(_ places: [Int32], to end: Int) {
        for bucket in entries.indices where entries[bucket] != 0 { move(bucket, to: Int(places[place(in: entries[bucket])])) }
        if end * 8 < entries.count { resize(for: end) }
    }

    /// Removes a name, whose element is still in the array.
    ///
    /// - Returns: Its place; `nil` when there was none.
    @discardableResult @inlinable
    package mutating func remove(_ name: String, in elements: [Element]) -> Int? {
        guard var bucket = bucket(of: HashedName(name), in: elements) else { return nil }
        let removed = place(in: entries[bucket])
        storedCount -= 1
        // Those behind it that aren't in their homes come nearer.
        while true {
            let next = (bucket + 1) & mask
            guard distance(of: entries[next]) > 0 else { break }
            entries[bucket] = entries[next] - step
            bucket = next
        }
        entries[bucket] = 0
        return removed
    }
}
