/// Numbers that are opened in order and closed in any, and the lowest that is open.
///
/// - Cost: O(1) for each number, amortised.
package struct SequenceFloor: Sendable {
    private var last: UInt64 = 0
    private var openNumbers: Set<UInt64> = []

    /// The number below which all are closed.
    package private(set) var floor: UInt64 = 1

    package init() {}

    /// The number of numbers that are open.
    package var count: Int { openNumbers.count }

    /// Opens the next number.
    package mutating func open() -> UInt64 {
        last += 1
        openNumbers.insert(last)
        return last
    }

    /// Closes a number.
    package mutating func settle(_ number: UInt64) {
        guard openNumbers.remove(number) != nil, number == floor else { return }
        // After a number that was open for long, few of those that follow are.
        guard last - floor <= 4 * UInt64(openNumbers.count) + 16 else { return floor = openNumbers.min() ?? last + 1 }
        while floor <= last, !openNumbers.contains(floor) { floor += 1 }
    }
}
