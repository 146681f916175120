/// A value that stays where it is.
///
/// `@unchecked`: its owner guards it by a lock.
///
/// The type is public, its members aren't: in other targets the compiler specializes only what belongs to public types.
public final class Box<Value: Sendable>: @unchecked Sendable {
    // The owner's lock excludes what the runtime would check at each access.
    @exclusivity(unchecked) @usableFromInline var storage: Value

    @inlinable
    package init(_ value: Value) { storage = value }

    @inlinable
    package var value: Value {
        _read { yield storage }
        _modify { yield &storage }
    }
}
