import Control
import Processes

/// What the tree's processes use and run, as the kernel tells the console's user: each together with its descendants.
struct ProcessFigures: Sendable {
    /// What one process uses and runs.
    struct Figure: Sendable {
        var pid: Int32
        /// The processor time until now, the memory, and the time at which the process began.
        var usage: ProcessUsage
        /// The number of processes.
        var count: Int
        /// The processor time in percent of one processor since the look before; nil at the first one.
        var percent: Double?
        /// The command line; nil when it may not be looked at.
        var command: String?
        /// The name of its user, or the number of one without a name.
        var user: String?
    }

    /// The shortest time between two looks, each of which costs some time for each process of the machine.
    private static let interval = Duration.seconds(2)
    /// How many times as long as a look the time until the next one is at least.
    private static let rest = 10
    /// The number of looks after which a process's command is read again: it may have become another program.
    private static let looksPerCommand = 5

    private let names = UserNames()
    private var looks = 0
    private var at: ContinuousClock.Instant?
    /// How long the latest look has taken.
    private var cost = Duration.zero
    /// The figures of the latest look, by the paths of the topmost nodes in the processes.
    private(set) var byPath: [String: Figure] = [:]

    /// Looks at the processes of a tree, unless that was done a moment ago.
    ///
    /// - Parameter now: the time; with `isDue` the processes are looked at in any case.
    mutating func look(at tree: TreeNode, now: ContinuousClock.Instant = .now, isDue: Bool = false) {
        let elapsed = at.map { $0.duration(to: now) }
        if !isDue, let elapsed, elapsed < max(Self.interval, cost * Self.rest) { return }
        let began = ContinuousClock.now
        defer { cost = ContinuousClock.now - began }
        let owners = Self.owners(of: tree)
        let sums = FamilyUsage(of: Set(owners.values), alone: Set([tree.pid].compactMap(\.self))).sums
        let seconds = elapsed.map { $0 / .seconds(1) } ?? 0
        let former = byPath
        byPath = [:]
        for (path, pid) in owners {
            guard let sum = sums[pid] else { continue }
            var figure = Figure(pid: pid, usage: sum.usage, count: sum.count)
            if let then = former[path], then.isSameProcess(as: figure) {
                figure.percent = then.usage.percent(until: sum.usage, seconds: seconds)
                (figure.command, figure.user) = (then.command, then.user)
            }
            if figure.command == nil || looks % Self.looksPerCommand == 0, let command = ProcessCommand(of: pid) {
                figure.command = command.text
                figure.user = names.name(of: command.user) ?? "\(command.user)"
            }
            byPath[path] = figure
        }
        (at, looks) = (now, looks + 1)
    }

    /// Returns the processes by the paths of the topmost nodes in them; those on other machines have no number here.
    static func owners(of tree: TreeNode) -> [String: Int32] {
        var owners: [String: Int32] = [:]
        func add(_ node: TreeNode, parent: Int32?) {
            guard node.isElsewhere != true else { return }
            if let pid = node.pid, pid != parent { owners[node.path] = pid }
            for child in node.children { add(child, parent: node.pid) }
        }
        add(tree, parent: nil)
        return owners
    }
}

extension ProcessFigures.Figure {
    /// Whether two figures are about one process, and not about two that have had the same number.
    func isSameProcess(as other: Self) -> Bool { pid == other.pid && usage.startTime == other.usage.startTime }
}

extension ProcessUsage {
    /// Returns the processor time between two looks in percent of one processor; nil when no time has passed.
    func percent(until later: ProcessUsage, seconds: Double) -> Double? {
        guard seconds > 0 else { return nil }
        return Double(later.ticks - min(later.ticks, ticks)) / Self.ticksPerSecond / seconds * 100
    }
}
