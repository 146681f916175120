import ConcurrencySupport
import Control
import Coordinators
import DaemonConfiguration
import Logging
import Processes

/// Starts the children of the file that have times, at their times.
///
/// A ``ScheduleMachine`` decides for each child. A ``ScheduleFile`` tells the next daemon which times have passed while none ran.
final class Scheduler: Sendable {
    private struct Entry {
        var machine: ScheduleMachine
        var zone: ZoneRules
        /// Whether a start is under way, so that the child counts as running before its supervisor knows it.
        var isStarting = false
        /// Whether no look was taken at times that have passed while no daemon ran.
        var beginsInPast = false
    }

    private struct State {
        var entries: [CoordinatorPath: Entry] = [:]
        var wake = OneShot<Void>()
    }

    private let children: ConfiguredChildren
    private let events: EventLog
    private let logger: Logger
    private let file: ScheduleFile
    private let now: @Sendable () -> Int64
    private let tasks = OwnedTasks()
    private let state: Lock<State>
    private let trouble: Trouble<String>

    init(
        _ children: ConfiguredChildren,
        _ events: EventLog,
        _ logger: Logger,
        file: ScheduleFile,
        now: @escaping @Sendable () -> Int64 = { WallTimers.now }
    ) {
        (self.children, self.events, self.logger, self.file, self.now) = (children, events, logger, file, now)
        state = Lock(State())
        trouble = Trouble { change in
            switch change {
            case .began(let message):
                logger.error("the next daemon won't know which times it has missed", metadata: ["error": "\(message)"])
            case .ended: logger.notice("the times that have been dealt with are noted again")
            }
        }
    }

    /// The times up to which the daemon before an upgrade has dealt with all, by paths.
    private let former = Lock<[String: Int64]>([:])

    /// What a daemon that has ended has noted, by paths, of children that this one hasn't looked at.
    private let noted = Lock<[String: ScheduleFile.Entry]>([:])

    /// Begins where the daemon before an upgrade has ended.
    func goOn(after former: [String: Int64]) { self.former.withLock { $0 = former } }

    /// The times up to which all has been dealt with, for the daemon after an upgrade.
    var legacy: [String: Int64] {
        state.withLock { state in
            Dictionary(state.entries.map { ($0.key.description, $0.value.machine.done) }) { first, _ in first }
        }
    }

    /// Has the changes of a configuration take effect.
    func configurationChanged() { state.withLock { $0.wake }.settle() }

    /// Starts children at their times until the task is cancelled.
    func run() async {
        await readFile()
        while true {
            let wake = OneShot<Void>()
            state.withLock { $0.wake = wake }
            let (next, isAnyQueued) = await look()
            let timer = next.map { WallTimers.schedule(at: $0) { wake.settle() } }
            // The end of a run is an event too.
            if isAnyQueued, let event = events.page(after: .max).more {
                tasks.add {
                    _ = await event.valueUnlessCancelled()
                    wake.settle()
                }
            }
            let isOver = await wake.valueUnlessCancelled() == nil
            timer?.cancel()
            if isOver { return await tasks.end() }
        }
    }

    /// Returns the milliseconds until the next time of each child that has some.
    var untilNext: [CoordinatorPath: Int64] {
        let now = now()
        return state.withLock { state in
            state.entries.compactMapValues { entry in entry.machine.next(in: entry.zone).map { max(0, $0 - now) * 1000 } }
        }
    }

    /// Looks at the clock for each child.
    ///
    /// - Returns: The next time of all, and whether any run waits for the end of another.
    private func look() async -> (next: Int64?, isAnyQueued: Bool) {
        let places = children.scheduled(under: .root)
        let paths = Set(places.map(\.path))
        let unknown = state.withLock { state in
            state.entries = state.entries.filter { paths.contains($0.key) }
            return places.filter { $0.child.schedule != state.entries[$0.path]?.machine.settings }
        }
        for place in unknown {
            guard let settings = place.child.schedule else { continue }
            let zone = await zone(of: settings, place.path)
            let former = former.withLock { $0.removeValue(forKey: place.path.description) }
            let noted = noted.withLock { $0.removeValue(forKey: place.path.description) }
            // What a cluster places may have run on another node meanwhile.
            let isPlaced = place.path.components.first.flatMap { children.child(String($0)) }?.placement != nil
            // A clock that was set back is the machine's matter, as while a daemon runs; one that far ahead was wrong, or the file is.
            let left =
                former == nil && noted?.times == settings.noted && !isPlaced
                ? noted.map { $0.done > now() + ScheduleMachine.longestRepeat ? now() : $0.done } : nil
            let machine = ScheduleMachine(settings, from: former ?? left ?? now())
            state.withLock { $0.entries[place.path] = Entry(machine: machine, zone: zone, beginsInPast: left != nil) }
        }
        var (next, isAnyQueued, toCarryOut) = (Int64?.none, false, [(ScheduleMachine.Action, ConfiguredChildren.Place, isPast: Bool)]())
        for place in places {
            let time = now()
            let (actions, due, isQueued, isPast) = state.withLock { state -> ([ScheduleMachine.Action], Int64?, Bool, Bool) in
                guard var entry = state.entries[place.path] else { return ([], nil, false, false) }
                // The daemon has just begun, and will say when its group has.
                if entry.beginsInPast, place.siblings.supervisor == nil { return ([], nil, true, true) }
                defer { state.entries[place.path] = entry }
                let isPast = entry.beginsInPast
                entry.beginsInPast = false
                let isRunning = entry.isStarting || place.siblings.isRunning(place.child.key)
                let actions = entry.machine.look(at: time, isRunning: isRunning, in: entry.zone)
                let due = entry.machine.next(in: entry.zone)
                // A group of the cluster may be another node's.
                guard place.siblings.supervisor != nil else { return ([], due, false, isPast) }
                if actions.contains(.start) || actions.contains(.restart) { entry.isStarting = true }
                return (actions, due, entry.machine.isQueued, isPast)
            }
            toCarryOut += actions.map { ($0, place, isPast: isPast) }
            if let due { next = min(next ?? due, due) }
            isAnyQueued = isAnyQueued || isQueued
        }
        // Before a run begins, so that a crash of the daemon doesn't repeat it.
        if !unknown.isEmpty || !toCarryOut.isEmpty { await writeFile() }
        for (action, place, isPast) in toCarryOut { carryOut(action, place, isPast: isPast) }
        return (next, isAnyQueued)
    }

    private func readFile() async {
        do {
            let entries = try await BlockingCalls.shared.run("schedules", action: "read \(file.path)") { [file] () throws(ProcessError) in
                try file.entries()
            }
            noted.withLock { $0 = entries }
        } catch {
            logger.error("it isn't known which times were missed while no daemon ran", metadata: ["error": "\(error.message)"])
        }
    }

    private func writeFile() async {
        let known = state.withLock { state in
            Dictionary(
                state.entries.map { path, entry in
                    (path.description, ScheduleFile.Entry(done: entry.machine.done, times: entry.machine.settings.noted))
                }
            ) { first, _ in first }
        }
        do {
            try await BlockingCalls.shared.run("schedules", action: "write \(file.path)") { [file] () throws(ProcessError) in
                try file.replace(by: known)
            }
            trouble.succeeded()
        } catch {
            trouble.failed(error.message)
        }
    }

    /// Reads a zone, which may have been renewed since the configuration was checked.
    private func zone(of settings: ScheduleSettings, _ path: CoordinatorPath) async -> ZoneRules {
        do {
            return try await BlockingCalls.shared.run("times of \(path)", action: "read the time zone of \(path)") {
                () throws(ProcessError) in
                do throws(ZoneRules.Problem) {
                    return try ZoneRules.load(settings.timeZone)
                } catch {
                    throw ProcessError(code: .invalidSpecification, errno: 0, message: error.description)
                }
            }
        } catch {
            logger.error(
                "a time zone can't be read, and UTC is taken instead",
                metadata: ["coordinator.path": "\(path)", "error": "\(error.message)"]
            )
            return .utc
        }
    }

    /// - Parameter isPast: Whether no daemon ran at the times that were missed.
    private func carryOut(_ action: ScheduleMachine.Action, _ place: ConfiguredChildren.Place, isPast: Bool) {
        switch action {
        case .start, .restart:
            tasks.add { [self] in
                await start(place, stopsFirst: action == .restart)
                state.withLock { $0.entries[place.path]?.isStarting = false }
                // A run may be queued behind this one, which has ended already.
                state.withLock { $0.wake }.settle()
            }
        case .missed(let count, let first, let cause):
            let number = count < ScheduleMachine.longestCount ? "\(count)" : "at least \(count)"
            let since = DateTime(seconds: Int(first))
            let times = count == 1 ? "the run of \(since)" : "\(number) runs since \(since)"
            let late = isPast ? "no daemon ran" : "the machine slept, or its clock was set"
            let reason =
                switch cause {
                case .overlap: "\(times): the former run still goes on"
                case .lateness(isMadeUpFor: true): "\(times): \(late); one run makes up for it"
                case .lateness(isMadeUpFor: false): "\(times): \(late)"
                }
            logSkip(reason, place.path)
        }
    }

    private func logSkip(_ reason: String, _ path: CoordinatorPath) {
        logger.warning("a run was missed", metadata: ["coordinator.path": "\(path)", "reason": "\(reason)"])
        events.append(ControlEvent(kind: .missed, path: path.description, reason: reason))
    }

    private func start(_ place: ConfiguredChildren.Place, stopsFirst: Bool) async {
        let (key, siblings) = (place.child.key, place.siblings)
        guard let supervisor = siblings.supervisor, let child = siblings.child(key) else {
            return logSkip("its supervisor doesn't run", place.path)
        }
        // One that runs all the time, and was stopped, isn't started by its times.
        guard child.runsAtTimesAlone || siblings.isRunning(key) else { return }
        if let missing = siblings.required(by: place).first(where: { !$0.place.siblings.meets($0.place.child.key, $0.condition) }) {
            return logSkip("it \(missing)", place.path)
        }
        do {
            if stopsFirst, siblings.isRunning(key) { try await supervisor.stop(key, isRestarting: true) }
            siblings.recordExit(nil, of: key)
            try await supervisor.attempt(child)
            supervisor.arrange()
        } catch {
            // Supervision has told of it, and goes on as the child's type says.
            logger.debug("a run could not begin", metadata: ["coordinator.path": "\(place.path)", "error": "\(error)"])
        }
    }
}

extension ConfiguredChildren {
    /// The milliseconds until the next runs of the children that have times, by paths.
    var untilNextRuns: [CoordinatorPath: Int64] { scheduler.withLock { $0 }?.untilNext ?? [:] }

    /// Returns the children that have times, those in groups included.
    fileprivate func scheduled(under parent: CoordinatorPath) -> [Place] {
        children.flatMap { child in
            if let group = group(child.key) { return group.scheduled(under: parent.appending(child.key)) }
            return child.schedule == nil ? [] : [Place(siblings: self, child: child, parent: parent)]
        }
    }
}

extension TreeNode {
    /// Adds the time until the next run to each node that has one, and waits for none otherwise.
    func adding(_ untilNext: [CoordinatorPath: Int64]) -> TreeNode {
        if untilNext.isEmpty { return self }
        var tree = self
        if tree.nextStartMilliseconds == nil, let path = CoordinatorPath(path) { tree.nextStartMilliseconds = untilNext[path] }
        tree.children = tree.children.map { $0.adding(untilNext) }
        return tree
    }
}
