/// A small generator with a seed: the same seed gives the same numbers everywhere.
///
/// Steele, Lea, Flood: "Fast splittable pseudorandom number generators" (2014), https://doi.org/10.1145/2714064.2660195
package struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return Self.mixed(state)
    }

    /// Spreads a change of any bit over all bits.
    package static func mixed(_ state: UInt64) -> UInt64 {
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
