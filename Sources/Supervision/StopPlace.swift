/// The place of a child in the partial order in which a supervisor that ends stops its children.
package enum StopPlace: Sendable, Hashable {
    /// The child is one of the chain: it's stopped when all others of the chain that were started after it have ended, and all that are
    /// outside of the chain.
    case chained
    /// The child is outside of the chain: it's stopped at once, unless siblings that are outside too have to end before it; those that are
    /// named here, if they are outside, have to wait for it, and if they don't live, those that they name.
    case outside(before: [String])

    /// The place of a child that waits for no sibling outside of the chain, and isn't waited for there.
    package static let unordered = StopPlace.outside(before: [])
}
