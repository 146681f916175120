/// A value that stays where it is.
///
/// `@unchecked`: its owner guards it by a lock.
package final class Box<Value: Sendable>: @unchecked Sendable {
    package var value: Value

    @inlinable
    package init(_ value: Value) { self.value = value }
}
