import ConcurrencySupport
package import Control
import Coordinators
package import DaemonConfiguration
import Glibc
import Logging
import Processes

/// The configuration of the running daemon, and the ways to change it.
///
/// One change is made at a time. A change of the file's text (`config apply`, SIGHUP) and one of a value in it, such as the number of a
/// child's `instances`, take the same way: ``change(_:)``.
final class ConfigurationKeeper: Sendable {
    /// The time that a file is given to be read: it may be a pipe, or on a file system that doesn't answer.
    private static let readingLimit = Duration.seconds(10)

    /// The file with which the daemon was started.
    let file: String
    private let children: ConfiguredChildren
    private let cluster: ClusterMembership?
    private let logs: ChildLogs
    private let events: EventLog
    private let notifier: ServiceNotifier
    private let logger: Logger
    private let running: Lock<(configuration: DaemonConfiguration, text: String)>
    private let turn = AsyncLock()
    /// The number of changes that signals have asked for, and that haven't been made.
    private let reloads = Lock(0)

    init(
        _ configuration: DaemonConfiguration,
        text: String,
        file: String,
        children: ConfiguredChildren,
        cluster: ClusterMembership?,
        logs: ChildLogs,
        events: EventLog,
        notifier: ServiceNotifier,
        logger: Logger
    ) {
        running = Lock((configuration, text))
        self.file = file
        self.children = children
        self.cluster = cluster
        self.logs = logs
        self.events = events
        self.notifier = notifier
        self.logger = logger
    }

    /// The configuration that the tree has; the numbers of instances are in its children.
    var configuration: DaemonConfiguration { running.withLock { $0.configuration } }

    /// The text of the file that the configuration was read from last.
    var text: String { running.withLock { $0.text } }

    /// Returns the steps that ``apply(_:)`` would take, and takes none.
    ///
    /// - Parameters:
    ///   - file: The path of a file, which is read as the requester's user; nil means that of the daemon, which the daemon reads itself.
    ///   - requester: The one who has named the file; nil: the daemon itself.
    func plan(_ file: String?, for requester: Requester?) async throws(ControlError) -> ConfigurationChanges {
        let (next, _, places) = try await read(file, for: requester, to: "compare")
        let plan = ConfigurationPlan(from: configuration, to: next)
        return ConfigurationChanges(plan, file: file ?? self.file, places: places).told(to: requester)
    }

    /// Follows a file: starts, stops and changes the children whose description differs, and leaves all others alone.
    ///
    /// - Throws: `badConfiguration` with all problems; nothing is changed then.
    func apply(_ file: String?, for requester: Requester? = nil) async throws(ControlError) -> ConfigurationChanges {
        try await turn.pass { () async throws(ControlError) in
            self.notifier.reloading("applying the configuration")
            defer { self.notifier.reloaded() }
            // Whatever becomes of the configuration: certificates end at their time.
            await self.cluster?.renew()
            // Read in the turn: of two files that are applied one after the other, the second is what holds.
            let (next, text, places) = try await self.read(file, for: requester, to: "apply")
            return await self.follow(next, text, file: file ?? self.file, places).told(to: requester)
        }
    }

    /// Takes note of a change of the file that a signal asks for, from its arrival on; ``endReload()`` has to follow.
    func beginReload() { reloads.withLock { $0 += 1 } }

    /// Takes note that the change was made, or couldn't be.
    func endReload() { reloads.withLock { $0 -= 1 } }

    /// Whether a change that a signal has asked for is still to be made.
    var isReloadWaiting: Bool { reloads.withLock { $0 > 0 } }

    /// Keeps the configuration as it is, once no change is under way, until ``releaseTurn()``.
    ///
    /// - Returns: False when a change is still under way at the deadline.
    func takeTurn(by deadline: PatientDeadline) async -> Bool {
        var deadline = deadline
        let isTaken = OneShot<Bool>()
        // Ends when the change does; the turn that no one awaits any more is passed on.
        Task { [turn] in
            await turn.enter()
            if !isTaken.settle(true) { turn.leave() }
        }
        if await Patience.wait(for: isTaken, until: &deadline) != nil { return true }
        return !isTaken.settle(false)
    }

    /// Lets changes be made again.
    func releaseTurn() { turn.leave() }

    /// Changes values of the running configuration, and follows them; the next ``apply(_:)`` replaces them by those of the file.
    @discardableResult
    func change(_ body: @Sendable (inout DaemonConfiguration) throws(ControlError) -> Void) async throws(ControlError)
        -> ConfigurationChanges
    {
        try await turn.pass { () async throws(ControlError) in
            var next = self.configuration
            try body(&next)
            return await self.follow(next, self.text, file: self.file)
        }
    }

    private func follow(
        _ next: DaemonConfiguration,
        _ text: String,
        file: String,
        _ places: ConfigurationPlaces? = nil
    ) async -> ConfigurationChanges {
        let plan = ConfigurationPlan(from: configuration, to: next)
        // Before any life begins that writes where the new configuration says.
        logs.apply(next)
        let failures = await Reconfiguration(plan).carryOut(on: children, next.children, next.supervision)
        // Everything else is as it was when the daemon was started, and still differs from the file.
        running.withLock { running in
            running.configuration.follow(next)
            running.text = text
        }
        await cluster?.follow()
        children.scheduler.withLock { $0 }?.configurationChanged()
        let changes = ConfigurationChanges(plan, file: file, places: places, failures: failures)
        log(changes)
        return changes
    }

    private func log(_ changes: ConfigurationChanges) {
        for change in changes.changes {
            var metadata: Logger.Metadata = [
                "coordinator.path": "\(change.path)", "change": "\(change.kind)", "effect": "\(change.effect)",
            ]
            if !change.keys.isEmpty { metadata["keys"] = "\(change.keys.joined(separator: ", "))" }
            if let error = change.error { metadata["error"] = "\(error)" }
            logger.log(level: change.error == nil ? .notice : .error, "a change of the configuration was applied", metadata: metadata)
        }
        let failed = changes.changes.count { $0.error != nil }
        events.append(
            ControlEvent(kind: .configuration, reason: "\(changes.file): \(changes.changes.count) changes, \(failed) of them failed")
        )
        logger.notice(
            "the configuration was applied",
            metadata: [
                "file": "\(changes.file)", "changes": "\(changes.changes.count)", "failed": "\(failed)",
                "unchanged": "\(changes.unchanged)",
            ]
        )
    }

    /// Whether the running configuration has all of these problems too: what is missing since, or is late, keeps no other change from being made.
    private func hasAlready(_ error: ConfigurationError) -> Bool {
        do throws(ConfigurationError) {
            _ = try DaemonConfiguration.parse(text: text, file: file, checkingFiles: true)
            return false
        } catch let running {
            return Set(error.problems.map(\.message)).isSubset(of: running.problems.map(\.message))
        }
    }

    /// - Parameter purpose: What the file is read for: a comparison that hangs doesn't keep a change from being made.
    private func read(
        _ named: String?,
        for requester: Requester?,
        to purpose: String
    ) async throws(ControlError) -> (configuration: DaemonConfiguration, text: String, places: ConfigurationPlaces) {
        let file = named ?? self.file
        // Problems quote the text, and a file that has none is followed: neither is for those who can't read it.
        let account = named == nil ? nil : requester?.foreignAccount
        guard account == nil || geteuid() == 0 else {
            let advice = "have the daemon's own file changed, and apply that"
            throw ControlError(.notPermitted, "\(file) can't be read as the user who names it, because the daemon isn't root's; \(advice)")
        }
        let result: Result<(configuration: DaemonConfiguration, text: String, places: ConfigurationPlaces), ConfigurationError>
        do throws(BlockingCalls.Failure) {
            result = try await BlockingCalls.shared.run("configuration to \(purpose)", within: Self.readingLimit) {
                do throws(ConfigurationError) {
                    return .success(try DaemonConfiguration.readWithPlaces(path: file, as: account, checkingFiles: true))
                } catch {
                    // What has other problems isn't compared: that looks at files, which may hang.
                    guard let read = try? DaemonConfiguration.readWithPlaces(path: file, as: account), self.hasAlready(error) else {
                        return .failure(error)
                    }
                    return .success(read)
                }
            }
        } catch {
            switch error {
            case .hangs(let since):
                throw ControlError(
                    .timedOut,
                    "\(file) hasn't been read within \(Self.readingLimit), since a file system, its own or that of a file which it names, "
                        + "hangs since \(since); nothing was applied"
                )
            case .cancelled: throw ControlError(.cancelled, "\(file) isn't read any more; nothing was applied")
            case .noThread: throw ControlError(.failed, "\(file) can't be read: there is no thread for it; try again")
            }
        }
        do throws(ConfigurationError) {
            let read = try result.get()
            try checkPlacement(read.configuration, file, read.places)
            return read
        } catch {
            throw ControlError(error.code, error.description)
        }
    }

    /// Refuses a file with which the daemon wouldn't start again: one that leaves children with `placement` without a cluster.
    private func checkPlacement(
        _ next: DaemonConfiguration,
        _ file: String,
        _ places: ConfigurationPlaces
    ) throws(ConfigurationError) {
        // A cluster that isn't the file's is that of the option --cluster, and stays.
        if let cluster, cluster.configuration != configuration.cluster { return }
        let problems = next.placedWithoutCluster.map { child in
            let place = places.place(of: "placement", at: "/\(child.key)")
            return ConfigurationError.Problem(
                file: place?.file ?? file,
                line: place?.line ?? 0,
                column: place?.column ?? 0,
                message: "`\(child.key)` has `placement`, and without a cluster a daemon doesn't start with it; expected `cluster` in "
                    + "the file, or a daemon with --cluster FILE"
            )
        }
        if !problems.isEmpty { throw ConfigurationError(problems: problems) }
    }
}

extension ConfigurationError {
    /// The kind of failure that operators and scripts are told.
    package var code: ControlError.Code { isNotPermitted ? .notPermitted : .badConfiguration }
}

extension Requester {
    /// The account of a requester who isn't the daemon's own user, nor root: what the daemon can read isn't for that one.
    var foreignAccount: Account? {
        if passage == nil, [0, geteuid()].contains(userID) { return nil }
        // Without a known group, that of no one: none would leave the process in the daemon's.
        return Account(user: userID, group: groupIDs.first ?? 65_534, groups: groupIDs)
    }
}
