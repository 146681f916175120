import ConcurrencySupport
import Coordinators
import DaemonConfiguration
import Supervision

/// The execution of a plan, one supervisor after the other from the root down.
struct Reconfiguration: Sendable {
    /// A change that isn't made.
    struct Failure {
        let text: String
        /// Whether it's still being made: that's no failure yet.
        var goesOn = false
    }

    /// The changes that failed or go on, by path.
    typealias Failures = [String: Failure]

    private let changes: [String: ConfigurationPlan.Change]
    /// The ends of the restarts, by path.
    private let restarts: [String: OneShot<Void>]
    /// The paths of the children that were stopped before anything was changed, because one that they require is restarted.
    fileprivate let stopped = StoppedPaths()

    init(_ plan: ConfigurationPlan) {
        changes = Dictionary(plan.changes.map { ("\($0.kind == .removed ? "-" : "")\($0.path)", $0) }) { first, _ in first }
        let replaced = plan.changes.filter { $0.kind == .changed && $0.replacesProcess }
        restarts = Dictionary(replaced.map { ($0.path, OneShot<Void>()) }) { first, _ in first }
    }

    /// Changes the children of the root, and all below.
    ///
    /// What is restarted is stopped before what it requires, and started again after it, in whatever groups the two are.
    func carryOut(on root: ConfiguredChildren, _ next: [ConfiguredChild], _ supervision: SupervisionPolicy) async -> Failures {
        let failures = await stopBound(root)
        return failures.merging(await carryOut(on: root, next, supervision, under: .root)) { first, _ in first }
    }

    /// Stops the children that are restarted together with something that they require, each before that.
    private func stopBound(_ root: ConfiguredChildren) async -> Failures {
        let bound = restarts.keys.compactMap { CoordinatorPath($0).flatMap { root.place(of: $0) } }.filter { place in
            place.siblings.needs(of: place.child).contains { $0.bindsStops && isReplacedOrRemoved($0.place.path) }
        }
        let places = Dictionary(bound.map { ($0.path.description, $0) }) { first, _ in first }
        var waits: [String: [String]] = [:]
        for place in bound {
            for need in place.siblings.needs(of: place.child) {
                waits[need.place.path.description, default: []].append(place.path.description)
            }
        }
        let failures = FailureList()
        await Self.forEach(Array(places.keys), waitingFor: waits) { path in
            guard let place = places[path], place.siblings.isRunning(place.child.key) else { return }
            stopped.paths.withLock { _ = $0.insert(path) }
            do {
                try await place.siblings.supervisor?.stop(place.child.key, isRestarting: true)
            } catch {
                failures.errors.withLock { $0[path] = Failure(text: (error as? CoordinatorError)?.message ?? "\(error)") }
            }
        }
        return failures.errors.withLock { $0 }
    }

    private func isReplacedOrRemoved(_ path: CoordinatorPath) -> Bool {
        path.withThoseAbove.contains { restarts[$0] != nil || changes["-\($0)"] != nil }
    }

    /// Waits until what a child requires has been restarted, if it's about to be.
    fileprivate func awaitRestarts(for needs: [ConfiguredChildren.Need], of path: CoordinatorPath) async {
        for need in needs where need.bindsStops {
            for other in need.place.path.withThoseAbove where !path.withThoseAbove.contains(other) { await restarts[other]?.value }
        }
    }

    /// Notes that nothing at a path, or below it, is restarted any more.
    fileprivate func endRestarts(within path: CoordinatorPath) {
        for (other, end) in restarts where CoordinatorPath(other)?.isWithin(path) == true { end.settle() }
    }

    /// Changes the children of one supervisor, and those below.
    func carryOut(
        on children: ConfiguredChildren,
        _ next: [ConfiguredChild],
        _ supervision: SupervisionPolicy,
        under parent: CoordinatorPath
    ) async -> Failures {
        guard let supervisor = children.supervisor else {
            // It begins with the new list when it starts.
            children.replaceAll(next, supervision)
            endRestarts(within: parent)
            return [:]
        }
        let level = Level(children, supervisor, parent, self)
        return await level.carryOut(next, supervision)
    }

    fileprivate func change(of key: String, under parent: CoordinatorPath) -> ConfigurationPlan.Change? {
        changes[parent.appending(key).description]
    }

    fileprivate func isRemoved(_ key: String, under parent: CoordinatorPath) -> Bool {
        changes["-\(parent.appending(key))"] != nil
    }

    /// Runs an operation for each key at the same time, but for each key after those that it waits for.
    static func forEach(
        _ keys: [String],
        waitingFor others: [String: [String]],
        _ body: @escaping @Sendable (String) async -> Void
    ) async {
        let ends = Dictionary(keys.map { ($0, OneShot<Void>()) }) { first, _ in first }
        await withDiscardingTaskGroup { group in
            for (key, end) in ends {
                group.addTask {
                    for other in others[key] ?? [] where other != key { await ends[other]?.value }
                    await body(key)
                    end.settle()
                }
            }
        }
    }

    /// Waits for the end of a child's former life, and for a start, as long as the child's own times allow.
    ///
    /// - Parameter isStopping: Whether the former life is ending, for which the child has a time that begins before that of the start.
    fileprivate static func failure(
        of child: ConfiguredChild,
        isStopping: @Sendable () -> Bool,
        _ start: @escaping @Sendable () async -> String?
    ) async -> Failure? {
        let result = OneShot<String?>()
        // A start belongs to the tree, which ends it at the latest when it ends itself.
        Task { result.settle(await start()) }
        var deadline = PatientDeadline(child.startPatience)
        while true {
            let look = min(deadline.next, .now + .milliseconds(500))
            if let error = await result.value(before: look) { return error.map { Failure(text: $0) } }
            if isStopping() { deadline = PatientDeadline(child.startPatience) }
            if deadline.look() { return Failure(text: "it isn't ready yet, and is still being started", goesOn: true) }
        }
    }
}

extension ConfiguredChild {
    /// The time that a start without further attempts takes at most; a time for what isn't the child's own is in it.
    fileprivate var startPatience: Duration {
        var patience = Duration.seconds(10)
        if case .program(let program) = content {
            if program.settings.readiness != .running { patience += program.settings.startTimeout ?? Self.usualStartTimeout }
            patience += program.settings.startSeconds ?? .zero
        } else if case .group(let group) = content {
            let children = group.children.withInstances
            let own = children.map(\.startPatience)
            patience += SiblingDependencies(of: children).isEmpty ? own.max() ?? .zero : own.reduce(.zero, +)
        } else {
            patience += Self.usualStartTimeout
        }
        return patience
    }

    /// That of a runtime's options.
    private static var usualStartTimeout: Duration { CoordinatorRuntime.Options().startTimeout }
}

extension CoordinatorPath {
    /// The path, and those of the groups around it, without the root.
    fileprivate var withThoseAbove: [String] {
        components.indices.map { "/" + components[...$0].joined(separator: "/") }
    }
}

/// The paths of children that were stopped.
private final class StoppedPaths: Sendable {
    let paths = Lock<Set<String>>([])

    func contains(_ path: CoordinatorPath) -> Bool { paths.withLock { $0.contains(path.description) } }
}

/// The errors of changes that are carried out at the same time.
private final class FailureList: Sendable {
    let errors = Lock(Reconfiguration.Failures())
}

/// The changes of one supervisor's children.
private struct Level: Sendable {
    let children: ConfiguredChildren
    let supervisor: any ConfiguredSupervisor
    let parent: CoordinatorPath
    let plan: Reconfiguration
    let failures = FailureList()

    init(_ children: ConfiguredChildren, _ supervisor: any ConfiguredSupervisor, _ parent: CoordinatorPath, _ plan: Reconfiguration) {
        self.children = children
        self.supervisor = supervisor
        self.parent = parent
        self.plan = plan
    }

    func carryOut(_ next: [ConfiguredChild], _ supervision: SupervisionPolicy) async -> Reconfiguration.Failures {
        let former = children.children
        let wasRunning = Set(
            former.map(\.key).filter { key in
                // What has run to its end runs again when it's changed.
                children.isRunning(key) || plan.stopped.contains(parent.appending(key)) || supervisor.state(of: key) == .failed
                    || children.hasCompleted(key)
            }
        )
        await stop(former)
        if children.supervision != supervision {
            recordFailure(parent, Result { try supervisor.adoptPolicy(supervision) }.error)
        }
        children.replace(next, supervision)
        let counts = Dictionary(former.map { ($0.key, $0.instance?.count) }) { first, _ in first }
        let next = next.withInstances
        let recounted = Set(next.filter { counts[$0.key, default: $0.instance?.count] != $0.instance?.count }.map(\.key))
        await change(next, wasRunning, recounted)
        supervisor.arrange()
        return failures.errors.withLock { $0 }
    }

    private func recordFailure(_ path: CoordinatorPath, _ error: String?) {
        recordFailure(path, error.map { Reconfiguration.Failure(text: $0) })
    }

    private func recordFailure(_ path: CoordinatorPath, _ failure: Reconfiguration.Failure?) {
        if let failure { failures.errors.withLock { $0[path.description] = failure } }
    }

    private func failure(of child: ConfiguredChild, _ start: @escaping @Sendable () async -> String?) async -> Reconfiguration.Failure? {
        await Reconfiguration.failure(of: child, isStopping: { supervisor.state(of: child.key) == .stopping }, start)
    }

    // MARK: Stops

    /// Stops what is removed; each child before those that it was started after.
    private func stop(_ former: [ConfiguredChild]) async {
        let dependencies = children.dependencies
        let keys = former.map(\.key).filter { plan.isRemoved($0, under: parent) }
        var waits: [String: [String]] = [:]
        for key in keys {
            for other in dependencies.before(key) { waits[other, default: []].append(key) }
        }
        await Reconfiguration.forEach(keys, waitingFor: waits) { key in
            do {
                children.cancelStart(of: key)
                if supervisor.state(of: key) != nil { try await supervisor.remove(key) }
            } catch {
                recordFailure(parent.appending(key), Self.text(error))
            }
        }
    }

    // MARK: Changes and starts

    /// - Parameter recounted: The instances that have more or fewer siblings now: their next lives are told of it.
    private func change(_ next: [ConfiguredChild], _ wasRunning: Set<String>, _ recounted: Set<String>) async {
        let dependencies = children.dependencies
        let involved = next.filter { child in
            if case .group = child.content { return true }
            return plan.change(of: child.key, under: parent) != nil || recounted.contains(child.key)
        }
        var starts: [String: FirstStart] = [:]
        for child in involved where mustStart(child.key) {
            children.cancelStart(of: child.key)
            starts[child.key] = children.beginStart(of: child.key)
        }
        let byKey = Dictionary(involved.map { ($0.key, $0) }) { first, _ in first }
        let waits = byKey.mapValues { dependencies.before($0.key) }
        await Reconfiguration.forEach(involved.map(\.key), waitingFor: waits) { [starts] key in
            guard let child = byKey[key] else { return }
            defer { plan.endRestarts(within: parent.appending(key)) }
            await plan.awaitRestarts(for: children.needs(of: child), of: parent.appending(key))
            await follow(child, starts[key], wasRunning: wasRunning.contains(key), isRecounted: recounted.contains(key))
        }
    }

    /// Whether a changed child's first start is still to come.
    private func mustStart(_ key: String) -> Bool {
        guard let change = plan.change(of: key, under: parent) else { return false }
        if change.effect == .start { return !children.isRunning(key) }
        return change.kind != .added && (children.isWaiting(key) || children.isHeld(key))
    }

    private func follow(_ child: ConfiguredChild, _ start: FirstStart?, wasRunning: Bool, isRecounted: Bool) async {
        let path = parent.appending(child.key)
        let change = plan.change(of: child.key, under: parent)
        if let start {
            if case .group(let group) = child.content { children.group(child.key)?.replaceAll(group.children, group.supervision) }
            recordFailure(path, await failure(of: child) { await self.start(child, start) })
            return await startHeld(without: child.key)
        }
        // A group that goes on follows with its own children; one that is restarted begins with the new ones.
        if case .group(let group) = child.content, let children = children.group(child.key) {
            if change?.replacesProcess == true {
                children.replaceAll(group.children, group.supervision)
            } else if change?.kind != .added {
                let failures = await plan.carryOut(on: children, group.children, group.supervision, under: path)
                self.failures.errors.withLock { $0.merge(failures) { first, _ in first } }
            }
        }
        // What supervision doesn't know, such as a temporary child that has ended, takes the change with its next start.
        // After an upgrade, that may be one that had run to its end before: it runs again.
        let runsAgain = child.isOneshot && wasRunning && change?.replacesProcess == true
        guard runsAgain || supervisor.state(of: child.key) != nil else { return }
        let effect: ConfigurationPlan.Change.Effect = if let change { change.effect } else if isRecounted { .takeOver } else { .none }
        switch effect {
        case .stop, .none, .placed, .scheduled, .nextDaemon: break
        case .start, .takeOver, .restart:
            let ifPresent: IfPresent = wasRunning && change?.replacesProcess == true ? .restart : .change
            recordFailure(path, await failure(of: child) { await error { try await supervisor.attempt(child, ifPresent: ifPresent) } })
            await startHeld(without: child.key)
        }
    }

    /// Starts what a child has held up, if the change lets it go on.
    private func startHeld(without key: String) async {
        guard let child = children.child(key) else { return }
        recordFailure(parent.appending(key), await failure(of: child) { await error { try await children.startHeld(without: key) } })
    }

    private func start(_ child: ConfiguredChild, _ start: FirstStart) async -> String? {
        // Should it go on being held, an operator's start goes by what supervision knows.
        if supervisor.state(of: child.key) != nil { try? await supervisor.attempt(child, ifPresent: .change) }
        await supervisor.start(child, start)
        if await start.concluded.value { return nil }
        return children.lastExit(of: child.key) ?? "it was stopped before it was started"
    }

    private func error(_ body: () async throws -> Void) async -> String? {
        do {
            try await body()
            return nil
        } catch {
            return Self.text(error)
        }
    }

    private static func text(_ error: any Error) -> String { (error as? CoordinatorError)?.message ?? "\(error)" }
}

extension Result {
    fileprivate var error: String? {
        if case .failure(let error) = self { "\(error)" } else { nil }
    }
}
