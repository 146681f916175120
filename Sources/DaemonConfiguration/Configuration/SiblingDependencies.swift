/// The order that `after` and `requires` demand of siblings.
///
/// A path that they name is part of it as far as siblings are concerned: the group in which one of the two is comes before the other.
public struct SiblingDependencies: Hashable, Sendable {
    private let keys: [String]
    private let positions: [String: Int]
    /// The children without which each child doesn't start.
    private let requirements: [Set<Int>]
    /// Those of them with which each child is stopped: not those that have completed.
    private let bonds: [Set<Int>]
    /// The children before each child, by position; a name that no sibling has is left out.
    private let before: [[Int]]
    /// The further children that are stopped after each child, because of paths that are named in it, or below it.
    private let distant: [[Int]]

    /// Creates the order of siblings, whose keys differ.
    ///
    /// - Parameter parent: The path of their supervisor; empty for the root.
    public init(of children: [ConfiguredChild], under parent: String = "") {
        keys = children.map(\.key)
        let positions = Dictionary(children.enumerated().map { ($1.key, $0) }) { first, _ in first }
        self.positions = positions
        func isCompleted(_ name: String, of child: ConfiguredChild) -> Bool {
            child.conditions[name] ?? positions[name].map { children[$0].possibleConditions[0] } == .completed
        }
        requirements = children.map { child in
            Set((child.requires + child.after.filter { isCompleted($0, of: child) }).compactMap { positions[$0] })
        }
        bonds = children.map { child in Set(child.requires.filter { !isCompleted($0, of: child) }.compactMap { positions[$0] }) }
        before = children.map { child in
            var seen: Set<Int> = []
            return (child.requires + child.after).compactMap { positions[$0] }.filter { seen.insert($0).inserted }
        }
        distant = children.enumerated().map { position, child in
            let firsts = Set(child.pathsNamed.compactMap { $0.firstComponent(below: parent) })
            if firsts.isEmpty { return [] }
            return children.indices.filter { other in
                let key = children[other].key
                if other == position { return false }
                // A key that no sibling has is that of a child with instances, whose own keys end in their numbers.
                return firsts.contains { first in
                    first == key || positions[first] == nil && key.isInstance(of: first) && !child.key.isInstance(of: first)
                }
            }
        }
    }

    /// Whether any child is started after another.
    public var isEmpty: Bool { before.allSatisfy(\.isEmpty) && distant.allSatisfy(\.isEmpty) }

    /// The siblings that are stopped after each child that has such, by its key.
    public var stoppedAfter: [String: [String]] {
        var stops: [String: [String]] = [:]
        for position in keys.indices where !before[position].isEmpty || !distant[position].isEmpty {
            stops[keys[position]] = Set(before[position] + distant[position]).sorted().map { keys[$0] }
        }
        return stops
    }

    /// Returns the largest sum of times along the children that are stopped one after the other.
    public func longest(_ time: (_ key: String) -> Duration) -> Duration {
        var ends: [Int: Duration] = [:]
        // Each comes after those that it is started after, and so is stopped before them.
        for position in walk().order {
            ends[position] = time(keys[position]) + ((before[position] + distant[position]).compactMap { ends[$0] }.max() ?? .zero)
        }
        return ends.values.max() ?? .zero
    }

    /// The keys in an order in which each child comes after those that it is started after; otherwise it is the file's.
    ///
    /// The children of a cycle, which the reader refuses, come in some order.
    public var startOrder: [String] { isEmpty ? keys : walk().order.map { keys[$0] } }

    /// The keys of children that are started after one another in a circle, of which the last is the first again; nil when there is none.
    public var cycle: [String]? { walk().cycle.map { $0.map { keys[$0] } } }

    /// Returns the keys of the siblings after which a child is started directly.
    public func before(_ key: String) -> [String] {
        positions[key].map { before[$0].map { keys[$0] } } ?? []
    }

    /// Returns the keys of the siblings with which a child is stopped, also by way of others, in start order.
    public func bound(to key: String) -> [String] {
        guard let position = positions[key], !bonds[position].isEmpty else { return [] }
        let found = keys(closure(from: [position]) { bonds[$0] })
        return startOrder.filter { found.contains($0) }
    }

    /// Returns the keys of the siblings that are stopped with a child, also by way of others, in start order.
    public func requiring(_ key: String) -> [String] {
        guard let position = positions[key], bonds.contains(where: { $0.contains(position) }) else { return [] }
        let found = keys(closure(from: [position]) { required in bonds.indices.filter { bonds[$0].contains(required) } })
        return startOrder.filter { found.contains($0) }
    }

    /// Returns these keys and those of the siblings that they require, also by way of others.
    func withRequired(_ keys: [String]) -> Set<String> {
        Set(keys).union(self.keys(closure(from: keys.compactMap { positions[$0] }) { requirements[$0] }))
    }

    private func keys(_ positions: Set<Int>) -> Set<String> { Set(positions.map { keys[$0] }) }

    private func closure(from starts: [Int], _ next: (Int) -> some Sequence<Int>) -> Set<Int> {
        var found: Set<Int> = []
        var open = starts
        while let position = open.popLast() {
            for other in next(position) where found.insert(other).inserted { open.append(other) }
        }
        return found
    }

    private enum Mark {
        case new, open, done
    }

    /// Visits the children in depth, without recursion: a chain can be as long as the file.
    private func walk() -> (order: [Int], cycle: [Int]?) {
        var marks = [Mark](repeating: .new, count: keys.count)
        var order: [Int] = []
        var cycle: [Int]?
        for root in keys.indices where marks[root] == .new {
            marks[root] = .open
            var way: [(position: Int, next: Int)] = [(root, 0)]
            while let (position, next) = way.last {
                guard next < before[position].count + distant[position].count else {
                    marks[position] = .done
                    order.append(position)
                    way.removeLast()
                    continue
                }
                way[way.count - 1].next += 1
                let count = before[position].count
                let other = next < count ? before[position][next] : distant[position][next - count]
                switch marks[other] {
                case .new:
                    marks[other] = .open
                    way.append((other, 0))
                case .open:
                    let positions = way.map(\.position)
                    if cycle == nil, let start = positions.firstIndex(of: other) { cycle = Array(positions[start...]) + [other] }
                case .done: break
                }
            }
        }
        return (order, cycle)
    }
}

extension [ConfiguredChild] {
    /// The keys of the siblings that their supervisor starts: those with `autostart` that aren't placed by the cluster and have no times of
    /// their own, and those that these require.
    public var startedBySupervisor: Set<String> {
        SiblingDependencies(of: self).withRequired(filter { $0.autostart && $0.placement == nil && !$0.runsAtTimesAlone }.map(\.key))
    }
}

extension ConfiguredChild {
    /// The paths that the child names, or one below it.
    fileprivate var pathsNamed: [String] {
        let own = (requires + after).filter { $0.hasPrefix("/") }
        guard case .group(let group) = content else { return own }
        return group.children.reduce(into: own) { $0 += $1.pathsNamed }
    }
}

extension String {
    /// Returns the component of a path that follows another path; nil when it isn't below that.
    fileprivate func firstComponent(below parent: String) -> String? {
        guard hasPrefix(parent + "/") else { return nil }
        return String(dropFirst(parent.count + 1).prefix { $0 != "/" })
    }

    /// Whether a key is that of an instance of a child.
    fileprivate func isInstance(of key: String) -> Bool {
        guard hasPrefix(key + "-") else { return false }
        return Int(dropFirst(key.count + 1)) ?? 0 > 0
    }
}
