import Control
import Glibc
import WireProtocol

/// A program, or a coordinator with a worker process of its own, as supervisord describes a process.
///
/// The name is the node's key and the group its parent's path: `/web` is `web`, which is in a group of its own name, and `/team/web` is
/// `team:web`. What runs in its parent's process is no process.
package struct SupervisedProcess: Sendable {
    /// The states, with supervisord's numbers: http://supervisord.org/subprocess.html#process-states.
    enum State: Int {
        case stopped = 0
        case starting = 10
        case running = 20
        case backoff = 30
        case stopping = 40
        case exited = 100
        case fatal = 200

        var name: String { "\(self)".uppercased() }
    }

    package let path: String
    let group: String
    let name: String
    let state: State
    let node: TreeNode

    init(_ node: TreeNode, parent: String) {
        self.node = node
        path = node.path
        name = node.key
        group = parent == "/" ? node.key : String(parent.dropFirst())
        state =
            switch node.shownState {
            case .starting: .starting
            case .active, .paused, .unhealthy, .unresponsive: .running
            case .restarting, .failing: .backoff
            case .stopping: .stopping
            case .failed: .fatal
            case .inactive, .waiting, nil: node.hasEnded != true ? .stopped : Self.hasBegun(node) ? .exited : .fatal
            }
    }

    /// Whether the last life of a node that doesn't run has begun, rather than failed to start.
    static func hasBegun(_ node: TreeNode) -> Bool {
        ["exited with", "ended by", "normal", "shutdown", "hung", "did not stop", "not stopped", "killed"].contains {
            node.lastExit?.hasPrefix($0) == true
        }
    }

    /// Whether the process runs or is about to: it can be stopped and not be started.
    var isRunning: Bool { [.running, .backoff, .starting].contains(state) }

    /// Returns the processes of a tree except the console's own, by group and name.
    static func all(in root: TreeNode, except console: Int32) -> [SupervisedProcess] {
        below(root, except: console).sorted { ($0.group, $0.name) < ($1.group, $1.name) }
    }

    private static func below(_ node: TreeNode, except console: Int32) -> [SupervisedProcess] {
        node.children.flatMap { child in
            let isProcess = child.placement != .inProcess && child.pid != console
            return (isProcess ? [SupervisedProcess(child, parent: node.path)] : []) + below(child, except: console)
        }
    }

    /// Returns the structure of `getProcessInfo`.
    ///
    /// - Parameters:
    ///   - now: the seconds since 1970.
    ///   - last: the last life, of a process that isn't running.
    func information(now: Int, last: LifeHistory.Life?) -> XMLRPCValue {
        let seconds = { (text: String?) in text.flatMap(Timestamp.microseconds).map { Int($0 / 1_000_000) } ?? 0 }
        let start = state == .running ? now - Int(node.uptimeMilliseconds / 1000) : seconds(last?.started)
        let stop = state == .running ? 0 : seconds(last?.ended)
        let problem = [.backoff, .fatal].contains(state) ? node.lastExit ?? "unknown error" : ""
        return .structure([
            "name": .string(name), "group": .string(group), "description": .string(description(stop: stop, problem)),
            "start": .integer(start), "stop": .integer(stop), "now": .integer(now), "state": .integer(state.rawValue),
            "statename": .string(state.name), "spawnerr": .string(problem), "exitstatus": .integer(exitStatus),
            "logfile": .string(""), "stdout_logfile": .string(""), "stderr_logfile": .string(""),
            "pid": .integer(Int(node.pid ?? 0)),
        ])
    }

    /// The exit code of the life before; of any signal it's -1, as there.
    private var exitStatus: Int { Int(node.lastExitCode ?? (node.lastExitSignal == nil ? 0 : -1)) }

    private func description(stop: Int, _ problem: String) -> String {
        switch state {
        case .running: return "pid \(node.pid ?? 0), uptime \(Self.duration(node.uptimeMilliseconds / 1000))"
        case .backoff, .fatal: return problem
        case .starting, .stopping: return ""
        case .stopped, .exited:
            guard stop > 0 else { return "Not started" }
            var (time, broken, text) = (time_t(stop), tm(), [CChar](repeating: 0, count: 64))
            localtime_r(&time, &broken)
            let count = strftime(&text, text.count, "%b %d %I:%M %p", &broken)
            return String(decoding: text[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    }

    /// Returns a duration as Python writes it, since scripts read it: `0:01:05`, `1 day, 0:00:00`.
    static func duration(_ seconds: Int64) -> String {
        let two = { (number: Int64) in number < 10 ? "0\(number)" : "\(number)" }
        let days = seconds / 86_400
        let time = "\(seconds / 3600 % 24):\(two(seconds / 60 % 60)):\(two(seconds % 60))"
        return days == 0 ? time : "\(days) day\(days == 1 ? "" : "s"), \(time)"
    }
}
