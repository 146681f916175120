public import Ownership

/// The score of a node for a path: the node with the highest one wins, and each wins by its weight.
///
/// Each pair of a path and a node has a score of its own, so that a node that joins or leaves changes no score of others: only the subtrees
/// that it wins, or had won, move. The hash is a function of the bytes alone, the same in all processes and versions, as Swift's `Hasher` isn't.
///
/// Thaler, Ravishankar: "Using Name-Based Mappings to Increase Hit Rates" (1998); the weights: Schindelhauer, Schomaker: "Weighted Distributed
/// Hash Tables" (2005).
public enum RendezvousScore {
    /// Returns the score.
    ///
    /// - Parameters:
    ///   - node: The node's name.
    ///   - path: The path.
    ///   - weight: The node's weight, greater than zero.
    public static func score(of node: NodeName, for path: String, weight: Int) -> Double {
        // 53 bits, and a half more: neither 0, whose logarithm is infinite, nor 1, by whose logarithm nothing can be divided.
        let part = (Double(hash(node, path) >> 11) + 0.5) * 0x1p-53
        return Double(weight) / -naturalLogarithm(part)
    }

    /// Returns a hash of both names: FNV-1a over the bytes, and SplitMix64's finaliser, which spreads a change of the last bytes over all bits.
    ///
    /// - Parameters:
    ///   - node: The node's name.
    ///   - path: The path.
    public static func hash(_ node: NodeName, _ path: String) -> UInt64 {
        var word: UInt64 = 0xCBF2_9CE4_8422_2325
        func add(_ byte: UInt8) { word = (word ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        for byte in node.description.utf8 { add(byte) }
        // A byte that no name and no path has keeps the two apart.
        add(0xFF)
        for byte in path.utf8 { add(byte) }
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    /// Returns the natural logarithm of a number greater than zero, with an error below 1e-14 of it.
    ///
    /// The standard library has none, and that of a C library differs in its last bit from one system to the next: all nodes have to agree.
    static func naturalLogarithm(_ number: Double) -> Double {
        var exponent = Double(number.exponent)
        var significand = number.significand
        if significand > 1.414_213_562_373_095_1 {
            significand /= 2
            exponent += 1
        }
        // ln m = 2 artanh((m - 1) / (m + 1)), whose argument is at most 0.172.
        let argument = (significand - 1) / (significand + 1)
        let square = argument * argument
        var sum = 0.0
        for divisor in stride(from: 21, through: 1, by: -2) { sum = sum * square + 1 / Double(divisor) }
        return exponent * 0.693_147_180_559_945_3 + 2 * argument * sum
    }
}
