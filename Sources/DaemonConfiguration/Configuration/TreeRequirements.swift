/// What the children of a whole file require of one another, siblings and those in other groups.
///
/// It's what `requires` binds: a child is stopped and restarted with the children that it requires, unless those are to have completed.
struct TreeRequirements {
    /// One level of the file, with a child for each instance.
    private final class Level {
        let children: [ConfiguredChild]
        let byKey: [String: ConfiguredChild]
        /// The keys of the instances of each child that has instances.
        let instances: [String: [String]]
        let groups: [String: Level]

        init(_ children: [ConfiguredChild]) {
            instances = Dictionary(children.filter { $0.instances != nil }.map { ($0.key, $0.instanceKeys) }) { first, _ in first }
            self.children = children.withInstances
            byKey = Dictionary(self.children.map { ($0.key, $0) }) { first, _ in first }
            groups = Dictionary(
                self.children.compactMap { child in
                    if case .group(let group) = child.content { (child.key, Level(group.children)) } else { nil }
                }
            ) { first, _ in first }
        }
    }

    private let root: Level
    /// The paths of the children that require something at a path, or below it; a child is before those that come later in the file.
    private var requiring: [String: [String]] = [:]

    init(of children: [ConfiguredChild]) {
        root = Level(children.haveRequirements ? children : [])
        add(root, under: "")
    }

    /// The paths that children require, and those of the groups around them.
    var required: Dictionary<String, [String]>.Keys { requiring.keys }

    /// Returns the paths of the children that are stopped with one, also by way of others.
    func requiring(_ path: String) -> [String] {
        var (found, open): ([String], [String]) = ([], [path])
        var seen: Set<String> = [path]
        while let next = open.popLast() {
            for other in requiring[next] ?? [] where !Self.isWithin(other, next) && seen.insert(other).inserted {
                found.append(other)
                open.append(other)
            }
        }
        return found
    }

    private mutating func add(_ level: Level, under parent: String) {
        for child in level.children {
            let path = "\(parent)/\(child.key)"
            for name in child.requires {
                for (place, other) in places(named: name, from: level, parent) {
                    guard (child.conditions[name] ?? other.possibleConditions[0]) != .completed else { continue }
                    // Who stops a group stops what is in it.
                    var above = place[...]
                    while !above.isEmpty {
                        requiring[String(above), default: []].append(path)
                        above = above[..<(above.lastIndex(of: "/") ?? above.startIndex)]
                    }
                }
            }
            if let group = level.groups[child.key] { add(group, under: path) }
        }
    }

    /// Returns the children that a name means: that of a sibling, or a path; one of a child with instances means all of them.
    private func places(named name: String, from level: Level, _ parent: String) -> [(path: String, child: ConfiguredChild)] {
        var found = name.hasPrefix("/") ? [("", root)] : [(parent, level)]
        let keys = name.hasPrefix("/") ? name.split(separator: "/").map(String.init) : [name]
        for (index, key) in keys.enumerated() {
            let next = found.flatMap { path, level in
                (level.byKey[key] == nil ? level.instances[key] ?? [] : [key]).map { (path: "\(path)/\($0)", key: $0, level: level) }
            }
            if index == keys.count - 1 {
                return next.compactMap { place in place.level.byKey[place.key].map { (place.path, $0) } }
            }
            found = next.compactMap { place in place.level.groups[place.key].map { (place.path, $0) } }
        }
        return []
    }

    private static func isWithin(_ path: String, _ other: String) -> Bool { path == other || path.hasPrefix("\(other)/") }
}

extension [ConfiguredChild] {
    /// Whether any of the children, or of those below them, requires another one.
    fileprivate var haveRequirements: Bool {
        contains { child in
            if case .group(let group) = child.content, group.children.haveRequirements { return true }
            return !child.requires.isEmpty
        }
    }
}
