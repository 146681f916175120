import ConcurrencySupport
import Coordinators
import DaemonConfiguration
import Logging
import Supervision

/// A coordinator whose children are those of the configuration file: the root, or a group.
protocol ConfiguredSupervisor: Coordinator where Configuration == ConfiguredChildren, ChildKey == String {
    nonisolated var children: ConfiguredChildren { get }
    /// The first starts that are still to be requested.
    var starts: [(child: ConfiguredChild, start: FirstStart)] { get set }
}

extension ConfiguredSupervisor {
    /// The row that notes the ends of children.
    static var noteRow: Responder<Self> {
        .lifecycle { me, child, change in await me.recordChange(change, of: child.path.key) }
    }

    /// Returns the state of a child; nil when supervision doesn't know it.
    nonisolated func state(of key: String) -> CoordinatorState? { context.child(key)?.state }

    /// Whether a former daemon has left the program of a child.
    nonisolated func goesOn(_ key: String) -> Bool { context.hasProgramOfFormer(key) }

    /// Begins the life: from the time when the supervisor is ready, the first starts of its children can be waited for.
    func beginChildren() throws {
        try adoptPolicy(children.supervision)
        starts = children.startFirst(self)
    }

    /// Starts the children in the file's order, without waiting for one before the next unless it says so, and goes on until the end.
    ///
    /// A child that can't start is retried.
    func runChildren() async {
        let starts = starts.map { child, start in
            // An immediate task requests its start before the next is made, so that the order of the starts, and of the stops in
            // reverse, is the file's. Each ends with the tree at the latest and isn't cancelled.
            Task.immediate { await self.start(child, start) }
        }
        // The end of the hook is no end of the supervisor, which drains or is cancelled then.
        _ = try? await context.cancelWhenDraining { await self.attend(starts) }
    }

    private nonisolated func attend(_ starts: [Task<Void, Never>]) async {
        await withTaskCancellationHandler {
            await children.waitForRequests()
            children.areRequested.settle()
            for start in starts { await start.value }
            let (forever, _) = AsyncStream<Never>.makeStream()
            for await _ in forever {}
        } onCancel: {
            children.endStarts()
        }
    }

    /// Starts a child when others let it.
    func start(_ child: ConfiguredChild, _ start: FirstStart) async {
        // What lives on has had what it waits for, and isn't left without a parent for it.
        if !child.after.isEmpty || !child.requires.isEmpty, !context.hasFormerLife(of: child.key) {
            // A stop ends the wait, which others may never end.
            Task { [children] in start.missing.settle(await children.wait(forNeedsOf: child)) }
            let missing = await start.missing.value
            guard start.takeTurn() else { return }
            if let missing { return hold(child, without: missing, start) }
        } else {
            guard start.takeTurn() else { return }
        }
        // The child may have been changed while it waited.
        let child = children.child(child.key) ?? child
        // Requested when the task has been made.
        let begun = Task.immediate { await self.attemptFirst(child) }
        start.requested.settle()
        arrange()
        let isReady = await begun.value
        start.concluded.settle(isReady)
        if !isReady { children.group(child.key)?.hasBegun.settle() }
    }

    private func hold(_ child: ConfiguredChild, without missing: ConfiguredChildren.Need, _ start: FirstStart) {
        let path = context.path.appending(child.key)
        children.hold(child.key)
        children.recordExit("not started: it \(missing.description)", of: child.key)
        context.logger.error(
            "a child isn't started, because one that it requires doesn't run, or hasn't completed",
            metadata: ["coordinator.path": "\(path)", "requires": "\(missing.place.path)"]
        )
        start.requested.settle()
        start.concluded.settle(false)
    }

    /// Takes over another policy of supervision.
    nonisolated func adoptPolicy(_ supervision: SupervisionPolicy) throws {
        var policy = supervision
        // A program isn't given up unless the file has an intensity.
        policy.limitsFailures = policy.limitsFailures ?? false
        try context.supervise(by: policy)
        context.isolateFailures(supervision.strategy == .oneForOne)
    }

    /// Stops a child, and forgets it: it's replaced, or the file doesn't list it any more.
    nonisolated func remove(_ key: String) async throws {
        children.change(key) { ($0.isStopWanted, $0.isRestarting) = (true, true) }
        try await context.remove(key)
    }

    /// Stops a child, which keeps its place.
    ///
    /// - Parameter isRestarting: Whether it's started again afterwards.
    nonisolated func stop(_ key: String, isRestarting: Bool = false) async throws {
        children.change(key) { ($0.isStopWanted, $0.isRestarting) = (true, isRestarting) }
        try await context.stop(key)
    }

    /// Puts the children into start order, which differs from that of their starts when some had to wait or were added later; at the end,
    /// those without an order end together.
    nonisolated func arrange() {
        let dependencies = children.dependencies
        context.arrange(dependencies.startOrder, stoppingBefore: dependencies.stoppedAfter)
    }

    /// - Returns: Whether the child became ready.
    private func attemptFirst(_ child: ConfiguredChild) async -> Bool {
        do {
            try await attempt(child)
            return true
        } catch {
            // Supervision has logged the failure of a life already.
            let isRefusal = [.invalidKey, .invalidSpecification, .keyInUse].contains((error as? CoordinatorError)?.code)
            context.logger.log(
                level: isRefusal ? .error : .debug,
                "a child could not be started",
                metadata: ["child.key": "\(child.key)", "error": "\(error)"]
            )
            return false
        }
    }

    /// Starts a child, or changes the one that lives, and notes a failure for operators.
    func attempt(_ child: ConfiguredChild, ifPresent: IfPresent = .join) async throws {
        let former = context.child(child.key)?.incarnation
        do {
            if ifPresent != .change { children.change(child.key) { ($0.isStopWanted, $0.hasCompleted) = (false, false) } }
            try await startChild(child, ifPresent)
            if ifPresent != .change { hasBegun(child) }
            // A group is ready when its children are.
            if ifPresent != .change { await children.group(child.key)?.waitForStarts() }
        } catch let error as CoordinatorError {
            // The caller gets the failure. An event may report the end of the life too, before or after: in the same words.
            let end = context.child(child.key)?.incarnation == former ? nil : context.lastExit(of: child.key)
            children.recordExit(end.map { "\($0)" } ?? error.message, end.map { ExitNumbers($0) } ?? ExitNumbers(), of: child.key)
            throw error
        }
    }

    private func startChild(_ child: ConfiguredChild, _ ifPresent: IfPresent) async throws {
        switch child.content {
        case .worker(let worker):
            try await context.start(
                worker: worker.coordinator,
                as: child.key,
                executable: worker.executable,
                environment: worker.environment.merging(child.instance?.variables ?? [:]) { own, _ in own },
                directory: worker.directory,
                environmentFiles: worker.process.environmentFiles,
                inheritsEnvironment: worker.process.inheritsEnvironment,
                attributes: worker.process.attributes,
                hang: worker.hang == .restart ? .restart : .report,
                spares: worker.spares,
                recycling: Recycling(worker.process.recycling),
                memoryLimit: worker.memoryLimit,
                overlaps: child.overlap,
                configuration: worker.configuration ?? [:],
                restart: child.restart,
                shutdown: child.shutdown,
                restartLimits: child.restartLimits,
                retriesFirstStart: true,
                ifPresent: ifPresent,
                fence: children.fence(of: child.key)
            )
        case .program(let program):
            try await context.start(
                program: ProgramSpecification(program, instance: child.instance, fence: children.fence(of: child.key)),
                as: child.key,
                restart: child.isOneshot ? .transient : child.restart,
                shutdown: child.shutdown,
                restartLimits: RestartLimits(child.effectiveLimits, of: program),
                retriesFirstStart: true,
                ifPresent: ifPresent
            )
        case .group:
            guard let group = children.group(child.key) else { return }
            try await context.start(
                local: GroupCoordinator.self,
                as: child.key,
                restart: child.restart,
                shutdown: child.shutdown,
                restartLimits: child.restartLimits,
                ifPresent: ifPresent,
                with: group
            )
        }
    }

    private func recordChange(_ change: LifecycleChange, of key: String) async {
        defer { children.root.standObserver.withLock { $0 }?(context.path.appending(key), change) }
        switch change {
        case .started, .restarted:
            children.recordExit(nil, of: key)
            children.change(key) { ($0.isStopWanted, $0.isRestarting) = (false, false) }
            if let child = children.child(key) { hasBegun(child) }
        case .stopped(let reason), .crashed(let reason), .startFailed(let reason):
            children.recordExit("\(reason)", ExitNumbers(reason), of: key)
            children.renewHealth(of: key)
            if case .startFailed = change { children.change(key) { $0.hasCompleted = false } }
            if !children.isRunning(key) { hasEnded(key, reason, isFailure: !reason.isNormal) }
        case .gaveUp(let reason):
            children.recordExit("\(reason)", ExitNumbers(reason), of: key)
            children.change(key) { $0.hasCompleted = false }
            hasEnded(key, reason, isFailure: true, isGivenUp: true)
            await stopRequiring(key)
            children.failureObserver.withLock { $0 }?(key)
        case .paused, .resumed: break
        }
    }

    /// Notes that a child is ready, and one that runs once has ended as it should.
    private func hasBegun(_ child: ConfiguredChild) {
        if child.isOneshot { children.change(child.key) { $0.hasCompleted = true } }
        guard child.possibleConditions.contains(.healthy) else { return }
        // Ends with the child's life at the latest.
        Task { [children, context] in
            if await context.firstHealth(of: child.key) { children.noteHealth(of: child.key) }
        }
    }

    /// Draws the conclusions from the end of a child that isn't restarted.
    private func hasEnded(_ key: String, _ reason: ExitReason, isFailure: Bool, isGivenUp: Bool = false) {
        children.endHealth(of: key)
        guard let child = children.child(key), child.onExit == .endDaemon || isFailure && child.onFailure == .endDaemon else { return }
        // A request isn't an end by itself, and neither is that of the supervisor; a child that is given up may be its cause.
        guard isGivenUp || reason != .shutdown && !context.endsChildren, children.change(key, { !$0.isStopWanted }) == true else { return }
        children.root.endObserver.withLock { $0 }?(context.path.appending(key), reason)
    }

    /// Stops the children that require one that has been given up, each after those that require it.
    private func stopRequiring(_ key: String) async {
        guard let child = children.child(key) else { return }
        let place = ConfiguredChildren.Place(siblings: children, child: child, parent: context.path)
        for other in children.requiring(place, isStop: true) where other.siblings.isRunning(other.child.key) {
            other.siblings.hold(other.child.key)
            context.logger.error(
                "a child is stopped, because one that it requires was given up",
                metadata: ["coordinator.path": "\(other.path)", "requires": "\(place.path)"]
            )
            try? await other.siblings.supervisor?.stop(other.child.key)
        }
    }
}

extension ConfiguredChildren.Need: CustomStringConvertible {
    var description: String {
        switch condition {
        case .ready: "requires \(place.path), which doesn't run"
        case .healthy: "requires \(place.path), which isn't healthy"
        case .completed: "waits for \(place.path), which hasn't completed"
        }
    }
}

extension ConfiguredChild {
    /// The child's limits of restarts; a program that runs once, and isn't tried again, has none.
    fileprivate var effectiveLimits: RestartLimits? {
        guard isOneshot, restart == .temporary else { return restartLimits }
        var limits = restartLimits ?? RestartLimits()
        limits.intensity = .restarts(0)
        return limits
    }
}
