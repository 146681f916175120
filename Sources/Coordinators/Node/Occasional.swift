/// A value that is empty for most of its owners: an empty one takes no more room than a reference.
struct Occasional<Value: Emptiable> {
    fileprivate indirect enum Storage {
        case empty
        case present(Value)
    }

    private var storage = Storage.empty

    var isEmpty: Bool {
        if case .empty = storage { true } else { false }
    }

    var value: Value {
        get {
            switch storage {
            case .empty: Value()
            case .present(let value): value
            }
        }
        _modify {
            var changed = value
            // The value is moved out, so that its collections aren't copied when they're changed.
            storage = .empty
            defer { if !changed.isEmpty { storage = .present(changed) } }
            yield &changed
        }
    }
}

extension Occasional.Storage: Sendable where Value: Sendable {}
extension Occasional: Sendable where Value: Sendable {}

/// A value with an empty state, which is its first.
protocol Emptiable {
    init()

    var isEmpty: Bool { get }
}
