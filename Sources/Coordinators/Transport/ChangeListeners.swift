/// The functions that are called when a value changes: for the links to the processes below.
struct ChangeListeners<Value> {
    private var functions: [UInt64: @Sendable (Value) -> Void] = [:]
    private var next: UInt64 = 0

    /// All functions, which are to be called outside of any lock.
    var all: [@Sendable (Value) -> Void] { Array(functions.values) }

    /// Adds a function, and returns the number by which it can be removed.
    mutating func add(_ function: @escaping @Sendable (Value) -> Void) -> UInt64 {
        next += 1
        functions[next] = function
        return next
    }

    mutating func remove(_ id: UInt64) { functions[id] = nil }
}
