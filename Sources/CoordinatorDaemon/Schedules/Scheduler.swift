import ConcurrencySupport
import Control
import Coordinators
import DaemonConfiguration
import Logging
import Processes

/// Starts the children of the file that have times, at their times.
///
/// A ``ScheduleMachine`` decides for each child. A ``ScheduleFile`` tells the next daemon which times have passed while none
/// ran, and which runs wait.
final class Scheduler: Sendable {
    private struct Entry {
        var machine: ScheduleMachine
        /// Whether a start is under way, so that the child counts as running before its supervisor knows it.
        var isStarting = false
        /// Whether no look was taken at what a former daemon has left: times that have passed, or a run that waits.
        var isInherited = false
        /// Whether no look was taken at times that have passed while no daemon ran.
        var beginsInPast = false
    }

    /// A time zone, whose rules may be renewed while a daemon runs.
    private struct Zone {
        /// The rules; nil: they couldn't be read yet, and UTC is taken instead.
        var rules: ZoneRules?
        var hasFailed = false
        /// The time of the latest try to read them, in seconds since 1970; nil: they are to be read at once.
        var tried: Int64?
        /// Whether a try is under way.
        var isBeingRead = true

        /// The time of the next try.
        func due(_ source: ZoneSource) -> Int64 { tried.map { $0 + (hasFailed ? source.pause : source.interval) } ?? .min }

        /// Whether it's time for the next try; a clock that was set back doesn't delay it.
        func isDue(at time: Int64, _ source: ZoneSource) -> Bool {
            !isBeingRead && (time >= due(source) || tried.map { time < $0 } ?? true)
        }
    }

    private struct State {
        var entries: [CoordinatorPath: Entry] = [:]
        /// The zones by their names; nil: the machine's own.
        var zones: [String?: Zone] = [:]
        var wake = OneShot<Void>()

        func rules(of settings: ScheduleSettings) -> ZoneRules { zones[settings.timeZone]?.rules ?? .utc }
    }

    /// How the rules of time zones are read, and how often.
    struct ZoneSource: Sendable {
        /// Reads a zone; may block.
        var load: @Sendable (_ name: String?) throws(ZoneRules.Problem) -> ZoneRules = { name throws(ZoneRules.Problem) in
            try ZoneRules.load(name)
        }
        /// The seconds from one reading to the next.
        var interval: Int64 = 3600
        /// The seconds from a failure to the next try.
        var pause: Int64 = 30
    }

    /// What a scheduler leaves to the one after an upgrade, by the paths of children.
    struct Legacy: Sendable {
        /// The times up to which all has been dealt with.
        var times: [String: Int64] = [:]
        /// The children of which a run waits for the end of the former one.
        var queued: Set<String> = []
    }

    private let children: ConfiguredChildren
    private let events: EventLog
    private let logger: Logger
    private let file: ScheduleFile
    private let zoneSource: ZoneSource
    private let now: @Sendable () -> Int64
    private let tasks = OwnedTasks()
    private let state: Lock<State>
    private let trouble: Trouble<String>

    init(
        _ children: ConfiguredChildren,
        _ events: EventLog,
        _ logger: Logger,
        file: ScheduleFile,
        zones: ZoneSource = ZoneSource(),
        now: @escaping @Sendable () -> Int64 = { WallTimers.now }
    ) {
        (self.children, self.events, self.logger, self.file) = (children, events, logger, file)
        (zoneSource, self.now) = (zones, now)
        state = Lock(State())
        trouble = Trouble { change in
            switch change {
            case .began(let message):
                logger.error("the next daemon won't know which times it has missed", metadata: ["error": "\(message)"])
            case .ended: logger.notice("the times that have been dealt with are noted again")
            }
        }
    }

    /// What the daemon before an upgrade has left, of children that this one hasn't looked at.
    private let former = Lock(Legacy())

    /// What a daemon that has ended has noted, by paths, of children that this one hasn't looked at.
    private let noted = Lock<[String: ScheduleFile.Entry]>([:])

    /// Begins where the daemon before an upgrade has ended.
    func goOn(after former: Legacy) { self.former.withLock { $0 = former } }

    /// What the daemon after an upgrade goes on with.
    var legacy: Legacy {
        state.withLock { state in
            var legacy = Legacy()
            for (path, entry) in state.entries {
                legacy.times[path.description] = entry.machine.done
                if entry.machine.isQueued { legacy.queued.insert(path.description) }
            }
            return legacy
        }
    }

    /// Has the changes of a configuration take effect, and zones be read again.
    func configurationChanged() {
        let wake = state.withLock { state in
            for name in state.zones.keys { state.zones[name]?.tried = nil }
            return state.wake
        }
        wake.settle()
    }

    /// Starts children at their times until the task is cancelled.
    func run() async {
        await readFile()
        // With the daemon its runs end, which isn't what a queued run waits for.
        while !Task.isCancelled {
            let wake = OneShot<Void>()
            state.withLock { $0.wake = wake }
            // Taken before the look: what happens during it is looked at in the next round.
            let event = events.page(after: .max).more
            let (next, isAnyQueued) = await look()
            renewZones()
            let timer = [next, nextRenewal].compactMap(\.self).min().map { WallTimers.schedule(at: $0) { wake.settle() } }
            // The end of a run is an event too.
            if isAnyQueued, let event {
                tasks.add {
                    _ = await event.valueUnlessCancelled()
                    wake.settle()
                }
            }
            let isOver = await wake.valueUnlessCancelled() == nil
            timer?.cancel()
            if isOver { break }
        }
        await tasks.end()
    }

    /// Returns the milliseconds until the next time of each child that has some.
    var untilNext: [CoordinatorPath: Int64] {
        let now = now()
        return state.withLock { state in
            state.entries.compactMapValues { entry in
                entry.machine.next(in: state.rules(of: entry.machine.settings)).map { max(0, $0 - now) * 1000 }
            }
        }
    }

    /// Looks at the clock for each child.
    ///
    /// - Returns: The next time of all, and whether any run waits for the end of another.
    private func look() async -> (next: Int64?, isAnyQueued: Bool) {
        let places = children.scheduled(under: .root)
        let (paths, zones) = (Set(places.map(\.path)), Set(places.map { $0.child.schedule?.timeZone }))
        let time = now()
        let (unknown, unread) = state.withLock { state in
            state.entries = state.entries.filter { paths.contains($0.key) }
            state.zones = state.zones.filter { zones.contains($0.key) }
            let unread = zones.filter { state.zones[$0] == nil }
            for name in unread { state.zones[name] = Zone(tried: time) }
            return (places.filter { $0.child.schedule != state.entries[$0.path]?.machine.settings }, unread)
        }
        for name in unread { await readZone(name) }
        for place in unknown {
            guard let settings = place.child.schedule else { continue }
            let path = place.path.description
            let (done, wasQueued) = former.withLock { ($0.times.removeValue(forKey: path), $0.queued.remove(path) != nil) }
            let noted = noted.withLock { $0.removeValue(forKey: path) }
            // What a cluster places may have run on another node meanwhile.
            let isPlaced = place.path.components.first.flatMap { children.child(String($0)) }?.placement != nil
            // A clock that was set back is the machine's matter, as while a daemon runs; one that far ahead was wrong, or the file is.
            let left = done == nil && noted?.times == settings.noted && !isPlaced ? noted : nil
            let leftTime = left.map { $0.done > now() + ScheduleMachine.longestRepeat ? now() : $0.done }
            let from = done ?? leftTime ?? now()
            state.withLock { state in
                // Another time changes nothing about a run that waits, or is being started.
                let present = state.entries[place.path]
                let isQueued = present?.machine.isQueued ?? (wasQueued || left?.isQueued == true)
                var entry = Entry(machine: ScheduleMachine(settings, from: from, isQueued: isQueued))
                entry.isStarting = present?.isStarting ?? false
                entry.isInherited = present?.isInherited ?? (left != nil || wasQueued && !isPlaced)
                entry.beginsInPast = left != nil
                state.entries[place.path] = entry
            }
        }
        var (next, isAnyQueued, hasChanged) = (Int64?.none, false, !unknown.isEmpty)
        var toCarryOut: [(ScheduleMachine.Action, ConfiguredChildren.Place, isPast: Bool)] = []
        for place in places {
            let look = look(at: place)
            toCarryOut += look.actions.map { ($0, place, isPast: look.isPast) }
            if let due = look.due { next = min(next ?? due, due) }
            isAnyQueued = isAnyQueued || look.isQueued
            hasChanged = hasChanged || look.hasChangedQueue
        }
        // Before a run begins, so that a crash of the daemon doesn't repeat it.
        if hasChanged || !toCarryOut.isEmpty { await writeFile() }
        for (action, place, isPast) in toCarryOut { carryOut(action, place, isPast: isPast) }
        return (next, isAnyQueued)
    }

    /// What a look at one child has led to.
    private struct Look {
        var actions: [ScheduleMachine.Action] = []
        /// The next time.
        var due: Int64?
        /// Whether a run waits for an event.
        var isQueued = false
        /// Whether one has begun or ceased to wait.
        var hasChangedQueue = false
        var isPast = false
    }

    private func look(at place: ConfiguredChildren.Place) -> Look {
        let (time, key) = (now(), place.child.key)
        return state.withLock { state in
            var look = Look()
            guard var entry = state.entries[place.path] else { return look }
            let supervisor = place.siblings.supervisor
            guard !entry.isInherited || supervisor != nil else {
                // The daemon has just begun, and will say when its group has.
                look.isQueued = true
                return look
            }
            look.isPast = entry.beginsInPast
            (entry.isInherited, entry.beginsInPast) = (false, false)
            let (rules, wasQueued) = (state.rules(of: entry.machine.settings), entry.machine.isQueued)
            // What a former daemon has left goes on, though its supervisor may not have taken it over yet.
            let goesOn = entry.machine.settings.overlap == .queue && supervisor?.goesOn(key) == true
            let isRunning = entry.isStarting || goesOn || place.siblings.isRunning(key)
            look.actions = entry.machine.look(at: time, isRunning: isRunning, in: rules)
            look.due = entry.machine.next(in: rules)
            look.hasChangedQueue = entry.machine.isQueued != wasQueued
            if supervisor == nil {
                // A group of the cluster may be another node's.
                look.actions = []
            } else {
                look.isQueued = entry.machine.isQueued
                if look.actions.contains(.start) || look.actions.contains(.restart) { entry.isStarting = true }
            }
            state.entries[place.path] = entry
            return look
        }
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
                    let (machine, settings) = (entry.machine, entry.machine.settings)
                    return (
                        path.description, ScheduleFile.Entry(done: machine.done, times: settings.noted, isQueued: machine.isQueued)
                    )
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

    /// Begins to read the zones again whose time has come, beside the looks: a file system that hangs holds up no run.
    private func renewZones() {
        let time = now()
        let due = state.withLock { state in
            let due = state.zones.filter { $0.value.isDue(at: time, zoneSource) }.map(\.key)
            for name in due {
                state.zones[name]?.tried = time
                state.zones[name]?.isBeingRead = true
            }
            return due
        }
        for name in due {
            tasks.add { [self] in
                await readZone(name)
                // The next times may be others, and the next reading has a time.
                state.withLock { $0.wake }.settle()
            }
        }
    }

    /// The time at which a zone is read again.
    private var nextRenewal: Int64? {
        state.withLock { state in state.zones.values.filter { !$0.isBeingRead }.map { $0.due(zoneSource) }.min() }
    }

    /// Reads a zone, which keeps its former rules when that fails.
    private func readZone(_ name: String?) async {
        let text = name ?? "of the machine"
        do {
            let rules: ZoneRules = try await BlockingCalls.shared.run("time zone \(text)", action: "read the time zone \(text)") {
                [zoneSource] () throws(ProcessError) in
                do throws(ZoneRules.Problem) {
                    return try zoneSource.load(name)
                } catch {
                    throw ProcessError(code: .invalidSpecification, errno: 0, message: error.description)
                }
            }
            let hadFailed = state.withLock { state in
                guard var zone = state.zones[name] else { return false }
                let hadFailed = zone.hasFailed
                (zone.rules, zone.hasFailed, zone.isBeingRead) = (rules, false, false)
                state.zones[name] = zone
                return hadFailed
            }
            if hadFailed { logger.notice("a time zone can be read again", metadata: ["time_zone": "\(text)"]) }
        } catch {
            if Task.isCancelled { return }
            let former = state.withLock { state in
                let zone = state.zones[name]
                state.zones[name]?.hasFailed = true
                state.zones[name]?.isBeingRead = false
                return zone
            }
            guard let former, !former.hasFailed else { return }
            let message: Logger.Message =
                former.rules == nil
                ? "a time zone can't be read, and UTC is taken instead" : "a time zone can't be read again, and its former rules hold"
            logger.error(message, metadata: ["time_zone": "\(text)", "error": "\(error.message)"])
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
