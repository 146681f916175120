import ConcurrencySupport

/// The numbers of coordinators in this process by greeting: actors, not entries of a tree.
public enum LifeInstances {
    private static let counts = Lock<[String: Int]>([:])

    public static func count(of greeting: String) -> Int { counts.withLock { $0[greeting, default: 0] } }

    static func add(_ number: Int, of greeting: String) { counts.withLock { $0[greeting, default: 0] += number } }
}
