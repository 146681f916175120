/// A state from which events lead to other states.
protocol Explorable {
    associatedtype Move
    associatedtype Key: Hashable

    /// The events that can happen now.
    var moves: [Move] { get }
    /// The key that distinguishes this state from others.
    var key: Key { get }

    /// Lets an event happen.
    mutating func make(_ move: Move) throws(WorkerViolation)
}

/// The outcome of an exploration.
package struct ExplorationOutcome {
    /// The invariant that was broken; `nil` when none was.
    package let violation: WorkerViolation?
    /// The events that lead to the violation.
    package let path: [String]
    /// The number of different states that were seen.
    package let states: Int
    /// The number of events that were tried.
    package let events: Int
}

/// Looks at all states that are this many events away at most, those that are fewer away first.
func explore<Root: Explorable>(_ root: Root, events: Int, progress: (_ depth: Int, _ states: Int) -> Void) -> ExplorationOutcome {
    var links: [(parent: Int, move: Root.Move?)] = [(-1, nil)]
    var seen: Set<Root.Key> = [root.key]
    var count = 0
    var layer = [(root, 0)]
    func path(_ link: Int) -> [String] {
        var moves: [String] = []
        var link = link
        while link > 0 {
            if let move = links[link].move { moves.append(WorkerViolation.plain("\(move)")) }
            link = links[link].parent
        }
        return moves.reversed()
    }
    for depth in 1...events {
        var next: [(Root, Int)] = []
        for (state, link) in layer {
            for move in state.moves {
                var after = state
                count += 1
                do throws(WorkerViolation) {
                    try after.make(move)
                } catch {
                    links.append((link, move))
                    return ExplorationOutcome(violation: error, path: path(links.count - 1), states: seen.count, events: count)
                }
                guard seen.insert(after.key).inserted, depth < events else { continue }
                links.append((link, move))
                next.append((after, links.count - 1))
            }
        }
        layer = next
        progress(depth, seen.count)
    }
    return ExplorationOutcome(violation: nil, path: [], states: seen.count, events: count)
}
