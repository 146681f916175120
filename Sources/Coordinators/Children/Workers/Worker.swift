import ConcurrencySupport
import Glibc
import Links
import Processes
import ServiceLifecycle
import Supervision
import UnixSignals
import WireProtocol
import WorkerLifecycle

/// The inside of a worker process, which hosts a coordinator for its parent.
///
/// ``HostedCoordinatorMachine`` decides; the worker reports to it what happens, and carries out its directives.
final class Worker: Sendable {
    private struct State: MachineState {
        var machine = HostedCoordinatorMachine()
        var outbox = Outbox<HostedCoordinatorMachine.Directive>()
        /// The incarnation of the coordinator; a spare learns it from the start frame.
        var incarnation: Incarnation
        /// The first start frame that has arrived.
        var order: Order?
        var host: CoordinatorCell?
        /// The reasons for which the coordinator is paused, the dependencies that were provided, and whether its events are wanted.
        var startContext = StartContext(areEventsWanted: false)
        /// The versions of the provided dependencies, by name, as the parent counts them.
        var inheritedVersions: [String: (epoch: UInt32, version: UInt64)] = [:]
    }

    /// The coordinator that the parent has told the worker to start.
    private struct Order {
        let start: Start
        let frame: Frame
    }

    /// A time that counts as unlimited: a year.
    private static let forEver = Duration.seconds(365 * 86_400)

    /// Settled when the process is to exit.
    let exitCode = OneShot<Int32>()
    private let path: CoordinatorPath
    private let runtime: RuntimeCore
    private let uplink: Uplink
    /// The lock under which the coordinator follows pauses and resumes one after the other.
    private let pauses = AsyncLock()
    /// The tasks, which end with the process; the process doesn't wait for code that ignores its end.
    private let tasks = OwnedTasks()
    private let state: MachineShell<State>

    init(_ ticket: Ticket, _ path: CoordinatorPath, _ options: CoordinatorRuntime.Options) {
        self.path = path
        state = MachineShell(State(incarnation: ticket.incarnation))
        let counts = LiveCounts()
        uplink = Uplink(ticket, counts: counts, busyWait: options.busyWait, sizes: options.messageSizes)
        var options = options
        // The sockets of the whole tree are in one directory. That of another user takes none of this process: it makes one of its own.
        options.runtimeDirectory = ticket.parentUserID == geteuid() ? ticket.directory : nil
        runtime = RuntimeCore(options, counts: counts, uplink: uplink)
        runtime.execution.services.whenOneFails { [weak self] reason in
            self?.state.withLock { $0.host }?.end(.failed(reason))
        }
    }

    /// Dials the parent, which then sends the start frame.
    func connect() { uplink.connect(for: self) }

    /// Does, in a process that waits for a life, what any life begins with.
    func warmUp() async {
        runtime.types.registry.makeTables()
        #if !SLOW_PATH_ONLY
        await WarmUp.run()
        // The second one maps again what a life needs.
        FreeMemory.unmapCode()
        await WarmUp.run()
        #endif
    }

    /// Ends the coordinator, and then the process; a second call can only shorten the time.
    func end(within grace: Duration?, drains: Bool = false, _ reason: ExitReason) {
        handle(.endRequested(HostedCoordinatorMachine.EndRequest(grace: grace, drains: drains, reason: reason)))
    }

    /// Reports an event to the machine, and carries out the machine's decisions.
    ///
    /// - Parameter change: The change of the state that goes with the event, under the same lock.
    private func handle(_ event: HostedCoordinatorMachine.Event, _ change: (inout State) -> Void = { _ in }) {
        state.mutate { state in
            change(&state)
            state.outbox.add(state.machine.handle(event, now: MonotonicTime.now.sinceOrigin))
        } performing: {
            perform($0)
        }
    }
}

// MARK: - What the machine decides

extension Worker {
    private func perform(_ directive: HostedCoordinatorMachine.Directive) {
        switch directive {
        case .start: start()
        case .tellReady: tellReady()
        case .tellStartFailed(let error): tellStartFailed(error)
        case .stop(let grace, drains: true): state.withLock { $0.host }?.stop(.draining(grace ?? Self.forEver))
        case .stop(let grace, drains: false): state.withLock { $0.host }?.stop(grace.map { .timeout($0) } ?? .infinity)
        case .closeRuntime: closeRuntime()
        case .tellEnd(let reason): tellEnd(reason)
        case .countTransmissions: handle(.transmissionsCounted(uplink.transmissions))
        case .wake(let time): state.wake(at: time) { [weak self] in self?.handle(.timePassed) }
        case .exit(let reason): exit(reason)
        }
    }

    private func start() {
        let (order, incarnation, startContext) = state.withLock { ($0.order, $0.incarnation, $0.startContext) }
        guard let order else { return }
        do {
            let host = CoordinatorCell(
                type: try runtime.types.registry.type(named: order.start.type),
                configuration: .encoded(
                    order.frame.codec,
                    order.start.configuration,
                    isComplete: order.frame.flags.contains(.complete)
                ),
                path: path,
                incarnation: incarnation,
                parent: nil,
                runtime: runtime,
                startTimeout: .milliseconds(Int64(order.start.startTimeoutMilliseconds)),
                startContext: startContext,
                events: HostEvents(owner: self, life: IncarnationID(key: path.key, incarnation: incarnation))
            )
            state.withLock { $0.host = host }
            tasks.add { await self.run(host) }
        } catch {
            handle(.startFailed(error))
        }
    }

    private func run(_ host: CoordinatorCell) async {
        // The dependencies that arrived after the parameters were made are passed on.
        let startContext = state.withLock { $0.startContext }
        host.inherit(startContext.dependencies)
        if startContext.isDraining { host.noteDrain() }
        await followPauses()
        do {
            try await host.start()
            handle(.ready)
        } catch {
            handle(.startFailed(error))
        }
    }

    private func tellReady() {
        let (correlation, incarnation) = state.withLock { ($0.order?.frame.correlation ?? 0, $0.incarnation) }
        // In the order of what the coordinator told within its start: one that finished there must not be reported as started.
        uplink.announce(Frame(.ready, correlation: correlation, incarnation: incarnation), lane: .bulk)
    }

    private func tellStartFailed(_ error: any Error) {
        guard let frame = state.withLock({ $0.order?.frame }) else { return }
        let failure = Failures.encode(Failures.crossable(error), codec: frame.codec)
        uplink.send(Frame(.reply(.failure(failure)), correlation: frame.correlation, codec: frame.codec))
    }

    private func closeRuntime() {
        uplink.beginEnding()
        tasks.add { [self] in
            await runtime.observation.deadLetters.flush()
            await runtime.close()
            await uplink.sendRelayed()
            await runtime.observation.lives.flush()
            await runtime.observation.deadLetters.flush()
            await runtime.observation.telemetry.flush()
            await runtime.observation.unhandled?.flushToEnd()
            handle(.runtimeClosed)
        }
    }

    private func tellEnd(_ reason: ExitReason) {
        let exited = Frame(.exited(Exited(reason: reason.onWire)), incarnation: state.withLock { $0.incarnation })
        // The frame comes after all answers, messages and events of the coordinator.
        if uplink.send(exited, lane: .bulk) != nil { handle(.endNotTold) }
    }

    private func exit(_ reason: ExitReason) {
        state.cancelWake()
        tasks.add { [self] in
            await runtime.flush()
            exitCode.settle(reason.processExitCode)
        }
    }
}

// MARK: - What the parent tells

extension Worker: UplinkOwner {
    var top: (any MessageReceiver)? { state.withLock { $0.host }?.ifBegun }

    func frameReceived(_ frame: Frame, on link: Link) {
        switch frame.content {
        case .start(let start): receive(start, frame)
        case .stop(let stop):
            let grace: Duration? = stop.graceMilliseconds == .max ? nil : .milliseconds(Int64(stop.graceMilliseconds))
            if frame.flags.contains(.run) { state.withLock { $0.host }?.awaitRun() }
            end(within: grace, drains: frame.flags.contains(.drain), .shutdown)
        case .goodbye: handle(.dismissed)
        case .pause(let pause): changePause(frame, on: link) { $0.insert(PauseReasons(wire: pause.reason)) }
        case .resume(let resume): changePause(frame, on: link) { $0.remove(PauseReasons(wire: resume.reason)) }
        case .dependency(let dependency):
            if let name = link.text(of: dependency.name) { inherit(name, dependency, frame) }
        case .subscribe(let subscribe):
            switch link.text(of: subscribe.name) {
            case TreeEvent.notification: runtime.observation.tap.setWantedAbove(subscribe.isActive)
            case MessageTraces.Report.notification: runtime.observation.traces.setWantedAbove(subscribe.isActive)
            case DrainNotice.notification: if subscribe.isActive { noteDrain() }
            case "": state.withLock { $0.startContext.areEventsWanted = subscribe.isActive }
            // A parent of another build may have more to subscribe to.
            case let name?:
                guard let configuration = TelemetryConfiguration(subscription: name) else { break }
                runtime.observation.telemetry.set(subscribe.isActive ? configuration : TelemetryConfiguration())
            case nil: break
            }
        default: break  // A parent sends nothing else that isn't about a message.
        }
    }

    private func noteDrain() {
        let host = state.withLock { state in
            state.startContext.isDraining = true
            return state.host
        }
        host?.noteDrain()
    }

    private func receive(_ start: Start, _ frame: Frame) {
        handle(.startRequested) { state in
            guard state.order == nil else { return }
            state.order = Order(start: start, frame: frame)
            if state.incarnation == Ticket.spareIncarnation { state.incarnation = frame.incarnation }
        }
    }

    /// Follows a pause or a resume, and answers when the coordinator has followed.
    private func changePause(_ frame: Frame, on link: Link, _ change: (inout PauseReasons) -> Void) {
        state.withLock { change(&$0.startContext.pauseReasons) }
        tasks.add { [self] in
            await followPauses()
            guard frame.correlation != 0, let payload = try? PayloadCoder.encode(JSONValue.null, as: .json) else { return }
            // A link that is lost has no ask to answer any more.
            try? link.send(Frame(.reply(.success(payload)), correlation: frame.correlation, codec: .json), lane: .control)
        }
    }

    /// Has the coordinator follow the present reasons for a pause.
    private func followPauses() async {
        await pauses.pass { [self] in
            let (host, reasons) = state.withLock { ($0.host, $0.startContext.pauseReasons) }
            await host?.pause(for: reasons)
        }
    }

    private func inherit(_ name: String, _ dependency: Dependency, _ frame: Frame) {
        let change = state.withLock { state -> (CoordinatorCell?, Dependencies)? in
            // The parent sends from several threads, so that an older version may arrive after a newer one. A root that adopts counts anew.
            let version = (epoch: frame.epoch, version: dependency.version)
            guard version >= state.inheritedVersions[name, default: (0, 0)] else { return nil }
            state.inheritedVersions[name] = version
            // The dependency was sent again, with others or on a new link: the value that was made from it stays.
            if state.startContext.dependencies.entries[name]?.isEncoded(frame.codec, dependency.payload) == true { return nil }
            state.startContext.dependencies.entries[name] = DependencyEntry(frame.codec, dependency.payload)
            state.startContext.dependencies.version += 1
            return (state.host, state.startContext.dependencies)
        }
        if let (host, latest) = change { host?.inherit(latest) }
    }

    func messagesReceived(_ envelope: Envelope, _ target: String, _ isDirect: Bool) {
        guard let (cell, rest) = place(target) else {
            let error = CoordinatorError(.noSuchPath, "there is no coordinator at \(target) in this process")
            return envelope.end(.failure(error))
        }
        if rest.isEmpty, !isDirect { return cell.climb(arrived: envelope) }
        for envelope in envelope.separated { cell.deliver(envelope, to: rest, isDirect: isDirect) }
    }

    func messageLost(_ envelope: Envelope, _ error: any Error) {
        state.withLock { $0.host }?.recordLoss(of: envelope, because: error)
    }

    func inspected(_ operation: String, _ target: String, _ payload: JSONValue) async throws -> JSONValue {
        if let request = UplinkHold(rawValue: operation) {
            uplink.obey(request)
            return .null
        }
        if let proposal = StartProposal(operation, payload) {
            try proposal.check(by: runtime.types.registry)
            return .null
        }
        if operation == WorkerHost.flowTrial {
            try runtime.features.tryFlows(payload)
            return .null
        }
        guard let operation = Operation(rawValue: operation) else {
            throw CoordinatorError(.unsupported, "a worker doesn't know '\(operation)'")
        }
        guard let (cell, rest) = place(target) else {
            throw CoordinatorError(.noSuchPath, "there is no coordinator at \(target) in this process")
        }
        return try await cell.operate(operation, on: rest, budget: TimeoutBudget(payload))
    }

    private func place(_ target: String) -> (CoordinatorCell, ArraySlice<Substring>)? {
        guard let cell = state.withLock({ $0.host })?.ifBegun else { return nil }
        // An empty target is this process's own coordinator.
        if target.isEmpty { return (cell, []) }
        guard let rest = CoordinatorPath(target)?.components(below: path) else { return nil }
        return (cell, rest)
    }

    /// An output that can't be sent is a failure, since the parent would wait for ever.
    func announcementRefused(_ error: LinkError) { end(within: .seconds(5), .failed("the output could not be sent: \(error)")) }

    func parentLost(_ loss: Uplink.Loss) {
        switch loss {
        case .unreachable(let reason):
            Diagnostics.print("the parent can't be reached: \(reason)")
            exitCode.settle(75)
        case .orphaned: end(within: .seconds(5), .failed("the parent is gone"))
        case .leftDuringEnd: handle(.dismissed)
        }
    }
}

// MARK: - What the coordinator tells

extension Worker: HostOwner {
    func handle(_ event: HostEvent, of life: IncarnationID) {
        switch event {
        case .exited(let reason): handle(.ended(reason))
        case .finished(let output): tellOutput(output)
        case .emitted(let event): tellEvent(event)
        case .dismissalRequested(let timeout, let decision):
            tasks.add { [uplink] in decision.settle(await uplink.requestDismissal(timeout: timeout)) }
        case .becameIdle: tasks.add { [uplink] in await uplink.reportIdle() }
        // The coordinator that the process begins with is in this process: it can always be reached, and is replaced by its parent.
        case .becameReachable, .becameUnreachable, .recyclingDue, .messageReturned: break
        }
    }

    private func tellOutput(_ output: Answer) {
        do throws(CoordinatorError) {
            let upward: PayloadCodec = uplink.isCompact ? .compact : .json
            uplink.announce(Frame(.finish(try output.encoded(as: upward)), codec: upward), lane: .bulk)
        } catch {
            end(within: .seconds(5), .failed(error.message))
        }
    }

    private func tellEvent(_ event: Answer) {
        guard state.withLock({ $0.startContext.areEventsWanted }) else { return }
        do {
            try uplink.emit(event)
        } catch let error as CoordinatorError where error.code == .mailboxFull {
            runtime.observation.deadLetters.record(DeadLetter(name: "event", sender: path, target: path, reason: .observerTooSlow))
        } catch {
            runtime.observation.deadLetters.record(
                DeadLetter(name: "event", sender: path, target: path, reason: .undeliverable("\(error)"))
            )
        }
    }
}

/// The `main` of a worker process.
enum WorkerMain {
    /// Arms the parent-death signal of a worker that must not outlive its parent.
    static func arm(_ ticket: Ticket) throws(CoordinatorError) {
        guard ticket.isStrict else { return }
        do throws(ProcessError) {
            try WorkerProcess.armParentDeathSignal(expecting: ticket.parentProcessID)
        } catch {
            throw CoordinatorError(.startFailed, error.message)
        }
    }

    /// Hosts a coordinator for the parent that has issued the ticket, until the coordinator has ended.
    ///
    /// - Returns: The exit status.
    @concurrent
    static func run(_ ticket: Ticket, _ options: CoordinatorRuntime.Options) async -> Int32 {
        guard let path = CoordinatorPath(ticket.path) else {
            Diagnostics.print("the ticket's path '\(ticket.path)' is none")
            return 78
        }
        do {
            try await options.bootstrap?(path)
        } catch {
            Diagnostics.print("the bootstrap of \(path) has failed: \(error)")
            return 78
        }
        let worker = Worker(ticket, path, options)
        return await withTaskGroup(of: Void.self) { group in
            // The parent waits for the link, so the dial is the first thing that is begun.
            worker.connect()
            if ticket.incarnation == Ticket.spareIncarnation { group.addTask { await worker.warmUp() } }
            group.addTask {
                for await _ in await UnixSignalsSequence(trapping: .sigterm, .sigint) { worker.end(within: .seconds(5), .shutdown) }
            }
            let code = await worker.exitCode.value
            group.cancelAll()
            return code
        }
    }
}
