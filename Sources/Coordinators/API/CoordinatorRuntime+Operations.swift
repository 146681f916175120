import ConcurrencySupport
import Processes
public import WireProtocol

extension CoordinatorRuntime {
    /// Asks in the name of the coordinator at `path`: its own rows are searched first, then those of its ancestors.
    ///
    /// The message is encoded only if the coordinator at `path` is in another process. An error that the message declares as its
    /// `Failure` is thrown as it was.
    ///
    /// - Parameters:
    ///   - message: The message that is asked.
    ///   - path: The coordinator in whose name the message is sent; the root by default.
    ///   - timeout: As of `CoordinatorContext.ask`.
    /// - Throws: As `CoordinatorContext.ask`, and `noSuchPath`.
    public func ask<M: ResponderMessage>(
        _ message: M,
        at path: CoordinatorPath = .root,
        timeout: Duration? = nil
    ) async throws -> M.Reply {
        try await ask(message, at: path, timeout: timeout, isDirect: false)
    }

    /// - Parameter isDirect: Whether only the rows of the coordinator at `path` are searched.
    func ask<M: ResponderMessage>(_ message: M, at path: CoordinatorPath, timeout: Duration?, isDirect: Bool) async throws -> M.Reply {
        try await observed(MessageInfo(M.self, .ask, sentFor: path, isDirect: isDirect)) {
            do {
                return try await M.retried(within: timeout, core.time) { deadline in
                    let body = try self.body(message, at: path)
                    return try await deliver(body, at: path, by: deadline, isDirect: isDirect).decoded(as: M.Reply.self)
                }
            } catch {
                throw Failures.restored(error, declared: M.errorTypes)
            }
        }
    }

    /// Sends a message within the instruments of the process.
    private func observed<R: Sendable>(_ message: @autoclosure () -> MessageInfo, _ send: () async throws -> R) async throws -> R {
        core.observation.instruments.areActive ? try await core.observation.instruments.around(message(), next: send) : try await send()
    }

    /// Returns the message itself for a coordinator of this process and for a child of one, whose link encodes it as its other end understands;
    /// its JSON for all others, since a message that is routed by path may pass processes of other builds.
    private func body<M: ResponderMessage>(_ message: M, at path: CoordinatorPath) throws -> Envelope.Body {
        if try root.inThisProcess(path.components.dropLast()) != nil { return .value(message) }
        return .encoded(name: M.wireName, .json, Payload(try PayloadCoder.encode(message, as: .json)))
    }

    /// Asks the coordinator at a path for a stream of replies.
    func stream<M: ResponderMessage>(_ message: M, at path: CoordinatorPath, timeout: Duration?) throws -> ReplyStream<M.Reply> {
        let (root, body) = (try root, try body(message, at: path))
        let deadline = timeout.map { core.time.now + $0 }
        return try ReplyStream(observedBy: core.observation.instruments, MessageInfo(M.self, .stream, sentFor: path, isDirect: true)) {
            ReplyBuffer(body, errors: M.errorTypes, sender: path, openAsks: core.execution.openAsks, deadline: deadline) { envelope in
                root.deliver(envelope, to: path.components[...], isDirect: true)
            }
        }
    }

    /// Asks a message without a reply, and returns when the handler has ended.
    public func ask<M: ResponderMessage>(
        _ message: M,
        at path: CoordinatorPath = .root,
        timeout: Duration? = nil
    ) async throws where M.Reply == NoReply {
        let _: NoReply = try await ask(message, at: path, timeout: timeout)
    }

    /// Asks by the message's name, with JSON for message and reply: for operators, and for messages whose type this program doesn't have.
    public func ask(
        named name: String,
        payload: JSONValue,
        at path: CoordinatorPath = .root,
        timeout: Duration = .seconds(5)
    ) async throws -> JSONValue {
        let answer = try await observed(MessageInfo(name, .ask, sentFor: path)) {
            try await deliver(try body(name, payload), at: path, by: core.time.now + timeout)
        }
        guard case .value(let value) = answer else { return try answer.decoded(as: JSONValue.self) }
        do throws(CoordinatorError) { return try value.encodedAsJSON() } catch { throw error.doubted }
    }

    /// Asks by the message's name, as ``ask(named:payload:at:timeout:)``, and returns the way of the message beside the outcome.
    ///
    /// The trace has every row that has handled the message or a message that was sent on its way, in every process of this machine.
    /// Workers that don't use this library report nothing. Until the trace is complete, all processes of the tree look at the trace context of
    /// each message that they handle.
    public func trace(
        named name: String,
        payload: JSONValue,
        at path: CoordinatorPath = .root,
        timeout: Duration = .seconds(5)
    ) async -> (outcome: Result<JSONValue, any Error>, trace: MessageTrace) {
        await core.observation.traces.trace { try await self.ask(named: name, payload: payload, at: path, timeout: timeout) }
    }

    /// Sends a message one way, in the name of the coordinator at `path`.
    ///
    /// - Parameters:
    ///   - message: The message that is sent.
    ///   - path: The coordinator in whose name the message is sent; the root by default.
    ///   - acknowledged: As of `CoordinatorContext.send`: whether the call returns when the message has been handled, once.
    ///   - timeout: The time after which a message that still waits is withdrawn, and the call fails with `timedOut`; `nil`: none.
    /// - Returns: Whether a coordinator from `path` upwards responds.
    /// - Throws: As `CoordinatorContext.send`, and `noSuchPath`.
    @discardableResult
    public func send<M: ResponderMessage>(
        _ message: M,
        at path: CoordinatorPath = .root,
        acknowledged: Bool = false,
        timeout: Duration? = nil
    ) async throws -> Bool {
        try await send(message, at: path, acknowledged: acknowledged, timeout: timeout, isDirect: false)
    }

    func send<M: ResponderMessage>(
        _ message: M,
        at path: CoordinatorPath,
        acknowledged: Bool,
        timeout: Duration?,
        isDirect: Bool
    ) async throws -> Bool {
        try await observed(MessageInfo(M.self, .send, sentFor: path, isDirect: isDirect)) {
            do {
                return try await send(try body(message, at: path), at: path, acknowledged: acknowledged, timeout, isDirect: isDirect)
            } catch {
                throw Failures.restored(error, declared: M.errorTypes)
            }
        }
    }

    /// Sends a message one way, by its name.
    ///
    /// - Parameters:
    ///   - name: The message's wire name.
    ///   - payload: The message as JSON.
    ///   - path: The coordinator in whose name the message is sent; the root by default.
    ///   - acknowledged: As of `CoordinatorContext.send`: whether the call returns when the message has been handled, once.
    ///   - timeout: The time after which a message that still waits is withdrawn, and the call fails with `timedOut`; `nil`: none.
    /// - Returns: Whether a coordinator from `path` upwards responds.
    @discardableResult
    public func send(
        named name: String,
        payload: JSONValue,
        at path: CoordinatorPath = .root,
        acknowledged: Bool = false,
        timeout: Duration? = nil
    ) async throws -> Bool {
        try await observed(MessageInfo(name, .send, sentFor: path)) {
            try await send(try body(name, payload), at: path, acknowledged: acknowledged, timeout)
        }
    }

    private func send(
        _ body: Envelope.Body,
        at path: CoordinatorPath,
        acknowledged isAcknowledged: Bool,
        _ timeout: Duration?,
        isDirect: Bool = false
    ) async throws -> Bool {
        let deadline = timeout.map { core.time.now + $0 }
        guard isAcknowledged else {
            return try await Envelope.isAccepted {
                try await deliver(body, at: path, by: deadline, isOneWay: true, isDirect: isDirect)
            }
        }
        let root = try root
        if root.isDraining { throw CoordinatorError.drains(.root) }
        return try await core.sendAcknowledged(body, from: path, by: deadline, in: core.execution.openAsks) {
            root.deliver($0, to: path.components[...], isDirect: isDirect)
        }
    }

    /// Returns the present state of the tree, the root included.
    public func snapshot() async throws -> CoordinatorSnapshot {
        let root = try root
        return CoordinatorSnapshot(
            path: .root,
            type: root.type.name,
            state: isStopping ? .stopping : .active,
            host: .inProcess,
            processID: ProcessIdentity.current.processID,
            processStartTime: ProcessIdentity.current.startTime,
            incarnation: root.incarnation,
            uptime: (try? begin.outcome?.get()).map { core.time.now - $0 },
            mailbox: await root.mailboxSnapshot,
            flows: await core.features.flowsSnapshot(of: root),
            children: await root.childSnapshots()
        )
    }

    /// Returns the present state of one coordinator and its subtree.
    public func snapshot(of path: CoordinatorPath) async throws -> CoordinatorSnapshot {
        path.isRoot ? try await snapshot() : try await operate(.inspect, path)
    }

    /// Starts a coordinator that was stopped; a living one stays as it is, and one that waits for its restart is started at once.
    @discardableResult
    public func start(_ path: CoordinatorPath) async throws -> CoordinatorSnapshot { try await operate(.start, path) }

    /// Stops a coordinator, which can be started again.
    ///
    /// Its parent gets a lifecycle event. Stopping a coordinator that is stopped already is not an error.
    @discardableResult
    public func stop(_ path: CoordinatorPath) async throws -> CoordinatorSnapshot { try await operate(.stop, path) }

    /// Ends a coordinator and its subtree, whatever its state, and starts it again.
    @discardableResult
    public func restart(_ path: CoordinatorPath) async throws -> CoordinatorSnapshot { try await operate(.restart, path) }

    /// Replaces a running coordinator by a new life of it, such as one of a new executable, without failing a request; returns when the new
    /// life is ready.
    ///
    /// The new life's process is started first and waits without a coordinator, while the present life works on. Once it has dialled, and
    /// knows the coordinator's type, new messages to the path wait, the present life finishes what it has taken, within the child's shutdown
    /// time, and ends; then the new process hosts the next life, which gets the messages that have waited. The path never lives twice. The
    /// members of a ``Pool`` are replaced one after the other. A coordinator in its parent's process, and a plain program, have no process that
    /// could wait: their present life ends before the next one begins, and an ask of a coordinator in the same process that is on its way in that
    /// instant can fail with `draining`.
    ///
    /// A worker that was placed with `overlaps` begins its next life beside the present one: new messages go to the next life once it's ready,
    /// the present one answers what it has and ends, and the call returns when that is gone. The path lives twice meanwhile.
    ///
    /// - Throws: When the new process can't be started, ends, or doesn't know the type: `spawnFailed`, `startFailed`, `unknownType`; nothing has
    ///   changed then, and the present life works on. When the new life's `start` fails, the error of that; supervision then restarts the
    ///   coordinator as its type says, but where lives overlap nothing has changed then either. `stopped` when the coordinator doesn't run.
    @discardableResult
    public func replace(_ path: CoordinatorPath) async throws -> CoordinatorSnapshot { try await operate(.replace, path) }

    /// Kills a coordinator's worker process as `kill -9` does; its supervisor then restarts it as its type says.
    @discardableResult
    public func kill(_ path: CoordinatorPath) async throws -> CoordinatorSnapshot { try await operate(.kill, path) }

    /// Has a program read its configuration again, as the `reload` of its ``ProgramHooks`` says; returns when the command has ended.
    ///
    /// - Throws: `unsupported` when the path has no such hook; `stopped` when the program doesn't run; `hookFailed` when the command fails.
    @discardableResult
    public func reload(_ path: CoordinatorPath) async throws -> CoordinatorSnapshot { try await operate(.reload, path) }

    /// Pauses a coordinator and those below it: messages to them wait.
    ///
    /// - Throws: `stopped` when the coordinator doesn't run, because a stopped one has nothing to pause; `noSuchPath`, `unsupported` of the root.
    @discardableResult
    public func pause(_ path: CoordinatorPath) async throws -> CoordinatorSnapshot { try await operate(.pause, path) }

    /// Resumes a coordinator that was paused by name.
    ///
    /// - Throws: `noSuchPath`, `unsupported` of the root. Resuming one that isn't paused, or doesn't run, does nothing.
    @discardableResult
    public func resume(_ path: CoordinatorPath) async throws -> CoordinatorSnapshot { try await operate(.resume, path) }

    private func operate(_ operation: Operation, _ path: CoordinatorPath) async throws -> CoordinatorSnapshot {
        guard !path.isRoot else {
            throw CoordinatorError(.unsupported, "the root has no parent to \(operation.rawValue) it: end the runtime instead")
        }
        do {
            return try CoordinatorSnapshot(decoding: try await root.operate(operation, on: path.components[...]))
        } catch {
            throw Failures.restored(error)
        }
    }

    private func body(_ name: String, _ payload: JSONValue) throws -> Envelope.Body {
        .encoded(name: name, .json, Payload(try PayloadCoder.encode(payload, as: .json)))
    }

    private func deliver(
        _ body: Envelope.Body,
        at path: CoordinatorPath,
        by deadline: MonotonicTime?,
        isOneWay: Bool = false,
        isDirect: Bool = false
    ) async throws -> Answer {
        let root = try root
        if root.isDraining { throw CoordinatorError.drains(.root) }
        let envelope = Envelope(body, sender: path, deadline: deadline, isOneWay: isOneWay)
        return try await envelope.delivered(in: core.execution.openAsks) { root.deliver($0, to: path.components[...], isDirect: isDirect) }
    }

    /// The messages and events that were dropped in the whole tree since it was started, also by workers that are gone.
    ///
    /// Dead letters of workers arrive some twenty milliseconds late.
    public var deadLetters: DeadLetterReport { core.observation.deadLetters.report }

    /// Returns a stream of everything that happens in the tree from now on, in every process: changes, handled messages, events, drops.
    ///
    /// The stream is for tracing and audit. It has a cost only while it's read. At most 4,096 events wait; then the oldest are dropped.
    public func tap() -> AsyncStream<TreeEvent> { core.observation.tap.open() }

    /// The numbers of live objects in this process.
    public var counters: RuntimeCounters { core.observation.counts.counters }

    /// Returns the numbers of live objects in the process of a coordinator.
    public func counters(of path: CoordinatorPath) async throws -> RuntimeCounters {
        if path.isRoot { return counters }
        return try RuntimeCounters(decoding: try await root.operate(.counters, on: path.components[...]))
    }

    /// Whether a process of the tree lives that this process or one below has started; false without a directory that stays.
    package var hasProcesses: Bool { core.processes.journal?.isEmpty == false }

    /// Creates the threads, pipes and timers that this process needs now, while descriptors are available.
    ///
    /// This is for daemons, whose descriptors other programs can use up by connecting.
    package func prepare() async throws {
        try ProcessSpawner.shared.prepare()
        // With its thread.
        _ = Timers.shared.schedule(at: .now) {}
        // Each clock of Dispatch has a descriptor of its own, which is made at the first wait.
        try await Task.sleep(for: .milliseconds(1), clock: .continuous)
        try await Task.sleep(for: .milliseconds(1), clock: .suspending)
    }
}

extension CoordinatorRuntime {
    /// The times of the asks of the tree since it was started, if they are counted.
    package var askDurations: AskDurations? { core.observation.telemetry.configuration.measures ? core.observation.telemetry.asks : nil }

    /// Has the times of asks be counted from now on, in all processes of the tree.
    package func countAsks() {
        var configuration = core.observation.telemetry.configuration
        guard !configuration.measures else { return }
        configuration.measures = true
        core.observation.telemetry.set(configuration)
    }
}
