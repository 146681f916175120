/// The steps from one configuration to another.
///
/// A plan is made from two values and does nothing. Children are compared key by key, and the declaration of a key says what its change does.
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
            case takeOver = "take_over"
            /// The child isn't started, because its `autostart` is false.
            case none
            /// The child is started on the node that the cluster chooses for it.
            case placed
            /// The child is started at its times.
            case scheduled
            /// The running daemon can't follow: the next one begins with the change, and so does the one that takes its place in an upgrade.
            case nextDaemon = "next_daemon"
        }

        /// The path of the child; `/` for the file's own settings.
        public var path: String
        /// Whether the child was added, removed or changed.
        public var kind: Kind
        /// The keys that differ, with their values; of a child those of its own children are theirs.
        public var differences: [KeyDifference]
        /// What follows for a running daemon.
        public var effect: Effect
        /// The path of the child because of which this one is restarted if it runs, though its process could go on with what has changed.
        public var cause: String?

        /// The keys that differ: the outermost ones, and those of `worker`, `program` and `oneshot` with these before them.
        public var keys: [String] {
            differences.reduce(into: []) { keys, difference in
                let names = difference.key.split(separator: ".")
                let key = names.prefix(["worker", "program", "oneshot"].contains(names[0]) ? 2 : 1).joined(separator: ".")
                if !keys.contains(key) { keys.append(key) }
            }
        }

        /// Whether a process that has begun before the change can't go on with it.
        public var needsRestart: Bool { differences.contains { $0.effect == .restart } }

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

    /// The children that are restarted because one that they require is, with its path.
    private var causes: [String: String] = [:]

    /// Makes the plan that leads from one configuration to another.
    public init(from former: DaemonConfiguration, to next: DaemonConfiguration) {
        compareSettings(former, next)
        let requirements = TreeRequirements(of: next.children)
        if !requirements.required.isEmpty { findRestarts(former.children, next.children, requirements, under: "") }
        compare(former.children, next.children, under: "")
    }

    /// The change of one child; nil when it stays as it is.
    public func change(at path: String) -> Change? { changes.first { $0.path == path } }
}

extension ConfigurationPlan {
    /// Compares what the file says beside its children, and which messages the root hands on to them.
    private mutating func compareSettings(_ former: DaemonConfiguration, _ next: DaemonConfiguration) {
        var settings = next
        settings.receives = former.receives
        var differences = Keys.file.differences(former, settings, Keys.ofFile)
        if former.receives != next.receives {
            let (former, next) = (former.receives.map(\.description), next.receives.map(\.description))
            let show = Value<String>.text("").list("", expected: "").show
            differences += Keys.ofFile.inside("receives").difference(show(former), show(next))
        }
        for (keyEffect, effect) in [(ChangeEffect.live, Change.Effect.takeOver), (.nextDaemon, .nextDaemon)] {
            let keys = differences.filter { $0.effect == keyEffect }
            if !keys.isEmpty { changes.append(Change(path: "/", kind: .changed, differences: keys, effect: effect)) }
        }
    }

    private mutating func compare(_ former: [ConfiguredChild], _ next: [ConfiguredChild], under parent: String) {
        let (former, next) = (former.withInstances, next.withInstances)
        let before = Dictionary(former.map { ($0.key, $0) }) { first, _ in first }
        let after = Set(next.map(\.key))
        let starting = next.startedBySupervisor
        let beginning = starting.subtracting(former.startedBySupervisor)
        for child in next {
            let path = "\(parent)/\(child.key)"
            guard let known = before[child.key] else {
                add(child, at: path, Self.effect(of: child, isStarted: starting.contains(child.key)))
                continue
            }
            compare(known, child, at: path, isBeginning: beginning.contains(child.key), cause: causes[path])
        }
        for child in former where !after.contains(child.key) {
            changes.append(Change(path: "\(parent)/\(child.key)", kind: .removed, differences: [], effect: .stop))
        }
        let formerOrder = SiblingDependencies(of: former).startOrder.filter(after.contains)
        let order = SiblingDependencies(of: next).startOrder.filter { before[$0] != nil }
        if formerOrder != order { reordered.append(parent.isEmpty ? "/" : parent) }
    }

    /// A child and, below it, its own children, of which each is added too.
    private mutating func add(_ child: ConfiguredChild, at path: String, _ effect: Change.Effect) {
        changes.append(Change(path: path, kind: .added, differences: [], effect: effect))
        guard case .group(let group) = child.content else { return }
        let children = group.children.withInstances
        let starting = children.startedBySupervisor
        for child in children {
            let own = Self.effect(of: child, isStarted: starting.contains(child.key))
            // What its parent's start begins comes with that start.
            add(child, at: "\(path)/\(child.key)", own == .start ? effect : own)
        }
    }

    /// Returns what follows when a child is added.
    private static func effect(of child: ConfiguredChild, isStarted: Bool) -> Change.Effect {
        if isStarted { return .start }
        if child.placement != nil { return .placed }
        return child.autostart && child.runsAtTimesAlone ? .scheduled : .none
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
        let differences = Self.differences(former, next)
        var change = Change(path: path, kind: .changed, differences: differences, effect: .takeOver)
        if isBeginning {
            change.effect = .start
        } else if change.needsRestart || cause != nil {
            change.effect = .restart
        }
        if !change.needsRestart { change.cause = cause }
        if differences.isEmpty, change.effect == .takeOver { unchanged += 1 } else { changes.append(change) }
        if case .group(let former) = former.content, case .group(let next) = next.content {
            compare(former.children, next.children, under: path)
        }
    }

    /// Returns the keys in which a child differs, without those of its own children, and without `receives`: what it gets is the root's.
    private static func differences(_ former: ConfiguredChild, _ next: ConfiguredChild) -> [KeyDifference] {
        Keys.child.differences(former, next, Keys.ofChild).filter { $0.effect != .nextDaemon }
    }

    /// Notes the children that are restarted because one that they require is.
    private mutating func findRestarts(
        _ former: [ConfiguredChild],
        _ next: [ConfiguredChild],
        _ requirements: TreeRequirements,
        under parent: String
    ) {
        let before = Dictionary(former.withInstances.map { ($0.key, $0) }) { first, _ in first }
        for child in next.withInstances {
            let path = "\(parent)/\(child.key)"
            guard let known = before[child.key], requirements.required.contains(path) else { continue }
            if Self.differences(known, child).contains(where: { $0.effect == ChangeEffect.restart }) {
                for other in requirements.requiring(path) { causes[other] = path }
            }
            if case .group(let former) = known.content, case .group(let next) = child.content {
                findRestarts(former.children, next.children, requirements, under: path)
            }
        }
    }
}

extension DaemonConfiguration {
    /// Takes over what a running daemon follows; everything else is for the next daemon, and still differs.
    public mutating func follow(_ next: DaemonConfiguration) {
        for key in Keys.file.keys where key.description.effect == .live { key.copy(next, &self) }
    }
}
