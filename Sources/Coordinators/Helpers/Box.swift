/// A value that stays where it is; whoever owns it guards it by a lock.
final class Box<Value: Sendable>: @unchecked Sendable {
    var value: Value

    init(_ value: Value) { self.value = value }
}
