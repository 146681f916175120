package import Control
import Coordinators
package import DaemonConfiguration
import Glibc
import Processes

/// What a daemon leaves to the program that takes its place in the same process, in a file without a name that only the process has.
package struct DaemonHandover: Codable, Sendable {
    /// The request for the upgrade, which the next daemon answers.
    struct Request: Codable, Sendable {
        let id: String?
        let executable: String?
        let waitMilliseconds: Int64
        /// The result as far as it's known.
        var result: UpgradeResult
        /// The microseconds since 1970 at the request, and at the beginning of the pause.
        let began: Int64
        let paused: Int64
    }

    /// The variable that names the descriptor of the file.
    package static let variable = "COORDINATORD_HERITAGE"
    private static let currentFormat = 1

    /// The format, so that a daemon of another version knows what it reads.
    var format = currentFormat
    /// The configuration that's in effect, whatever the file has by now.
    package let configuration: String
    /// The numbers of instances that are in effect, by paths: operators may have changed them.
    let instances: [String: Int]
    let runtime: RuntimeHandover
    /// The listening sockets of programs; nil in what a daemon has left that kept none.
    let sockets: [ListeningSocket.Handover]?
    let resting: [String: RestingChild]
    let events: EventLog.Legacy
    let request: Request
    /// The times up to which the schedules of children have been followed, by paths; nil in what an older daemon has left.
    let schedules: [String: Int64]?
    /// The paths of the children of which a run waits for the end of the former one; nil in what an older daemon has left.
    let queued: [String]?
    /// Whether a signal has asked for the file to be applied, and the next daemon has to; nil: it hasn't, or an older daemon has left this.
    var isReloadWaiting: Bool?

    init(
        configuration: String,
        instances: [String: Int],
        runtime: RuntimeHandover,
        sockets: [ListeningSocket.Handover],
        resting: [String: RestingChild],
        events: EventLog.Legacy,
        request: Request,
        schedules: Scheduler.Legacy
    ) {
        (self.configuration, self.instances) = (configuration, instances)
        (self.runtime, self.sockets, self.resting) = (runtime, sockets, resting)
        (self.events, self.request) = (events, request)
        (self.schedules, queued) = (schedules.times, schedules.queued.sorted())
    }

    /// Writes the handover to a file without a name.
    ///
    /// - Returns: The descriptor, which closes when another program takes this one's place, unless it's kept.
    func write() throws(ControlError) -> Int32 {
        let bytes = try ControlJSON.bytes(of: try ControlJSON.value(of: self))
        do throws(ProcessError) {
            return try MemoryFile.write(bytes)
        } catch {
            throw ControlError(.failed, error.message)
        }
    }

    /// Gives children the numbers of instances that are in effect.
    package func adjust(_ configuration: inout DaemonConfiguration) {
        for (path, count) in instances {
            _ = configuration.withSiblings(at: path) { siblings, index in
                if siblings[index].instances != nil { siblings[index].instances = count }
            }
        }
    }

    /// Reads what the former program in this process has left; `nil` when there was none.
    ///
    /// - Throws: `failed` when it can't be read: the next executable was rehearsed with it, so this is a handover of an executable that
    ///   wasn't. The workers are adopted all the same, by the journal of processes.
    package static func inherited() throws(ControlError) -> DaemonHandover? {
        guard let text = getenv(variable).map({ String(cString: $0) }) else { return nil }
        unsetenv(variable)
        guard let descriptor = Int32(text), let bytes = MemoryFile.readAndClose(descriptor) else {
            throw ControlError(.failed, "\(variable)=\(text) names no file")
        }
        let handover = try ControlJSON.decode(DaemonHandover.self, from: try ControlJSON.parse(answer: bytes))
        guard handover.format == currentFormat else {
            throw ControlError(.failed, "the former daemon has left a heritage of format \(handover.format), not \(currentFormat)")
        }
        return handover
    }
}

extension DaemonConfiguration {
    /// The numbers of instances of all children that have some, by the paths that operators name.
    var instances: [String: Int] {
        var found: [String: Int] = [:]
        func visit(_ children: [ConfiguredChild], _ parent: CoordinatorPath) {
            for child in children {
                let path = parent.appending(child.key)
                if let count = child.instances {
                    found[path.description] = count
                } else if case .group(let group) = child.content {
                    visit(group.children, path)
                }
            }
        }
        visit(children, .root)
        return found
    }
}
