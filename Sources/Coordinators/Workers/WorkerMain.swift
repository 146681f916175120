import ConcurrencySupport
import Glibc
import Links
import Logging
import Processes
import ServiceLifecycle
import UnixSignals
import WireProtocol

/// A worker's life: dial, start what the parent wants, end when told.
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

    /// - Returns: the exit status.
    @concurrent
    static func run(_ ticket: Ticket, _ options: CoordinatorRuntime.Options) async -> Int32 {
        guard let path = CoordinatorPath(ticket.path) else {
            Diagnostics.print("the ticket's path '\(ticket.path)' is none")
            return 78
        }
        let worker = Worker(ticket, path, options)
        let signals = Task {
            for await _ in await UnixSignalsSequence(trapping: .sigterm, .sigint) { worker.end(grace: .seconds(5), reason: .shutdown) }
        }
        do {
            try await worker.uplink.connect()
        } catch {
            Diagnostics.print("the parent can't be reached: \(error)")
            return 75
        }
        let code = await worker.exitCode.value
        signals.cancel()
        return code
    }
}

/// The coordinator that a worker process hosts for its parent.
final class Worker: Sendable {
    private struct State {
        var host: LocalHost?
        /// A spare learns it from the start frame.
        var incarnation: Incarnation
        /// What the coordinator is born with.
        var inheritance = ChildInheritance()
        /// Why the process ends, once it does.
        var endReason: ExitReason?
        /// How long the end may take; `nil`: as long as it does.
        var endGrace: Duration?
        var isReadyTold = false
        /// The coordinator has ended before the parent was told that it's ready, which it hears first.
        var earlyEnd: ExitReason?
        var hasLeft = false
    }

    /// How long a worker waits for its parent to take note of its end.
    private static let farewell = Duration.seconds(5)

    let exitCode = OneShot<Int32>()
    private let path: CoordinatorPath
    private let core: OneShot<RuntimeCore> = OneShot()
    private let link: OneShot<Uplink> = OneShot()
    private let isDismissed = OneShot<Void>()
    private let tasks = OwnedTasks()
    private let state: Lock<State>

    init(_ ticket: Ticket, _ path: CoordinatorPath, _ options: CoordinatorRuntime.Options) {
        self.path = path
        state = Lock(State(incarnation: ticket.incarnation))
        let counts = LiveCounts()
        let uplink = Uplink(
            ticket,
            counts: counts,
            events: Uplink.Events(
                started: { [self] in start($0, $1) },
                stopRequested: { [self] in end(grace: $0, drains: $1, reason: .shutdown) },
                dismissed: { [isDismissed] in isDismissed.settle(()) },
                orphaned: { [self] in
                    isDismissed.settle(())
                    end(grace: .seconds(5), reason: .failed("the parent is gone"))
                },
                paused: { [self] in pause($0, $1) },
                inherited: { [self] in inherit($0) },
                tapped: { [self] in runtime.tap.setWantedAbove($0) },
                messageReceived: { [self] in deliver($0, $1, $2) },
                inspected: { [self] operation, target, payload in try await operate(operation, target, TimeoutBudget(payload)) }
            )
        )
        var options = options
        // Sockets of the whole tree are in one place; the ticket's address says where.
        options.runtimeDirectory = ticket.address.split(separator: ":", maxSplits: 1).last.map { address in
            String(address.dropFirst(2).prefix(upTo: address.lastIndex(of: "/") ?? address.endIndex))
        }
        link.settle(uplink)
        core.settle(RuntimeCore(options, counts: counts, uplink: uplink))
    }

    var uplink: Uplink { link.outcome.unsafelyUnwrapped }
    private var runtime: RuntimeCore { core.outcome.unsafelyUnwrapped }

    private func start(_ start: Start, _ frame: Frame) {
        tasks.add { [self] in
            do {
                let incarnation = state.withLock { state in
                    if state.incarnation == Ticket.spareIncarnation { state.incarnation = frame.incarnation }
                    return state.incarnation
                }
                let parameters = NodeParameters(
                    type: try runtime.registry.type(named: start.type),
                    configuration: .encoded(frame.codec, start.configuration, isComplete: frame.flags.contains(.complete)),
                    path: path,
                    incarnation: incarnation,
                    parent: nil,
                    runtime: runtime,
                    startTimeout: .milliseconds(Int64(start.startTimeoutMilliseconds)),
                    inheritance: state.withLock { $0.inheritance }
                )
                let host = LocalHost(
                    parameters,
                    events: HostEvents(owner: self, life: ChildInstance(key: path.key, incarnation: incarnation))
                )
                guard
                    state.withLock({ state -> Bool in
                        guard state.host == nil, state.endReason == nil else { return false }
                        state.host = host
                        return true
                    })
                else { return }
                // What came between its making and now.
                runtime.dependencyTurn.withLock { _ in host.inherit(state.withLock { $0.inheritance.dependencies }) }
                await host.pause(for: state.withLock { $0.inheritance.pauseReasons })
                try await host.start()
                _ = uplink.announce(Frame(.ready, correlation: frame.correlation, incarnation: incarnation))
                let earlyEnd = state.withLock { state in
                    state.isReadyTold = true
                    return state.earlyEnd
                }
                if let earlyEnd { await leave(earlyEnd) }
            } catch {
                // It was told to end while it started.
                if let reason = state.withLock({ $0.endReason }) { return await leave(reason) }
                let failure = Failures.encode(Failures.crossable(error), codec: frame.codec)
                uplink.send(Frame(.reply(.failure(failure)), correlation: frame.correlation, codec: frame.codec))
                await leave(.startFailed(String(describing: error)))
            }
        }
    }

    private func finish(_ output: Answer) {
        do throws(CoordinatorError) {
            let upward: PayloadCodec = uplink.isCompact ? .compact : .json
            // An output that can't be told is a failure: the parent would wait for ever.
            if let error = uplink.announce(Frame(.finish(try output.encoded(as: upward)), codec: upward), lane: .bulk) {
                end(grace: .seconds(5), reason: .failed("the output could not be sent: \(error)"))
            }
        } catch {
            end(grace: .seconds(5), reason: .failed(error.message))
        }
    }

    private func pause(_ reason: PauseReasons, _ isPaused: Bool) -> @Sendable () async -> Void {
        state.withLock { state in
            if isPaused { state.inheritance.pauseReasons.insert(reason) } else { state.inheritance.pauseReasons.remove(reason) }
        }
        return { [self] in
            let (host, reasons) = state.withLock { ($0.host, $0.inheritance.pauseReasons) }
            await host?.pause(for: reasons)
        }
    }

    private func inherit(_ dependencies: Dependencies) {
        state.withLock { $0.inheritance.dependencies = dependencies }
        runtime.dependencyTurn.withLock { _ in
            let (host, latest) = state.withLock { ($0.host, $0.inheritance.dependencies) }
            host?.inherit(latest)
        }
    }

    /// Ends the subtree, and then the process; the second time it can only shorten what is left.
    ///
    /// - Parameter drains: what has been taken is handled first, within the grace.
    func end(grace: Duration?, drains: Bool = false, reason: ExitReason) {
        let (host, isFirst, isSooner) = state.withLock { state -> (LocalHost?, Bool, Bool) in
            let isFirst = state.endReason == nil
            let isSooner = isFirst || (grace ?? .seconds(Int64.max)) < (state.endGrace ?? .seconds(Int64.max))
            state.endReason = state.endReason ?? reason
            if isSooner { state.endGrace = grace }
            return (state.host, isFirst, isSooner)
        }
        // The host tells the end, be it of the coordinator or of its start.
        let shutdown = grace.map { Shutdown.timeout($0) } ?? .infinity
        guard isFirst else {
            // Told again on a new link it means nothing: only who is in more of a hurry than before is heard.
            if isSooner { host?.stop(shutdown) }
            return
        }
        if drains, let node = host?.coordinator {
            return tasks.add {
                await node.drain(within: grace)
                host?.stop(shutdown)
            }
        }
        if let host { return host.stop(shutdown) }
        tasks.add { await self.leave(reason) }
    }

    /// Tells the parent why, waits until it has taken note, and ends the process.
    private func leave(_ reason: ExitReason) async {
        let isFirst = state.withLock { state in
            defer { state.hasLeft = true }
            return !state.hasLeft
        }
        guard isFirst else { return }
        uplink.beginEnding()
        runtime.deadLetters.flush()
        await runtime.close()
        // Behind everything that the coordinator has answered, sent and told.
        let exited = Frame(.exited(Exited(reason: reason.onWire)), incarnation: state.withLock { $0.incarnation })
        if uplink.send(exited, lane: .bulk) == nil { await waitForDismissal() }
        await runtime.flushLog()
        exitCode.settle(reason.processExitCode)
    }

    /// Waits until the parent has taken note of the end, as long as it reads what came before.
    private func waitForDismissal() async {
        var former: UInt64?
        while case let transmissions = uplink.transmissions, transmissions != former {
            former = transmissions
            if await Deadline.within(Self.farewell, { await self.isDismissed.value }) { return }
        }
    }

    private func deliver(_ envelope: Envelope, _ target: String, _ isDirect: Bool) {
        guard let (node, rest) = place(target) else {
            return envelope.end(.failure(CoordinatorError(.noSuchPath, "there is no coordinator at \(target) in this process")))
        }
        node.deliver(envelope, to: rest, isDirect: isDirect)
    }

    private func operate(_ operation: String, _ target: String, _ budget: TimeoutBudget) async throws -> JSONValue {
        guard let operation = Operation(rawValue: operation) else {
            throw CoordinatorError(.unsupported, "a worker doesn't know '\(operation)'")
        }
        guard let (node, rest) = place(target) else {
            throw CoordinatorError(.noSuchPath, "there is no coordinator at \(target) in this process")
        }
        return try await node.operate(operation, on: rest, budget: budget)
    }

    private func place(_ target: String) -> (Node, ArraySlice<Substring>)? {
        guard let node = state.withLock({ $0.host })?.coordinator else { return nil }
        // No target: this process's own coordinator.
        if target.isEmpty { return (node, []) }
        guard let rest = CoordinatorPath(target)?.components(below: path) else { return nil }
        return (node, rest)
    }
}

extension Worker: HostOwner {
    func lifeExited(_ life: ChildInstance, _ reason: ExitReason) {
        let toldReason = state.withLock { state -> ExitReason? in
            // Who asked for the end knows why, unless it went wrong then.
            let isOverruled = !reason.isNormal && state.endReason?.isNormal != false
            let reason = isOverruled ? reason : state.endReason ?? reason
            if !state.isReadyTold { state.earlyEnd = reason }
            return state.isReadyTold ? reason : nil
        }
        if let toldReason { tasks.add { await self.leave(toldReason) } }
    }

    func lifeFinished(_ life: ChildInstance, _ output: Answer) { finish(output) }

    func lifeEmitted(_ life: ChildInstance, _ event: Answer) {
        do {
            try uplink.emit(event)
        } catch let error as CoordinatorError where error.code == .mailboxFull {
            runtime.deadLetters.record(DeadLetter(name: "event", sender: path, target: path, reason: .observerTooSlow))
        } catch {
            runtime.deadLetters.record(DeadLetter(name: "event", sender: path, target: path, reason: .undeliverable("\(error)")))
        }
    }

    func dismissalRequested(by life: ChildInstance, timeout: Duration) async -> Bool { await uplink.requestDismissal(timeout: timeout) }
}
