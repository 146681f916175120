import ConcurrencySupport
public import Processes
import Supervision
public import WireProtocol

extension CoordinatorContext {
    /// Starts a child, and returns when it's ready in its own process.
    ///
    /// If a child of the same type lives under the key with the same configuration, it's returned as it is; a hundred concurrent starts of
    /// one key make one child. Configurations are compared as JSON with sorted keys. To change that of a living child, see
    /// ``Child/reconfigure(timeout:_:)``.
    ///
    ///     try await context.start(CartCoordinator.self, as: .cart, in: .worker) { $0.currency = "EUR" }
    ///
    /// - Parameters:
    ///   - type: The type of the child.
    ///   - key: The child's key.
    ///   - placement: The process in which the child runs; by default this coordinator's.
    ///   - restart: The rule for when the child is restarted; `permanent` by default.
    ///   - isSignificant: Whether the child's end by itself may end this coordinator too: see `SupervisionPolicy.autoShutdown`. Such a
    ///     child must be transient or temporary.
    ///   - shutdown: The time that the child is given to end; five seconds by default.
    ///   - restartLimits: The limits on the child's restarts where they differ from this coordinator's policy.
    ///   - configure: A function that sets the configuration before the child starts; the configuration is kept for every restart.
    /// - Throws: The error that the child's `start` threw; `keyInUse`, `configurationDiffers`, `invalidKey`, `unknownType`, `startTimedOut`, `spawnFailed`,
    ///   `stopped`. The child is then removed. Cancelling the waiting task removes the child, unless another task waits for it too.
    @discardableResult
    public func start<K: Coordinator>(
        _ type: K.Type = K.self,
        as key: C.ChildKey,
        in placement: Placement = .inProcess,
        restart: RestartType = .permanent,
        significant isSignificant: Bool = false,
        shutdown: Shutdown = .timeout(.seconds(5)),
        restartLimits: RestartLimits? = nil,
        configure: (inout K.Configuration) throws -> Void = { _ in }
    ) async throws -> Child<K> where K.Configuration: CoordinatorConfiguration {
        var configuration = K.Configuration()
        try configure(&configuration)
        return try await start(
            type,
            as: key,
            in: placement,
            restart: restart,
            significant: isSignificant,
            shutdown: shutdown,
            restartLimits: restartLimits,
            with: configuration
        )
    }

    /// Starts a child whose configuration has fields without defaults.
    @discardableResult
    public func start<K: Coordinator>(
        _ type: K.Type = K.self,
        as key: C.ChildKey,
        in placement: Placement = .inProcess,
        restart: RestartType = .permanent,
        significant isSignificant: Bool = false,
        shutdown: Shutdown = .timeout(.seconds(5)),
        restartLimits: RestartLimits? = nil,
        with configuration: K.Configuration
    ) async throws -> Child<K> {
        let (children, key) = (cell.children, key.description)
        let pending = try request(key, kind(type, placement, configuration), restart, isSignificant, shutdown, restartLimits)
        if let pending { try await children.wait(for: pending, of: key) }
        return Child(supervisor: children, key: key)
    }

    /// Requests the start of a child; see ``ChildSupervisor/wait(for:of:)`` for why it's never inlined.
    @inline(never)
    private func request(
        _ key: String,
        _ kind: ChildDefinition.Kind,
        _ restart: RestartType,
        _ isSignificant: Bool,
        _ shutdown: Shutdown,
        _ restartLimits: RestartLimits?
    ) throws -> ChildSlot.Start? {
        let specification = ChildSpecification(
            id: key,
            restart: restart,
            shutdown: shutdown,
            isSignificant: isSignificant,
            restartLimits: restartLimits
        )
        return try cell.children.requestStart(ChildDefinition(specification, kind))
    }

    /// Runs a child to its end: start → finish → removed → output.
    ///
    ///     let order = try await context.run(Checkout.self, as: .checkout) { $0.items = items }
    ///
    /// The child is `transient`: it's restarted when it fails, and removed when it finishes.
    ///
    /// Cancelling the waiting task stops the child that the call has started, and the call returns when nothing is left of it. If other calls
    /// wait for the child too, it goes on, and only the cancelled call ends.
    ///
    /// - Parameters:
    ///   - type: The type of the child.
    ///   - key: The child's key.
    ///   - placement: The process in which the child runs; by default this coordinator's.
    ///   - ifRunning: What to do when a child lives under the key already; by default the call throws `keyInUse`. No call gets the output
    ///     of a child that it hasn't started, unless it says `.join`.
    ///   - shutdown: The time that the child is given to end; five seconds by default.
    ///   - configure: A function that sets the configuration before the child starts.
    /// - Throws: An error when the child ends for good without finishing: `dismissed`, `stopped`, or the error that its last `start` threw.
    ///   `keyInUse`, `configurationDiffers`, and what else `start` throws; `CancellationError`.
    public func run<K: Coordinator>(
        _ type: K.Type = K.self,
        as key: C.ChildKey,
        in placement: Placement = .inProcess,
        ifRunning: IfRunning = .fail,
        shutdown: Shutdown = .timeout(.seconds(5)),
        configure: (inout K.Configuration) throws -> Void = { _ in }
    ) async throws -> K.Output where K.Configuration: CoordinatorConfiguration {
        var configuration = K.Configuration()
        try configure(&configuration)
        return try await run(type, as: key, in: placement, ifRunning: ifRunning, shutdown: shutdown, with: configuration)
    }

    /// Runs a child to its end whose configuration has fields without defaults.
    public func run<K: Coordinator>(
        _ type: K.Type = K.self,
        as key: C.ChildKey,
        in placement: Placement = .inProcess,
        ifRunning: IfRunning = .fail,
        shutdown: Shutdown = .timeout(.seconds(5)),
        with configuration: K.Configuration
    ) async throws -> K.Output {
        let specification = ChildSpecification(id: key.description, restart: .transient, shutdown: shutdown)
        let definition = ChildDefinition(specification, kind(type, placement, configuration))
        return try await cell.children.run(definition, ifRunning: ifRunning).decoded(as: K.Output.self)
    }

    /// Starts a coordinator by its type's name, in a worker whose program may be another one, as a configuration file can.
    ///
    /// - Parameters:
    ///   - typeName: The name of the coordinator's type.
    ///   - key: The child's key.
    ///   - executable: The executable that the worker runs; `nil`: that of this process.
    ///   - arguments: The executable's arguments.
    ///   - environment: Variables that are added to this process's.
    ///   - directory: The working directory; `nil`: this process's.
    ///   - environmentFiles: The files of variables that are read at each start, below `environment`; see ``ProgramSpecification``.
    ///   - inheritsEnvironment: Whether the worker gets this process's variables too.
    ///   - attributes: The priority, the limits and the user of the worker's process. Only root may choose another user; the
    ///     sockets of what the worker starts itself are then in a directory of its own.
    ///   - hang: The response to an executor of the worker that runs nothing any more; it's reported by default.
    ///   - spares: The number of processes that are kept started and waiting for a life; none by default.
    ///   - recycling: The rules for replacing the process by a fresh one without a failure; none by default.
    ///   - memoryLimit: The bytes of memory (resident set) above which the process is killed; unlimited by default. See
    ///     ``Placement/worker(spares:recycling:memoryLimit:dataLimit:hang:overlaps:)``.
    ///   - overlaps: Whether a replacement starts the next life before the present one ends; see
    ///     ``Placement/worker(spares:recycling:memoryLimit:dataLimit:hang:overlaps:)``.
    ///   - configuration: The fields that differ from the type's defaults.
    ///   - restart: The rule for when the child is restarted; `permanent` by default.
    ///   - shutdown: The time that the child is given to end; five seconds by default.
    ///   - restartLimits: The limits on the child's restarts where they differ from this coordinator's policy.
    ///   - retriesFirstStart: Whether a first start that fails is retried as the policy says, instead of ending the child. The call then
    ///     returns when the child is ready, or throws when it's given up.
    ///   - ifPresent: The way in which a child is treated that has the key already; by default it's joined.
    ///   - fence: The epoch under which a node of a cluster owns the subtree, which its coordinators get as ``fence``. Such a worker dies with
    ///     this process, whatever ``CoordinatorRuntime/Options/orphanGrace`` is. `nil`: the subtree isn't a cluster's.
    @discardableResult
    public func start(
        worker typeName: String,
        as key: C.ChildKey,
        executable: String? = nil,
        arguments: [String] = [],
        environment: [String: String] = [:],
        directory: String? = nil,
        environmentFiles: [String] = [],
        inheritsEnvironment: Bool = true,
        attributes: ProcessAttributes = ProcessAttributes(),
        hang: HangResponse = .report,
        spares: Int = 0,
        recycling: Recycling = Recycling(),
        memoryLimit: Int? = nil,
        overlaps: Bool = false,
        configuration: JSONValue = [:],
        restart: RestartType = .permanent,
        shutdown: Shutdown = .timeout(.seconds(5)),
        restartLimits: RestartLimits? = nil,
        retriesFirstStart: Bool = false,
        ifPresent: IfPresent = .join,
        fence: UInt64? = nil
    ) async throws -> AnyChild {
        let program = WorkerProgram(
            executable: executable,
            arguments: arguments,
            environment: environment,
            directory: directory,
            environmentFiles: environmentFiles,
            inheritsEnvironment: inheritsEnvironment,
            attributes: attributes,
            fence: fence
        )
        var plan = WorkerPlan(spares: max(spares, 0), recycling: recycling, hang: hang, overlaps: overlaps)
        plan.memoryLimit = memoryLimit
        let place: CoordinatorDefinition.Place =
            cell.runtime.options.runsInOneProcess && executable == nil
            ? .inProcess(try cell.runtime.types.registry.type(named: typeName))
            : .worker(typeName: typeName, program, plan)
        let kind = ChildDefinition.Kind.coordinator(CoordinatorDefinition(configuration: .json(configuration), place: place))
        return try await start(kind, key, restart, shutdown, restartLimits, retriesFirstStart, ifPresent)
    }

    /// Starts any program as a supervised child.
    ///
    /// - Parameters:
    ///   - program: The program.
    ///   - key: The child's key.
    ///   - restart: The rule for when the child is restarted; `permanent` by default.
    ///   - shutdown: The time that the child is given to end; five seconds by default.
    ///   - restartLimits: The limits on the child's restarts where they differ from this coordinator's policy.
    ///   - retriesFirstStart: Whether a first start that fails is retried as the policy says, instead of ending the child.
    ///   - ifPresent: The way in which a child is treated that has the key already; by default it's joined.
    @discardableResult
    public func start(
        program: ProgramSpecification,
        as key: C.ChildKey,
        restart: RestartType = .permanent,
        shutdown: Shutdown = .timeout(.seconds(5)),
        restartLimits: RestartLimits? = nil,
        retriesFirstStart: Bool = false,
        ifPresent: IfPresent = .join
    ) async throws -> AnyChild {
        try await start(.program(program), key, restart, shutdown, restartLimits, retriesFirstStart, ifPresent)
    }

    /// Ends a child and its subtree, and frees its key; returns when nothing is left of it.
    ///
    /// The child can still ask this coordinator while it ends. ``CoordinatorRuntime/stop(_:)``, an operator's stop, keeps the key: such a
    /// child is `inactive`, and can be started again.
    ///
    /// - Throws: `noSuchChild`.
    public func remove(_ key: C.ChildKey) async throws {
        try await cell.children.stop(key.description, initiator: .parent, forgets: true)
    }

    /// Ends a child and its subtree, whatever its state, and starts it again with its configuration.
    ///
    /// Returns when the child is ready; cancellation has no effect.
    ///
    /// - Throws: `noSuchChild`; the error that its `start` threw.
    public func restart(_ key: C.ChildKey) async throws {
        try await cell.children.restart(key.description)
    }

    /// Replaces the policy by which the children are supervised; earlier decisions stand.
    ///
    /// - Throws: A `SupervisionError` that names the value to correct; the former policy then stays.
    public func supervise(by policy: SupervisionPolicy) throws(SupervisionError) {
        try policy.validate()
        cell.children.handle(.policyChanged(policy))
    }

    /// Pauses a child and those below it: new messages to them wait, and handlers that have begun go on.
    ///
    /// Returns when all of them are paused. Pausing a child that is paused by name already does nothing.
    ///
    /// - Throws: `noSuchChild`.
    public func pause(_ key: C.ChildKey) async throws {
        try await cell.children.setPaused(true, for: key.description, initiator: .parent)
    }

    /// Resumes a child that was paused by name; messages that have waited begin in order.
    ///
    /// The child stays paused as long as an ancestor is.
    public func resume(_ key: C.ChildKey) async throws {
        try await cell.children.setPaused(false, for: key.description, initiator: .parent)
    }

    private func start(
        _ kind: ChildDefinition.Kind,
        _ key: C.ChildKey,
        _ restart: RestartType,
        _ shutdown: Shutdown,
        _ restartLimits: RestartLimits?,
        _ retriesFirstStart: Bool,
        _ ifPresent: IfPresent
    ) async throws -> AnyChild {
        let specification = ChildSpecification(
            id: key.description,
            restart: restart,
            shutdown: shutdown,
            isRetriedAtFirstStart: retriesFirstStart,
            restartLimits: restartLimits
        )
        let definition = ChildDefinition(specification, kind)
        try await cell.children.start(definition, ifPresent: ifPresent)
        return AnyChild(supervisor: cell.children, key: definition.key, typeName: definition.typeName)
    }

    private func kind<K: Coordinator>(_ type: K.Type, _ placement: Placement, _ configuration: K.Configuration) -> ChildDefinition.Kind {
        let place: CoordinatorDefinition.Place =
            switch placement.place {
            case .inProcess: .inProcess(.of(type))
            case .worker where cell.runtime.options.runsInOneProcess: .insteadOfWorker(.of(type))
            case .worker(let plan): .worker(typeName: TypeNames.name(of: type), WorkerProgram(), plan)
            }
        return .coordinator(CoordinatorDefinition(configuration: .value(configuration), place: place))
    }

    /// Ends the workers of a former runtime in the directory that no start has adopted, and returns when nothing is left of them.
    ///
    /// This is for a root that starts children in `run`, in a program that sets ``CoordinatorRuntime/Options/endsOrphansWhenReady`` to
    /// false: the root calls it once it has requested all starts that it makes by itself. In a worker it does nothing.
    public func endOrphans() async { await cell.runtime.endOrphans() }

    /// Whether a former process has left a plain program at a key that goes on when it's started.
    package func hasProgramOfFormer(_ key: String) -> Bool {
        cell.runtime.pendingHandover?.hasProgram(at: path.appending(key)) ?? false
    }

    /// The children in start order, those that are being restarted included.
    public var children: [AnyChild] { cell.existingChildren?.handles ?? [] }

    /// Returns the children in a state, in start order.
    public func children(in state: CoordinatorState) -> [AnyChild] { children.filter { $0.state == state } }

    /// Returns the child with a key; `nil` when there is none.
    public func child(_ key: C.ChildKey) -> AnyChild? { cell.existingChildren?.handle(of: key.description) }

    /// Returns the first child of a type; `nil` when there is none.
    public func child<K: Coordinator>(_ type: K.Type) -> Child<K>? {
        children.lazy.compactMap { $0.typed(as: type) }.first
    }

    /// Returns the child with a key as one of a type; `nil` when there is none, or it's of another type.
    public func child<K: Coordinator>(_ key: C.ChildKey, as type: K.Type) -> Child<K>? { child(key)?.typed(as: type) }
}

extension CoordinatorContext {
    /// Waits for the end of a coordinator's present life, anywhere in the tree; returns at once if there is none.
    ///
    /// Each call gets exactly one answer, also when the coordinator's supervisor or its process ends first. Whether the coordinator is
    /// restarted is for its supervisor to decide. Follows Erlang's monitors,
    /// https://www.erlang.org/doc/system/ref_man_processes.html#monitors.
    ///
    /// - Throws: `CancellationError`; `stopped` when this coordinator itself stops.
    public func watch(_ path: CoordinatorPath) async throws -> Termination {
        guard let parent = path.parent else {
            throw CoordinatorError(.unsupported, "the root outlives everybody who could watch it")
        }
        do {
            return try await cell.request(WatchChild(key: path.key)) { cell.route($0, to: parent) }.decoded(as: Termination.self)
        } catch let error as CoordinatorError where !cell.isStopping {
            switch error.code {
            // The coordinator's supervisor is gone, and the coordinator with it.
            case .noSuchPath, .peerLost, .stopped, .restarting, .failed, .startFailed:
                return Termination(path: path, incarnation: 0, reason: .unknown)
            default: throw error
            }
        }
    }
}
