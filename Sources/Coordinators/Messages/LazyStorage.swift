/// A value that is empty for most of its owners: an empty one takes no more room than a reference.
struct LazyStorage<Value: Emptiable> {
    /// A value that isn't empty; a copy of its owner shares it until one of them changes it.
    final class Storage {
        // The owner's exclusivity excludes what the runtime would check at each access.
        @exclusivity(unchecked) fileprivate(set) var value: Value

        fileprivate init(_ value: Value) { self.value = value }
    }

    private var storage: Storage?

    var isEmpty: Bool { storage == nil }

    /// What isn't empty, of which a part is read without a copy of the whole; `nil` of an empty value.
    var existing: Storage? { storage }

    var value: Value {
        // Lent, because to copy it would retain all that it holds.
        _read {
            if let storage { yield storage.value } else { yield Value() }
        }
        _modify {
            let changed = ownStorage()
            storage = changed
            defer { if Self.isEmpty(&changed.value) { storage = nil } }
            yield &changed.value
        }
    }

    /// Returns whether a value is empty; lent to be changed, it isn't copied.
    private static func isEmpty(_ value: inout Value) -> Bool { value.isEmpty }

    private mutating func ownStorage() -> Storage {
        let isShared = !isKnownUniquelyReferenced(&storage)
        guard let storage else { return Storage(Value()) }
        return isShared ? Storage(storage.value) : storage
    }
}

// Unchecked: what is shared isn't changed.
extension LazyStorage: @unchecked Sendable where Value: Sendable {}

/// A value with an empty state, which is its first.
protocol Emptiable {
    init()

    var isEmpty: Bool { get }
}
