import Glibc

/// The amount of testing that is asked for, by the variable `COORDINATORS_TEST_TIER`: `short`, `all` or `long`.
public enum TestTier: String, Comparable, Sendable {
    /// What a contributor waits for: each kind of chance, and a few rounds of it.
    case short
    /// What is merged has passed this: as many rounds as each planted fault needs to be found.
    case all
    /// What finds the rare.
    case long

    /// The tier of this process; `short` unless the variable names another.
    public static let current: TestTier = {
        guard let name = getenv("COORDINATORS_TEST_TIER").map({ String(cString: $0) }) else { return .short }
        guard let tier = TestTier(rawValue: name) else { fatalError("COORDINATORS_TEST_TIER is '\(name)', and not short, all or long.") }
        return tier
    }()

    public static func < (one: TestTier, other: TestTier) -> Bool { one.order < other.order }

    private var order: Int {
        switch self {
        case .short: 0
        case .all: 1
        case .long: 2
        }
    }
}

/// Returns the number of rounds of a storm, or of random scenarios, in the tier that is asked for.
///
///     @Test(arguments: 0..<rounds(short: 20, all: 200, long: 2_000))
public func rounds(short: Int, all: Int, long: Int) -> Int {
    switch TestTier.current {
    case .short: short
    case .all: all
    case .long: long
    }
}
