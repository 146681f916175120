/// The steps from one configuration to another.
///
/// A plan is made from two values and does nothing. Children are compared as a whole, so that a property that this code doesn't know counts
/// as a change that needs a restart.
public struct ConfigurationPlan: Hashable, Sendable {
    /// A difference between the configurations.
    public struct Change: Hashable, Sendable {
        /// The kinds of differences.
        public enum Kind: String, Sendable {
            case added, removed, changed
        }

        /// The ways in which a running daemon follows a difference.
        public enum Effect: String, Sendable {
            /// The child is started: it is new, or its supervisor hasn't started it before.
            case start
            /// The child is stopped and forgotten.
            case stop
            /// The child is restarted; one that an operator has stopped stays stopped, and takes the change with its next start.
            case restart
            /// Supervision takes the change over, and the child's process goes on.
            case takeOver
            /// The child isn't started, because its `autostart` is false.
            case none
            /// The running daemon can't follow: the next one begins with the change, and so does the one that takes its place in an upgrade.
            case nextDaemon
        }

        /// The path of the child; `/` for the file's own settings.
        public var path: String
        /// Whether the child was added, removed or changed.
        public var kind: Kind
        /// The keys that differ, as they are written in the file, with a period between a key and one inside it.
        public var keys: [String]
        /// What follows for a running daemon.
        public var effect: Effect
        /// The path of the child because of which this one is restarted if it runs, though its process could go on with what has changed.
        public var cause: String?

        /// Whether a process that has begun before the change can't go on with it.
        public var needsRestart: Bool { !ConfigurationPlan.takenOver.isSuperset(of: keys) }

        /// Whether a process that runs ends with the change, and another one begins.
        public var replacesProcess: Bool { effect == .restart || effect == .start && (needsRestart || cause != nil) }
    }

    /// The differences: supervisors before their children, and siblings in the order of the new configuration, with the removed ones last.
    public private(set) var changes: [Change] = []

    /// The paths of the supervisors whose children have another start order.
    public private(set) var reordered: [String] = []

    /// The number of children that stay as they are.
    public private(set) var unchanged = 0

    /// Whether the configurations are the same for a running daemon.
    public var isEmpty: Bool { changes.isEmpty && reordered.isEmpty }

    /// Makes the plan that leads from one configuration to another.
    public init(from former: DaemonConfiguration, to next: DaemonConfiguration) {
        compareSettings(former, next)
        compare(former.children, next.children, under: "")
    }

    /// The change of one child; nil when it stays as it is.
    public func change(at path: String) -> Change? { changes.first { $0.path == path } }
}

extension ConfigurationPlan {
    /// The keys of a child whose changes supervision takes over, without a restart of its process.
    fileprivate static let takenOver: Set = [
        "restart", "shutdown", "restart_limits", "autostart", "after", "requires", "supervision", "logging", "overlap",
        "worker.spares",
    ]

    /// Compares what the file says beside its children.
    private mutating func compareSettings(_ former: DaemonConfiguration, _ next: DaemonConfiguration) {
        let keys = Properties.differences(former, next).filter { $0 != "children" }
        let takenOver = keys.filter { $0 == "supervision" || $0 == "logging" }
        let others = keys.filter { !takenOver.contains($0) }
        if !takenOver.isEmpty { changes.append(Change(path: "/", kind: .changed, keys: takenOver, effect: .takeOver)) }
        if !others.isEmpty { changes.append(Change(path: "/", kind: .changed, keys: others, effect: .nextDaemon)) }
    }

    private mutating func compare(_ former: [ConfiguredChild], _ next: [ConfiguredChild], under parent: String) {
        let (former, next) = (former.withInstances, next.withInstances)
        let before = Dictionary(former.map { ($0.key, $0) }) { first, _ in first }
        let after = Set(next.map(\.key))
        let causes = restarts(before, next, under: parent)
        let starting = next.startedBySupervisor
        let beginning = starting.subtracting(former.startedBySupervisor)
        for child in next {
            let path = "\(parent)/\(child.key)"
            guard let known = before[child.key] else {
                add(child, at: path, isStarted: starting.contains(child.key))
                continue
            }
            compare(known, child, at: path, isBeginning: beginning.contains(child.key), cause: causes[child.key])
        }
        for child in former where !after.contains(child.key) {
            changes.append(Change(path: "\(parent)/\(child.key)", kind: .removed, keys: [], effect: .stop))
        }
        let formerOrder = SiblingDependencies(of: former).startOrder.filter(after.contains)
        let order = SiblingDependencies(of: next).startOrder.filter { before[$0] != nil }
        if formerOrder != order { reordered.append(parent.isEmpty ? "/" : parent) }
    }

    /// A child and, below it, its own children, of which each is added too.
    private mutating func add(_ child: ConfiguredChild, at path: String, isStarted: Bool) {
        changes.append(Change(path: path, kind: .added, keys: [], effect: isStarted ? .start : .none))
        guard case .group(let group) = child.content else { return }
        let children = group.children.withInstances
        let starting = children.startedBySupervisor
        for child in children { add(child, at: "\(path)/\(child.key)", isStarted: isStarted && starting.contains(child.key)) }
    }

    /// - Parameters:
    ///   - isBeginning: Whether the child's supervisor starts it from now on.
    ///   - cause: The path of a child that this one requires, and that is restarted.
    private mutating func compare(
        _ former: ConfiguredChild,
        _ next: ConfiguredChild,
        at path: String,
        isBeginning: Bool,
        cause: String?
    ) {
        let keys = Self.keys(former, next)
        var change = Change(path: path, kind: .changed, keys: keys, effect: .takeOver)
        if isBeginning {
            change.effect = .start
        } else if change.needsRestart || cause != nil {
            change.effect = .restart
        }
        if !change.needsRestart { change.cause = cause }
        if keys.isEmpty, change.effect == .takeOver { unchanged += 1 } else { changes.append(change) }
        if case .group(let former) = former.content, case .group(let next) = next.content {
            compare(former.children, next.children, under: path)
        }
    }

    /// Returns the keys in which a child differs, without those of its own children, and without `receives`: what it gets is the root's.
    private static func keys(_ former: ConfiguredChild, _ next: ConfiguredChild) -> [String] {
        Properties.differences(former, next).flatMap { key -> [String] in
            if key == "receives" { return [] }
            guard key == "content" else { return [key] }
            switch (former.content, next.content) {
            case (.worker(let former), .worker(let next)): return Properties.differences(former, next).map { "worker.\($0)" }
            case (.program(let former), .program(let next)): return Properties.differences(former, next).map { "program.\($0)" }
            case (.group(let former), .group(let next)): return former.supervision == next.supervision ? [] : ["supervision"]
            case (.worker, _), (.program, _), (.group, _): return [former.content.name, next.content.name]
            }
        }
    }

    /// Returns the children that are restarted because one that they require is, with its path.
    private func restarts(_ before: [String: ConfiguredChild], _ next: [ConfiguredChild], under parent: String) -> [String: String] {
        let dependencies = SiblingDependencies(of: next)
        if dependencies.isEmpty { return [:] }
        var causes: [String: String] = [:]
        for child in next {
            guard let known = before[child.key], !Self.takenOver.isSuperset(of: Self.keys(known, child)) else { continue }
            for key in dependencies.requiring(child.key) where before[key] != nil { causes[key] = "\(parent)/\(child.key)" }
        }
        return causes
    }
}

extension ConfiguredChild.Content {
    /// The key under which the file has the content.
    var name: String {
        switch self {
        case .worker: "worker"
        case .program: "program"
        case .group: "children"
        }
    }
}

/// The stored properties of a value, by the names of the file's keys.
enum Properties {
    /// Returns the keys of the properties in which two values of one type differ, in the order of their declaration.
    static func differences<Value: Hashable>(_ former: Value, _ next: Value) -> [String] {
        if former == next { return [] }
        return zip(Mirror(reflecting: former).children, Mirror(reflecting: next).children).compactMap { former, next in
            // A property without a value isn't hashable on either side.
            (former.value as? AnyHashable) == (next.value as? AnyHashable) ? nil : key(former.label ?? "")
        }
    }

    /// Returns the key of a property, such as `restart_limits` for `restartLimits`.
    private static func key(_ name: String) -> String {
        var key = ""
        for character in name {
            if character.isUppercase { key += "_" }
            key += character.lowercased()
        }
        return key
    }
}
