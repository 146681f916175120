/// A state from which events lead to other states.
package protocol Explorable<Invariant> {
    associatedtype Move
    associatedtype Key: Hashable
    associatedtype Invariant: WorldInvariant

    /// The events that can happen now.
    var moves: [Move] { get }
    /// The key that distinguishes this state from others.
    var key: Key { get }

    /// Lets an event happen.
    mutating func make(_ move: Move) throws(BrokenInvariant<Invariant>)
}

/// All that can happen from a state on in a few events, in every order.
///
/// An exploration draws no random numbers. After every event it tries each one that is possible. States that were seen already are not
/// explored again.
package struct Exploration<Root: Explorable>: CustomStringConvertible {
    /// The outcome of an exploration.
    package struct Outcome {
        /// The invariant that was broken; `nil` when none was.
        package let violation: BrokenInvariant<Root.Invariant>?
        /// The events that lead to the violation.
        package let path: [String]
        /// The number of different states that were seen.
        package let states: Int
        /// The number of events that were tried.
        package let events: Int
    }

    /// The state from which it begins, in words.
    package let description: String
    private let root: Root
    private let prelude: [Root.Move]

    /// Creates an exploration of what follows after these events, which don't count.
    package init(_ description: String, from root: Root, after prelude: [Root.Move]) {
        (self.description, self.root, self.prelude) = (description, root, prelude)
    }

    /// Looks at all states that are this many events away at most, those that are fewer away first.
    package func run(events: Int, progress: (_ depth: Int, _ states: Int) -> Void = { _, _ in }) -> Outcome {
        var links: [(parent: Int, move: Root.Move)] = []
        var count = 0
        func outcome(_ violation: BrokenInvariant<Root.Invariant>?, _ moves: [Root.Move], _ states: Int) -> Outcome {
            Outcome(violation: violation, path: moves.map { BrokenInvariant<Root.Invariant>.plain("\($0)") }, states: states, events: count)
        }
        func path(_ link: Int) -> [Root.Move] {
            link < 0 ? [] : path(links[link].parent) + [links[link].move]
        }
        var start = root
        for (place, move) in prelude.enumerated() {
            do throws(BrokenInvariant<Root.Invariant>) { try start.make(move) } catch { return outcome(error, Array(prelude[...place]), 0) }
        }
        var seen: Set<Root.Key> = [start.key]
        var layer = [(start, -1)]
        for depth in 1...events {
            var next: [(Root, Int)] = []
            for (state, link) in layer {
                for move in state.moves {
                    var after = state
                    count += 1
                    do throws(BrokenInvariant<Root.Invariant>) { try after.make(move) } catch {
                        return outcome(error, prelude + path(link) + [move], seen.count)
                    }
                    guard seen.insert(after.key).inserted, depth < events else { continue }
                    links.append((link, move))
                    next.append((after, links.count - 1))
                }
            }
            layer = next
            progress(depth, seen.count)
        }
        return outcome(nil, [], seen.count)
    }
}
