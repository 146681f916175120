package import Supervision

extension SplitMix64 {
    /// Returns true once in `count` times.
    package mutating func oneIn(_ count: Int) -> Bool {
        Int.random(in: 0..<count, using: &self) == 0
    }

    /// Returns one of the elements, each as often as the others.
    package mutating func one<Element>(of elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &self)]
    }

    /// Returns a number that depends on nothing but these, so that what happens to one life doesn't depend on what happened to others before.
    package static func drawn(_ seed: UInt64, _ purpose: UInt64) -> UInt64 {
        mixed(mixed(seed &+ 0x9E37_79B9_7F4A_7C15) ^ (purpose &* 0xD6E8_FEB8_6659_FD93))
    }
}
