/// Chance with a seed: the same seed gives the same numbers everywhere.
///
/// Steele, Lea, Flood: "Fast splittable pseudorandom number generators" (2014), https://doi.org/10.1145/2714064.2660195
struct Dice: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return Self.mixed(state)
    }

    /// True once in `count` times.
    mutating func oneIn(_ count: Int) -> Bool {
        Int.random(in: 0..<count, using: &self) == 0
    }

    mutating func one<Element>(of elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &self)]
    }

    /// A number that hangs on nothing but these, so that what happens to one life doesn't hang on what happened to others before.
    static func drawn(_ seed: UInt64, _ purpose: UInt64) -> UInt64 {
        mixed(mixed(seed &+ 0x9E37_79B9_7F4A_7C15) ^ (purpose &* 0xD6E8_FEB8_6659_FD93))
    }

    private static func mixed(_ state: UInt64) -> UInt64 {
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
