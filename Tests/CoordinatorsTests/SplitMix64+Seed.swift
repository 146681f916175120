@testable import Supervision

extension SplitMix64 {
    /// A random source whose seed is printed, so that a walk can be repeated.
    init(seed: UInt64, _ walk: String) {
        print("\(walk) seed: \(seed)")
        self.init(seed: seed)
    }
}
