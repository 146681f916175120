import TestSupport

/// A configuration of cheap programs that is edited at random, and a model of what runs.
struct RandomConfiguration {
    struct Child {
        var variant = 0
        var environment = 0
        var restart = "always"
        var autostart = true
        var after: [Int] = []
        var requires: [Int] = []
        var instances: Int?
        /// The children of a group.
        var group: Level?

        /// What a process can't change while it runs.
        var process: String { group == nil ? "\(variant) \(environment)" : "group" }
    }

    struct Level {
        /// The children's numbers in the file's order; a child is started only after ones with smaller numbers.
        var order: [Int] = []
        var children: [Int: Child] = [:]
        var intensity = 5
    }

    /// What is known of a process that runs.
    struct Expectation: Equatable {
        var process: String
        /// The number of the last edit that has started it.
        var startedAt: Int
    }

    private(set) var root = Level()
    /// All that runs, programs and groups, by path.
    private(set) var running: [String: Expectation] = [:]
    private var edits = 0
    private var dice: SeededGenerator

    init(seed: UInt64) {
        dice = SeededGenerator(seed: seed, "configuration edits")
        for _ in 0..<6 { Self.add(to: &root, isNested: false, &dice) }
        follow(Level())
    }

    /// Makes one to three changes.
    mutating func edit() {
        edits += 1
        let former = root
        for _ in 0..<Int.random(in: 1...3, using: &dice) {
            if let number = root.order.filter({ root.children[$0]?.group != nil }).randomElement(using: &dice), Bool.random(using: &dice),
                var level = root.children[number]?.group
            {
                Self.change(&level, isNested: true, &dice)
                root.children[number]?.group = level
            } else {
                Self.change(&root, isNested: false, &dice)
            }
        }
        follow(former)
    }
}

// MARK: - Edits

extension RandomConfiguration {
    private static func add(to level: inout Level, isNested: Bool, _ dice: inout SeededGenerator) {
        guard let number = (0..<10).filter({ level.children[$0] == nil }).randomElement(using: &dice) else { return }
        var child = Child(variant: Int.random(in: 0..<3, using: &dice))
        if !isNested, Int.random(in: 0..<4, using: &dice) == 0 {
            var group = Level()
            for _ in 0..<3 { add(to: &group, isNested: true, &dice) }
            child.group = group
        }
        depend(&child, number, level, &dice)
        level.children[number] = child
        level.order.insert(number, at: Int.random(in: 0...level.order.count, using: &dice))
    }

    private static func depend(_ child: inout Child, _ number: Int, _ level: Level, _ dice: inout SeededGenerator) {
        let others = level.order.filter { $0 < number }
        child.after = others.filter { _ in Int.random(in: 0..<5, using: &dice) == 0 }
        child.requires = others.filter { _ in Int.random(in: 0..<6, using: &dice) == 0 }
    }

    private static func change(_ level: inout Level, isNested: Bool, _ dice: inout SeededGenerator) {
        guard let number = level.order.randomElement(using: &dice), var child = level.children[number] else {
            return add(to: &level, isNested: isNested, &dice)
        }
        switch Int.random(in: 0..<11, using: &dice) {
        case 0, 1: return add(to: &level, isNested: isNested, &dice)
        case 2:
            level.order.removeAll { $0 == number }
            level.children[number] = nil
            for other in level.order {
                level.children[other]?.after.removeAll { $0 == number }
                level.children[other]?.requires.removeAll { $0 == number }
            }
            return
        case 3: child.variant = Int.random(in: 0..<3, using: &dice)
        case 4: child.environment = Int.random(in: 0..<3, using: &dice)
        case 5: child.restart = ["always", "on_failure"].randomElement(using: &dice)!
        case 6: child.autostart.toggle()
        case 7: child.instances = [nil, 1, 2, 3].randomElement(using: &dice)!
        case 8: depend(&child, number, level, &dice)
        case 9: return level.order.shuffle(using: &dice)
        default:
            if isNested {
                level.intensity = Int.random(in: 1..<9, using: &dice)
                return
            }
            // A program becomes a group, or the reverse.
            if child.group == nil {
                var group = Level()
                add(to: &group, isNested: true, &dice)
                child.group = group
            } else {
                child.group = nil
            }
        }
        level.children[number] = child
    }
}

// MARK: - The model of what runs

extension RandomConfiguration {
    /// A child with its instance's key.
    private struct Instance {
        let key: String
        let child: Child
        let requires: [String]
    }

    private static func instances(_ level: Level) -> [Instance] {
        func keys(_ number: Int) -> [String] {
            guard let instances = level.children[number]?.instances else { return ["k\(number)"] }
            return (1...instances).map { "k\(number)-\($0)" }
        }
        return level.order.flatMap { number -> [Instance] in
            guard let child = level.children[number] else { return [] }
            return keys(number).map { Instance(key: $0, child: child, requires: child.requires.flatMap(keys)) }
        }
    }

    /// Returns the keys that the supervisor starts by itself.
    private static func starting(_ instances: [Instance]) -> Set<String> {
        let byKey = Dictionary(uniqueKeysWithValues: instances.map { ($0.key, $0) })
        var found: Set<String> = []
        func visit(_ key: String) {
            guard found.insert(key).inserted else { return }
            for other in byKey[key]?.requires ?? [] { visit(other) }
        }
        for instance in instances where instance.child.autostart { visit(instance.key) }
        return found
    }

    private mutating func follow(_ former: Level) {
        var next: [String: Expectation] = [:]
        follow(former, root, under: "", isNew: false, &next)
        running = next
    }

    private func follow(_ former: Level, _ level: Level, under parent: String, isNew: Bool, _ next: inout [String: Expectation]) {
        let instances = Self.instances(level)
        let formerInstances = Dictionary(uniqueKeysWithValues: Self.instances(former).map { ($0.key, $0) })
        let starting = Self.starting(instances)
        let formerStarting = Self.starting(Array(formerInstances.values))
        // What is restarted, and what requires it; in the order of numbers, in which each comes after what it requires.
        var replaced: Set<String> = []
        func isReplaced(_ instance: Instance) -> Bool {
            guard let former = formerInstances[instance.key] else { return false }
            if former.child.process != instance.child.process { return true }
            return instance.requires.contains(where: replaced.contains)
        }
        for instance in instances.sorted(by: { $0.key < $1.key }) where isReplaced(instance) { replaced.insert(instance.key) }
        for instance in instances {
            let path = "\(parent)/\(instance.key)"
            let wasRunning = !isNew && formerInstances[instance.key] != nil ? running[path] : nil
            let begins = isNew || formerInstances[instance.key] == nil || !formerStarting.contains(instance.key)
            guard wasRunning != nil || begins && starting.contains(instance.key) else { continue }
            let goesOn = !isNew && !replaced.contains(instance.key) && wasRunning != nil
            next[path] = Expectation(process: instance.child.process, startedAt: goesOn ? wasRunning!.startedAt : edits)
            guard let group = instance.child.group else { continue }
            let formerGroup = formerInstances[instance.key]?.child.group
            follow(goesOn ? formerGroup ?? Level() : Level(), group, under: path, isNew: !goesOn, &next)
        }
    }
}

// MARK: - The file

extension RandomConfiguration {
    /// The configuration as a file.
    var text: String { "children:\(Self.text(root, indentation: 1))\n" }

    private static func text(_ level: Level, indentation: Int) -> String {
        if level.order.isEmpty { return " []" }
        let space = String(repeating: "    ", count: indentation)
        return level.order.compactMap { number -> String? in
            guard let child = level.children[number] else { return nil }
            var lines = ["- name: k\(number)", "  restart: \(child.restart)"]
            if let instances = child.instances { lines.append("  instances: \(instances)") }
            if !child.autostart { lines.append("  autostart: false") }
            if !child.after.isEmpty { lines.append("  after: [\(child.after.map { "k\($0)" }.joined(separator: ", "))]") }
            if !child.requires.isEmpty { lines.append("  requires: [\(child.requires.map { "k\($0)" }.joined(separator: ", "))]") }
            if let group = child.group {
                lines.append("  supervision: { max_restarts: \(group.intensity) }")
                lines.append("  children:\(text(group, indentation: indentation + 1))")
            } else {
                lines.append(
                    "  program: { command: [sleep, \"\(100_000 + child.variant)\"], environment: { EDIT: \"\(child.environment)\" } }"
                )
            }
            return "\n" + lines.map { space + $0 }.joined(separator: "\n")
        }.joined()
    }
}
