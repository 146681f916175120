import Synchronization

/// What observes the messages of a process at the moment: one number, so that a message that nothing observes only reads that.
final class ObservationActivity: Sendable {
    struct Observers: OptionSet, Sendable {
        let rawValue: UInt8
        /// The instruments of the program's own.
        static let installed = Observers(rawValue: 1)
        static let tap = Observers(rawValue: 2)
        static let traces = Observers(rawValue: 4)
        static let telemetry = Observers(rawValue: 8)
    }

    private let bits = Atomic<UInt8>(0)

    var isAny: Bool { bits.load(ordering: .relaxed) != 0 }

    func has(_ observer: Observers) -> Bool { bits.load(ordering: .relaxed) & observer.rawValue != 0 }

    /// Whether others than these are active too.
    func hasMore(than observers: Observers) -> Bool { bits.load(ordering: .relaxed) & ~observers.rawValue != 0 }

    /// Sets whether an observer is active.
    ///
    /// - Returns: Whether it was.
    @discardableResult
    func set(_ observer: Observers, _ isActive: Bool) -> Bool {
        let former =
            isActive
            ? bits.bitwiseOr(observer.rawValue, ordering: .relaxed).oldValue
            : bits.bitwiseAnd(~observer.rawValue, ordering: .relaxed).oldValue
        return former & observer.rawValue != 0
    }
}
