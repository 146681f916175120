import Supervision

/// A random source that a printed seed repeats.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var generator: SplitMix64

    /// Starts from a seed; without one, from a new one, which is printed with the name of the test.
    public init(seed: UInt64 = .random(in: .min ... .max), _ test: String = #function) {
        print("\(test) seed: \(seed)")
        generator = SplitMix64(seed: seed)
    }

    public mutating func next() -> UInt64 { generator.next() }
}
