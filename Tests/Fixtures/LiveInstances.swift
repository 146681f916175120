import ConcurrencySupport

/// The numbers of coordinators in this process by greeting: after stop, finish and give-up there are none.
public enum LiveInstances {
    private static let counts = Lock<[String: Int]>([:])

    public static func count(of greeting: String) -> Int { counts.withLock { $0[greeting, default: 0] } }

    /// The number of all.
    static var all: Int { counts.withLock { $0.values.reduce(0, +) } }

    static func add(_ number: Int, of greeting: String) { counts.withLock { $0[greeting, default: 0] += number } }
}
