/// The order that `after` and `requires` demand of siblings.
public struct SiblingDependencies: Hashable, Sendable {
    private let keys: [String]
    private let positions: [String: Int]
    private let requirements: [Set<Int>]
    /// The children before each child, by position; a name that no sibling has is left out.
    private let before: [[Int]]

    /// Creates the order of siblings, whose keys differ.
    public init(of children: [ConfiguredChild]) {
        keys = children.map(\.key)
        let positions = Dictionary(children.enumerated().map { ($1.key, $0) }) { first, _ in first }
        self.positions = positions
        requirements = children.map { Set($0.requires.compactMap { positions[$0] }) }
        before = children.map { child in
            var seen: Set<Int> = []
            return (child.requires + child.after).compactMap { positions[$0] }.filter { seen.insert($0).inserted }
        }
    }

    /// Whether any child is started after another.
    public var isEmpty: Bool { before.allSatisfy(\.isEmpty) }

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

    /// Returns the keys of the siblings that a child requires, also by way of others, in start order.
    public func required(by key: String) -> [String] {
        guard let position = positions[key], !requirements[position].isEmpty else { return [] }
        let found = keys(closure(from: [position]) { requirements[$0] })
        return startOrder.filter { found.contains($0) }
    }

    /// Returns the keys of the siblings that require a child, also by way of others, in start order.
    public func requiring(_ key: String) -> [String] {
        guard let position = positions[key], requirements.contains(where: { $0.contains(position) }) else { return [] }
        let found = keys(closure(from: [position]) { required in requirements.indices.filter { requirements[$0].contains(required) } })
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
                guard next < before[position].count else {
                    marks[position] = .done
                    order.append(position)
                    way.removeLast()
                    continue
                }
                way[way.count - 1].next += 1
                let other = before[position][next]
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
    /// The keys of the siblings that their supervisor starts: those with `autostart` that aren't placed by the cluster, and those that these
    /// require.
    public var startedBySupervisor: Set<String> {
        SiblingDependencies(of: self).withRequired(filter { $0.autostart && $0.placement == nil }.map(\.key))
    }
}
