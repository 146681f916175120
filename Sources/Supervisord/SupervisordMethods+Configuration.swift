import ConcurrencySupport
import Control
import WireProtocol

/// The groups that the last `reloadConfig` has named: `supervisorctl update` stops, removes and adds those that have changed, in separate calls.
final class RereadGroups: Sendable {
    enum Difference { case added, changed, removed }

    struct Group {
        let difference: Difference
        /// The paths of the processes that ran until the group was stopped.
        fileprivate(set) var stopped: Set<String> = []
    }

    private let groups = Lock<[String: Group]>([:])

    func remember(_ found: [String: Difference]) {
        let next = found.mapValues { Group(difference: $0) }
        groups.withLock { $0 = next }
    }

    /// Notes that a group is stopped, if it's one of them.
    func noteStop(of group: String, _ paths: [String]) { groups.withLock { _ = $0[group]?.stopped.formUnion(paths) } }

    func difference(of group: String) -> Difference? { groups.withLock { $0[group]?.difference } }

    func remove(_ group: String) -> Group? { groups.withLock { $0.removeValue(forKey: group) } }
}

/// The methods by which `supervisorctl` applies the daemon's configuration file, and ends the daemon.
///
/// The daemon applies a file as a whole: the first group that is added or removed brings all differences with it.
extension SupervisordMethods {
    /// The time for which an end of the daemon may be refused; the console itself ends with the daemon.
    private static let refusalTime = Duration.milliseconds(300)

    /// Returns what every child of the file is, for `supervisorctl avail`.
    func configurations() async throws -> XMLRPCValue {
        let present = try await processes().map { process in
            Self.configuration(
                process.group,
                process.name,
                isInUse: true,
                startsItself: process.isRunning || process.state == .stopped && process.node.incarnation > 0
            )
        }
        // A file with a problem has no children to show; `reread` tells of it.
        let added = (try? await differences().filter { $0.value == .added }.keys.sorted()) ?? []
        return .array(present + added.map { Self.configuration($0, $0, isInUse: false, startsItself: true) })
    }

    private static func configuration(_ group: String, _ name: String, isInUse: Bool, startsItself: Bool) -> XMLRPCValue {
        .structure([
            "group": .string(group), "name": .string(name), "inuse": .boolean(isInUse), "autostart": .boolean(startsItself),
            "group_prio": .integer(999), "process_prio": .integer(999),
        ])
    }

    /// Returns the groups that the file adds, changes and removes.
    func reread() async throws -> XMLRPCValue {
        let found = try await differences()
        rereadGroups.remember(found)
        let lists = [RereadGroups.Difference.added, .changed, .removed].map { difference in
            XMLRPCValue.array(found.filter { $0.value == difference }.keys.sorted().map(XMLRPCValue.string))
        }
        return .array([.array(lists)])
    }

    private func differences() async throws -> [String: RereadGroups.Difference] {
        let plan: ConfigurationChanges
        do throws(ControlError) {
            plan = try ControlJSON.decode(ConfigurationChanges.self, from: try await daemon.call(.configurationDifference(file: nil)))
        } catch {
            throw error.code == .badConfiguration ? XMLRPCFault(.cantReread, error.withoutQuotation.message) : error
        }
        let present = Set(try await processes().map(\.group))
        var found: [String: RereadGroups.Difference] = [:]
        // The file's own settings are no group's.
        for change in plan.changes where change.path != "/" {
            let keys = change.path.dropFirst().split(separator: "/")
            let group = keys.count == 1 ? String(keys[0]) : keys.dropLast().joined(separator: "/")
            let isWhole = keys.count == 1
            let difference: RereadGroups.Difference =
                change.kind == "added" && !present.contains(group) ? .added : change.kind == "removed" && isWhole ? .removed : .changed
            // The group's own difference counts before those of its members.
            if found[group] == nil || isWhole { found[group] = difference }
        }
        return found
    }

    /// Applies the file, if it adds or changes the group, which starts what is new, and starts what ran until `update` has stopped it.
    func addGroup(_ group: String) async throws -> XMLRPCValue {
        let noted = rereadGroups.remove(group)
        if let difference = try await differences()[group], difference != .removed {
            try await apply()
        } else if noted == nil {
            throw XMLRPCFault(try await members(of: group).isEmpty ? .badName : .alreadyAdded, group)
        }
        guard let noted, noted.difference == .changed else { return .boolean(true) }
        for process in try await members(of: group) where noted.stopped.contains(process.path) && !process.isRunning {
            _ = try await daemon.call(.start(path: process.path))
        }
        return .boolean(true)
    }

    /// Applies the file, if it lists the group no more.
    func removeGroup(_ group: String) async throws -> XMLRPCValue {
        let members = try await members(of: group)
        if members.contains(where: \.isRunning) { throw XMLRPCFault(.stillRunning, group) }
        if try await differences()[group] == .removed {
            try await apply()
            return .boolean(true)
        }
        switch rereadGroups.difference(of: group) {
        // `update` adds it next; or has applied its removal with another group's difference.
        case .changed: return .boolean(true)
        case .removed where members.isEmpty: return .boolean(true)
        default: break
        }
        if members.isEmpty { throw XMLRPCFault(.badName, group) }
        throw XMLRPCFault(.failed, "the daemon's file lists \(group): take it out there, then `supervisorctl update`")
    }

    private func apply() async throws {
        let done = try ControlJSON.decode(ConfigurationChanges.self, from: try await daemon.call(.configurationApplication(file: nil)))
        let failures = done.changes.compactMap { change in change.error.map { "\(change.path): \($0)" } }
        if !failures.isEmpty { throw XMLRPCFault(.failed, failures.joined(separator: "; ")) }
    }

    private func members(of group: String) async throws -> [SupervisedProcess] { try await processes().filter { $0.group == group } }

    /// Ends the daemon, without waiting for its end: it's the console's own.
    func shutDown() async throws -> XMLRPCValue {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { _ = try await daemon.call(.shutdown(now: false)) }
            group.addTask { try await Task.sleep(for: Self.refusalTime) }
            defer { group.cancelAll() }
            try await group.next()
        }
        return .boolean(true)
    }
}

/// The methods that have no counterpart, and say what there is instead.
extension SupervisordMethods {
    /// The methods, with what they answer.
    static let withoutCounterpart: [String: XMLRPCFault] = {
        let logs = XMLRPCFault(.failed, "logs are rotated, not cleared; see `logging` in the daemon's file")
        let own = XMLRPCFault(.noFile, "the daemon's own log goes to its standard error: see the journal, or `coordinatorctl events`")
        let input = XMLRPCFault(.failed, "programs have no standard input")
        let reload = XMLRPCFault(
            .failed,
            "the daemon isn't restarted from here: `supervisorctl update` applies its file, `coordinatorctl upgrade` runs its next executable"
        )
        return [
            "supervisor.clearProcessLog": logs, "supervisor.clearProcessLogs": logs, "supervisor.clearAllProcessLogs": logs,
            "supervisor.clearLog": own, "supervisor.readLog": own, "supervisor.readMainLog": own,
            "supervisor.sendProcessStdin": input, "supervisor.restart": reload,
        ]
    }()

    /// Answers a method that has no counterpart.
    func refuse(_ method: String, _ arguments: Arguments) async throws -> XMLRPCValue {
        guard let fault = Self.withoutCounterpart[method] else { throw XMLRPCFault(.unknownMethod) }
        // A client is told first that there is no such process.
        if method.contains("Process"), !method.contains("All") { _ = try await process(try arguments.text(0)) }
        guard method == "supervisor.clearAllProcessLogs" else { throw fault }
        return .array(
            try await processes().map { process in
                .structure([
                    "name": .string(process.name), "group": .string(process.group), "status": .integer(fault.code.rawValue),
                    "description": .string(fault.text),
                ])
            }
        )
    }
}
