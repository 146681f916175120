import ConcurrencySupport
import Control
import Processes

/// What this machine's kernel tells of the processes of some nodes, each with its descendants.
struct ProcessFacts {
    /// The longest command that is shown, in bytes.
    private static let maximumCommand = 4_096

    private let sums: [Int32: FamilyUsage.Sum]

    init(of nodes: [TreeNode]) {
        // What else is below the daemon is of others.
        let daemon = nodes.compactMap { $0.path == "/" ? $0.pid : nil }
        sums = FamilyUsage(of: Set(nodes.flatMap(\.ownProcesses)), alone: Set(daemon)).sums
    }

    /// Returns the command of a node that has a process here.
    func command(of node: TreeNode) -> String? {
        guard let pid = node.ownProcess, let text = FileText.contents(of: "/proc/\(pid)/cmdline") else { return nil }
        // A program may have written another text over its arguments, with any number of zeros after it.
        var arguments = text.split(separator: "\0", omittingEmptySubsequences: false)
        while arguments.last?.isEmpty == true { arguments.removeLast() }
        return arguments.isEmpty ? nil : String(decoding: arguments.joined(separator: " ").utf8.prefix(Self.maximumCommand), as: UTF8.self)
    }

    /// Returns the memory and the processor time, each with its name.
    func figures(of node: TreeNode) -> [[String]] {
        guard let pid = node.ownProcess, let sum = sums[pid] else { return [] }
        let count = sum.count == 1 ? "" : " in \(sum.count) processes"
        let milliseconds = Int64(Double(sum.usage.ticks) / ProcessUsage.ticksPerSecond * 1000)
        return [["memory", sum.usage.residentBytes.memoryText + count], ["cpu", Duration.milliseconds(milliseconds).briefText]]
    }
}

extension TreeNode {
    /// The process that is the node's own, on this machine.
    fileprivate var ownProcess: Int32? {
        let isShared = placement == .inProcess && path != "/"
        return isShared || isElsewhere == true ? nil : pid
    }

    /// The processes of the node and of its descendants.
    fileprivate var ownProcesses: [Int32] { subtree.compactMap(\.ownProcess) }
}

extension UInt64 {
    /// A number of bytes for people: `512 KiB`, `23.4 MiB`.
    fileprivate var memoryText: String {
        guard self >= 1 << 20 else { return "\(self >> 10) KiB" }
        let tenths = (self >> 10) * 10 / 1024
        return "\(tenths / 10).\(tenths % 10) MiB"
    }
}
