/// A random source that a printed seed repeats: SplitMix64.
///
/// It is the one of https://prng.di.unimi.it/splitmix64.c.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    /// Starts from a seed; without one, from a new one, which is printed with the name of the test.
    init(seed: UInt64 = .random(in: .min ... .max), _ test: String = #function) {
        print("\(test) seed: \(seed)")
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func bytes(upTo count: Int) -> [UInt8] {
        (0..<Int.random(in: 0...count, using: &self)).map { _ in UInt8.random(in: 0...255, using: &self) }
    }

    mutating func text(upTo count: Int = 20) -> String {
        let alphabet = Array("abcXYZ./-_ äß€𝄞👩‍🚀\u{0}\u{7F}")
        return String((0..<Int.random(in: 0...count, using: &self)).map { _ in alphabet.randomElement(using: &self) ?? "a" })
    }
}
