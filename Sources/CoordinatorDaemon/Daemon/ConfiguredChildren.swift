import ConcurrencySupport
import Control
import Coordinators
import DaemonConfiguration
import Processes
import Supervision

/// The children of one supervisor in the configuration file: of the root, or of a group.
///
/// It is the supervisor's configuration, and shared with the handler of operators' requests, and it lives as long as the file lists the
/// supervisor: through the supervisor's restarts too. Supervision forgets a temporary child that has ended, as OTP's does, any child that has
/// finished, and knows nothing of one that was never started; operators see them all, because the file lists them.
final class ConfiguredChildren: Codable, Sendable {
    /// The record of what supervision doesn't remember of a child.
    struct Record {
        /// The end of the child's last life.
        var lastExit: String?
        /// The numbers of that end.
        var exitNumbers = ExitNumbers()
        /// The child's first start in the present life of its supervisor.
        var start: FirstStart?
        /// Whether the child was stopped, or not started, because one that it requires doesn't run.
        var isHeld = false
        /// Whether the last life of a child that runs once has ended as it should.
        var hasCompleted = false
        /// Whether a request has stopped the child, or is about to.
        var isStopWanted = false
        /// Whether that request is the first half of a restart.
        var isRestarting = false
        /// Settled when the health of the child has been checked with success, or isn't going to be: whether it has.
        var health = OneShot<Bool>()
    }

    struct State {
        /// The children with one for each instance, in the file's order.
        fileprivate(set) var children: [ConfiguredChild]
        fileprivate(set) var dependencies: SiblingDependencies
        /// The keys of the instances, in order, of each child that has instances.
        fileprivate(set) var instances: [String: [String]]
        fileprivate var positions: [String: Int]
        /// The sockets of the children, which stay open as long as the file lists them: also of a child that doesn't run.
        fileprivate var sockets: [GivenSockets]
        var supervision: SupervisionPolicy
        /// The children of the children that are groups.
        fileprivate(set) var groups: [String: ConfiguredChildren]
        var records: [String: Record] = [:]
        weak var supervisor: (any ConfiguredSupervisor)?
        /// The children that the next life of the supervisor doesn't start.
        var resting: [String: RestingChild] = [:]
        /// The children that ran when the daemon was upgraded, which the next life of the supervisor starts.
        var continuing: Set<String> = []
        /// The epochs under which this node owns children of the cluster, by key.
        var fences: [String: UInt64] = [:]
        /// The epoch of the subtree to which all these children belong.
        var fence: UInt64?
        /// The children of the root; nil: these are.
        weak var root: ConfiguredChildren?
    }

    let state: Lock<State>
    /// The path of the supervisor.
    let path: CoordinatorPath
    /// The signal that the starts of all children were requested, those in groups included.
    let areRequested = OneShot<Void>()
    /// The signal that the first starts of these children are known, or that their supervisor has failed to start.
    let hasBegun = OneShot<Void>()
    /// Told of each child that was given up.
    let failureObserver = Lock<(@Sendable (String) -> Void)?>(nil)
    /// The signal that the list was replaced; a node of a cluster notes here what it sees of the others, too.
    let changes = ChangeSignal()
    /// Told of the end of a child by which the daemon is to end; the root's is told of all.
    let endObserver = Lock<(@Sendable (CoordinatorPath, ExitReason) -> Void)?>(nil)
    /// Told of each change that the daemon after a kill must know of; the root's is told of all.
    let standObserver = Lock<(@Sendable (CoordinatorPath, LifecycleChange) -> Void)?>(nil)
    /// Starts children at their times; known to the daemon's own children alone.
    let scheduler = Lock<Scheduler?>(nil)

    /// - Parameter path: The path of the supervisor.
    init(_ children: [ConfiguredChild], _ supervision: SupervisionPolicy, at path: CoordinatorPath = .root) {
        self.path = path
        state = Lock(State(children, supervision, keeping: [:], at: path))
        if path.isRoot { adoptGroups() }
    }

    /// The children of the root.
    var root: ConfiguredChildren { state.withLock { $0.root } ?? self }

    /// Tells the groups that were just made, at all depths, which children the root's are, and to which epoch they belong; only the root, or
    /// one that knows it, can.
    private func adoptGroups() {
        let root = root
        for (key, group) in state.withLock({ $0.groups }) where group.state.withLock({ $0.root == nil }) {
            let epoch = fence(of: key)
            group.state.withLock { state in
                state.root = root
                // The node may have come to own it meanwhile.
                if let epoch { state.fence = epoch }
            }
            group.adoptGroups()
        }
    }

    /// Decodes the list alone, as the protocol of configurations requires.
    convenience init(from decoder: any Decoder) throws { self.init(try [ConfiguredChild](from: decoder), SupervisionPolicy()) }

    /// Encodes the list alone.
    func encode(to encoder: any Encoder) throws { try children.encode(to: encoder) }

    var children: [ConfiguredChild] { state.withLock { $0.children } }
    var dependencies: SiblingDependencies { state.withLock { $0.dependencies } }
    var supervision: SupervisionPolicy { state.withLock { $0.supervision } }

    /// Replaces the list; groups that both lists have keep their children until those are replaced too.
    func replace(_ children: [ConfiguredChild], _ supervision: SupervisionPolicy) {
        state.withLock { state in
            var next = State(children, supervision, keeping: state.groups, at: path)
            next.records = state.records.filter { next.positions[$0.key] != nil }
            // A supervisor that waits takes up later what a former daemon has left.
            next.resting = state.resting.filter { key, rest in
                guard let position = next.positions[key] else { return false }
                let former = state.positions[key].map { state.children[$0].content }
                // What has run to its end runs again when it's changed.
                return rest.hasCompleted != true || former == next.children[position].content
            }
            next.continuing = state.continuing.filter { next.positions[$0] != nil }
            next.supervisor = state.supervisor
            (next.fences, next.fence) = (state.fences, state.fence)
            next.root = state.root
            state = next
        }
        adoptGroups()
        changes.noteChange()
    }

    /// Replaces the list, and those of all groups below.
    func replaceAll(_ children: [ConfiguredChild], _ supervision: SupervisionPolicy) {
        replace(children, supervision)
        for child in children.withInstances {
            if case .group(let content) = child.content { group(child.key)?.replaceAll(content.children, content.supervision) }
        }
    }

    /// Returns the child with a key; nil when the file lists none.
    func child(_ key: String) -> ConfiguredChild? {
        state.withLock { state in state.positions[key].map { state.children[$0] } }
    }

    /// Returns the children of a child that is a group.
    func group(_ key: String) -> ConfiguredChildren? { state.withLock { $0.groups[key] } }

    var supervisor: (any ConfiguredSupervisor)? { state.withLock { $0.supervisor } }

    /// Returns the running supervisor.
    func runningSupervisor(of path: CoordinatorPath) throws(ControlError) -> any ConfiguredSupervisor {
        guard let supervisor else { throw ControlError(.notRunning, "the supervisor of \(path) isn't running") }
        return supervisor
    }

    /// A child that the file lists, and its place.
    struct Place {
        let siblings: ConfiguredChildren
        let child: ConfiguredChild
        /// The path of the supervisor.
        let parent: CoordinatorPath
        var path: CoordinatorPath { parent.appending(child.key) }
    }

    /// Returns the child that the file lists under this path; nil when there is none.
    func place(of path: CoordinatorPath) -> Place? {
        var (siblings, parent) = (self, CoordinatorPath.root)
        for key in path.components.dropLast().map(String.init) {
            guard let group = siblings.group(key) else { return nil }
            siblings = group
            parent = parent.appending(key)
        }
        guard let key = path.components.last.map(String.init), let child = siblings.child(key) else { return nil }
        return Place(siblings: siblings, child: child, parent: parent)
    }

    /// Lets go of the sockets of all children, those in groups too, when nothing is started any more.
    func releaseSockets() {
        let (sockets, groups) = state.withLock { state in
            defer { state.sockets = [] }
            return (state.sockets, state.groups.values)
        }
        // The last references end after the lock.
        withExtendedLifetime(sockets) {
            for group in groups { group.releaseSockets() }
        }
    }

    /// Returns the end of a child's last life; nil while it lives.
    func lastExit(of key: String) -> String? { state.withLock { $0.records[key]?.lastExit } }

    /// Records the end of a child's life; nil means that the child lives.
    func recordExit(_ exit: String?, _ numbers: ExitNumbers = ExitNumbers(), of key: String) {
        change(key) { ($0.lastExit, $0.exitNumbers) = (exit, numbers) }
    }

    /// Changes what is recorded of a child that the file lists.
    @discardableResult
    func change<Result>(_ key: String, _ body: (inout Record) -> Result) -> Result? {
        state.withLock { state in
            guard state.positions[key] != nil else { return nil }
            return body(&state.records[key, default: Record()])
        }
    }
}

extension ConfiguredChildren.State {
    fileprivate init(
        _ children: [ConfiguredChild],
        _ supervision: SupervisionPolicy,
        keeping groups: [String: ConfiguredChildren],
        at path: CoordinatorPath
    ) {
        instances = Dictionary(children.filter { $0.instances != nil }.map { ($0.key, $0.instanceKeys) }) { first, _ in first }
        let children = children.withInstances
        self.children = children
        self.supervision = supervision
        dependencies = SiblingDependencies(of: children, under: path.isRoot ? "" : path.description)
        sockets = children.compactMap { child in
            guard case .program(let program) = child.content, !program.settings.sockets.isEmpty else { return nil }
            return GivenSockets(program.settings.sockets)
        }
        positions = Dictionary(children.enumerated().map { ($1.key, $0) }) { first, _ in first }
        self.groups = [:]
        for child in children {
            guard case .group(let group) = child.content else { continue }
            self.groups[child.key] =
                groups[child.key] ?? ConfiguredChildren(group.children, group.supervision, at: path.appending(child.key))
        }
    }
}
