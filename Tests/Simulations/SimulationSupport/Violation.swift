/// The invariants of a world, by name.
package protocol WorldInvariant: Sendable, Hashable {
    /// The names of modules and types that descriptions are told without.
    static var noise: [String] { get }
}

/// An invariant that was broken.
package struct BrokenInvariant<Invariant: WorldInvariant>: Error, Sendable, Hashable, CustomStringConvertible {
    /// The invariant.
    package let invariant: Invariant
    /// A description of the violation.
    package let text: String

    /// The invariant and the text.
    package var description: String { "\(invariant): \(text)" }

    package init(_ invariant: Invariant, _ text: String) {
        self.invariant = invariant
        self.text = Self.plain(text)
    }

    /// Leaves the names of modules and types out of descriptions, which tell the same without them.
    package static func plain(_ text: String) -> String {
        var text = text
        for word in Invariant.noise { text.replace(word, with: "") }
        return text
    }
}
