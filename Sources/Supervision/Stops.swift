/// The stops of a supervisor's end that are still to come, in their partial order.
///
/// The order of two children holds also when a third one, which stands between them, doesn't live any more.
struct Stops: Sendable {
    /// The children of the chain, whose turns come when nothing outside of it lives.
    var chain = Turns([])
    /// The living children outside of the chain.
    private(set) var outside: Set<String> = []
    /// The number of living siblings for which a child outside of the chain has to wait, if it has to.
    private var awaited: [String: Int] = [:]
    /// The children that wait for a sibling, by the sibling.
    private var waiting: [String: [String]] = [:]

    /// - Parameters:
    ///   - children: The children in reverse start order.
    ///   - isChain: Whether all of them are a chain, whatever their own places.
    init(_ children: [Child] = [], isChain: Bool = false) {
        var edges: [(String, [String])] = []
        // The edges of children that don't live, through which those that do are in order all the same.
        var passages: [String: [String]] = [:]
        chain = Turns(
            children.compactMap { child in
                guard !isChain, case .outside(let others) = child.specification.stopPlace else { return child.id }
                guard child.state.incarnation != nil else {
                    // A temporary child that doesn't live is about to be forgotten.
                    if !others.isEmpty, child.specification.restart != .temporary { passages[child.id] = others }
                    return nil
                }
                outside.insert(child.id)
                if !others.isEmpty { edges.append((child.id, others)) }
                return nil
            }
        )
        for (id, others) in edges {
            for other in Self.living(others, passages) where other != id && outside.contains(other) {
                awaited[other, default: 0] += 1
                waiting[id, default: []].append(other)
            }
        }
    }

    /// Returns these children and those to which edges of children that don't live lead from them.
    private static func living(_ others: [String], _ passages: [String: [String]]) -> Set<String> {
        var found = Set(others)
        if passages.isEmpty { return found }
        var open = others
        while let id = open.popLast() {
            for other in passages[id] ?? [] where found.insert(other).inserted { open.append(other) }
        }
        return found
    }

    /// Whether a child outside of the chain waits for no sibling.
    func mayStop(_ id: String) -> Bool { outside.contains(id) && awaited[id] == nil }

    /// Takes note of a child's end.
    ///
    /// - Parameter isForgotten: Whether nothing is known of the child any more, not even its order.
    /// - Returns: The children whose turn has come by it.
    mutating func noteEnd(of id: String, isForgotten: Bool) -> [String] {
        guard outside.remove(id) != nil else { return [] }
        let followers = waiting.removeValue(forKey: id) ?? []
        if awaited.removeValue(forKey: id) != nil {
            // It has ended before its turn: those that it has waited for hold back what has waited for it.
            for holder in waiting.keys.sorted() where waiting[holder]?.contains(id) == true {
                waiting[holder]?.removeAll { $0 == id }
                for other in followers where !isForgotten && other != holder && waiting[holder]?.contains(other) == false {
                    waiting[holder]?.append(other)
                    awaited[other, default: 0] += 1
                }
            }
        }
        return followers.sorted().filter { other in
            guard let count = awaited[other] else { return false }
            awaited[other] = count > 1 ? count - 1 : nil
            return count == 1
        }
    }

    /// Forgets the edges, which form a circle if no child's stop is under way: nothing would end by them.
    ///
    /// - Returns: The children that have waited.
    mutating func takeWaiting() -> [String] {
        defer { (awaited, waiting) = ([:], [:]) }
        return awaited.keys.sorted()
    }
}

/// Children whose turns come one after the other.
struct Turns: Sendable {
    private let ids: [String]
    private var position = 0

    init(_ ids: [String]) {
        self.ids = ids
    }

    var current: String? { position < ids.count ? ids[position] : nil }
    var remaining: ArraySlice<String> { ids[position...] }

    mutating func advance() {
        position += 1
    }
}

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
