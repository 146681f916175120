import ConcurrencySupport
import Synchronization
import WireProtocol

/// A message in transit together with its end, which comes exactly once: an answer or an error.
///
/// One-way messages that are alike and have arrived together may share an envelope, and then have the same end.
///
/// The first of the handler, the deadline, a cancelled asker, a lost peer and a stop ends a message; unless that was the handler, the
/// handler is cancelled.
final class Envelope: Sendable {
    typealias Completion = @Sendable (Result<Answer, any Error>) -> Void

    /// The recipient of a message's end.
    enum Asker: Sendable {
        /// A task of this process, which waits in ``delivered(in:by:)``.
        case task
        /// A task of this process that handles another message, in whose place this one goes on.
        case relay(of: Envelope)
        /// The process at the other end of a link.
        case peer(any RemoteProcess, Arrival)
        /// A function, which is called once.
        case function(Completion)
        /// The arrivals of an acknowledged message, of which this is the one that is handled.
        case taken(DeduplicatedMessage)
    }

    /// The work on a message, which a cancellation of the message ends.
    enum Work: Sendable {
        /// The message is handled by the coordinator that has taken it, as the handler with this number.
        case handler(UInt64)
        /// The message is handled by a task of this process.
        case task(Task<Void, Never>)
        /// The message has been handed to another process, under this number.
        case forwarded(any RemoteProcess, UInt64)
        /// The message is handled by something that this function ends.
        case function(@Sendable () -> Void)

        func cancel() {
            switch self {
            // Its coordinator does that.
            case .handler: break
            case .task(let task): task.cancel()
            case .forwarded(let peer, let correlation): peer.giveUp(correlation)
            case .function(let cancel): cancel()
            }
        }
    }

    /// The message, never encoded between coordinators of one process.
    ///
    /// An encoded message has the names of its type in one text, see ``WireNames``.
    enum Body: Sendable {
        case value(any ResponderMessage)
        case encoded(name: String, PayloadCodec, Payload)

        /// The name of the message, as its sender knows it.
        var name: String {
            switch self {
            case .value(let message): type(of: message).name
            case .encoded(let name, _, _): WireNames.first(in: name)
            }
        }

        /// All names of the message, in the form in which they go over a link.
        var wireName: String {
            switch self {
            case .value(let message): type(of: message).wireName
            case .encoded(let name, _, _): name
            }
        }

        /// The message with bytes of its own, which the handler of another one can't release.
        var copied: Body {
            switch self {
            case .value: self
            case .encoded(let name, let codec, let payload): .encoded(name: name, codec, Payload(payload.bytes))
            }
        }

        /// Whether the name of a message that has come from elsewhere is one of the runtime's.
        fileprivate var isBuiltin: Bool {
            if case .encoded(let name, _, _) = self { Builtins.isName(name) } else { false }
        }

        /// The types of errors that the message declares, where its type is known.
        var errors: [any ResponderError.Type] {
            switch self {
            case .value(let message): type(of: message).errorTypes
            case .encoded: []
            }
        }

        fileprivate var size: Int {
            switch self {
            case .value(let message): Self.size(of: message)
            case .encoded(_, _, let payload): payload.count + payload.messages * Envelope.overhead
            }
        }

        private static func size<M: ResponderMessage>(of message: M) -> Int { Envelope.size(of: M.self) }

        fileprivate var count: Int {
            if case .encoded(_, _, let payload) = self { payload.messages } else { 1 }
        }
    }

    /// The approximate size of a message besides its payload: the envelope, the payload's object and the places in the mailbox.
    private static let overhead = 640

    /// Returns the size of a message that isn't encoded, which counts against limits.
    static func size<M: ResponderMessage>(of message: M.Type) -> Int { MemoryLayout<M>.size + overhead }

    /// Returns the number of bytes that a message takes of a window, on both sides alike.
    ///
    /// - Parameter payload: The number of bytes of the payload.
    static func size(ofPayload payload: Int) -> Int { payload + 64 }

    let body: Body
    let asker: Asker
    /// The coordinator that asked first.
    let sender: CoordinatorPath
    let deadline: MonotonicTime?
    /// The W3C trace context, which isn't parsed here.
    let trace: Bytes
    /// Whether the asker doesn't wait for the handler: the answer then is that the message was accepted.
    let isOneWay: Bool
    /// The flow that takes the replies when the asker accepts several.
    let flow: ReplyFlow?
    /// The identity of an acknowledged message, until a coordinator takes it; `nil` for every other message.
    let delivery: AcknowledgedDelivery?
    /// Whether a message whose handler has begun ends with the handler, and not before because it was cancelled or its deadline has passed.
    let lingers: Bool
    /// Whether the message is one between runtimes.
    let isBuiltin: Bool
    /// Whether a pool hands the message on to a member, and takes it back as long as no life has got it.
    let isOfPool: Bool
    /// The number of messages: more than one where several share the envelope.
    let count: Int
    /// The size that counts against limits, in bytes: that of the payload where it's encoded, else the value's own.
    let size: Int
    /// The message in whose handler this one was asked, if it's known.
    ///
    /// Unsafe: it's set before the message is on its way.
    nonisolated(unsafe) private(set) var cause: ObjectIdentifier?
    /// The time at which the message was sent in this process, or arrived here.
    let arrived: MonotonicTime

    private enum Phase { case open, answered, failed }
    private typealias Waiter = UnsafeContinuation<Void, Never>

    private struct State {
        var phase = Phase.open
        /// Whether an interceptor of this process has begun.
        var isIntercepted = false
        /// Whether a message that went on in the place of this one was refused.
        var isRefused = false
        /// The number of handlers that may have begun: one of this process, those of other processes that the message has left for, and those
        /// of messages that went on in its place.
        var executions: Int32 = 0
        /// The end, until the asking task takes it.
        var outcome: Result<Answer, any Error>?
        /// The asking task, while it waits.
        ///
        /// Unsafe, because the checks of a checked one cost as much as the wait; the phase allows one end.
        var waiter: Waiter?
        var work: Work?
        /// The open asks among which this one is, and its number there.
        var owner: (asks: OpenAsks, number: UInt64)?

        var mayBeExecuted: Bool { isIntercepted || executions > 0 }
    }

    private let state = Lock(State())
    /// Whether the message isn't under way any more: a mailbox had room for it, its handler has begun, it has left for another process, or
    /// it has ended.
    private let isReleased = Atomic(false)
    /// Whether the phase isn't `open`, for readers that look again and again.
    private let isEnded = Atomic(false)
    /// Whether the handler runs on though the message was cancelled long ago.
    let isStuck = Atomic(false)
    /// Whether the handler is watched, since the message was cancelled.
    let isWatched = Atomic(false)
    /// The address of the coordinator that has taken the message into its mailbox; 0: none has.
    ///
    /// Not retained, since most messages are never cancelled. A coordinator lives for as long as a message that it has taken is open.
    private let taker = Atomic<UInt>(0)

    init(
        _ body: Body,
        asker: Asker = .task,
        sender: CoordinatorPath,
        deadline: MonotonicTime?,
        trace: Bytes = TraceContext.current?.bytes ?? [],
        isOneWay: Bool = false,
        isBuiltin: Bool? = nil,
        isOfPool: Bool = false,
        flow: ReplyFlow? = nil,
        delivery: AcknowledgedDelivery? = nil,
        lingers: Bool = false,
        arrived: MonotonicTime = .now
    ) {
        self.body = body
        self.asker = asker
        self.lingers = lingers
        self.sender = sender
        self.deadline = deadline
        self.trace = trace
        self.isOneWay = isOneWay
        self.flow = flow
        self.delivery = delivery
        self.isBuiltin = isBuiltin ?? body.isBuiltin
        self.isOfPool = isOfPool
        self.arrived = arrived
        count = body.count
        size = body.size
    }

    /// Whether the asker learns of the end: false for a one-way message that another process has sent without a number.
    var wantsAnswer: Bool {
        if case .peer(_, let arrival) = asker { arrival.correlation != 0 } else { true }
    }

    /// Whether the message has ended; a handler need not begin then.
    var hasEnded: Bool { isEnded.load(ordering: .acquiring) }

    /// The process that is to answer, and the message's number on the link to it, if it's open and has been handed to another process.
    var way: (peer: any RemoteProcess, correlation: UInt64)? {
        state.withLock { state in if case .forwarded(let peer, let correlation)? = state.work { (peer, correlation) } else { nil } }
    }

    /// Whether a handler need not begin: the asker doesn't wait any more, or a one-way message was never accepted.
    var isWithdrawn: Bool { state.withLock { $0.phase == .failed || $0.phase == .answered && !isOneWay } }

    /// Notes that a handler begins, or that the message leaves for another process, where one may: the message is either withdrawn before, and
    /// its end proves that nothing was executed, or its end says that it may have been.
    ///
    /// - Parameter isInterceptor: Whether the handler is an interceptor's.
    /// - Returns: False when the message was withdrawn: no handler may begin.
    func beginHandling(isInterceptor: Bool = false) -> Bool {
        switch asker {
        case .relay(let outer): guard outer.beginHandling() else { return false }
        case .taken(let message): guard message.beginHandling() else { return false }
        case .task, .peer, .function: break
        }
        let hasBegun = state.withLock { state -> Bool in
            // What an interceptor sends on is its own decision.
            guard state.isIntercepted || state.phase == .open || state.phase == .answered && isOneWay else { return false }
            if isInterceptor { state.isIntercepted = true } else { state.executions += 1 }
            return true
        }
        if !hasBegun, case .relay(let outer) = asker { outer.takeBack() }
        return hasBegun
    }

    /// Takes back that a handler may have begun, because it's known that none has.
    ///
    /// - Parameter isRefusal: Whether that is known from the end of a message that went on in the place of this one.
    func takeBack(_ executions: Int32 = 1, isRefusal: Bool = false) {
        state.withLock { state in
            state.executions -= min(executions, state.executions)
            if isRefusal { state.isRefused = true }
        }
        if case .relay(let outer) = asker, executions > 0 { outer.takeBack(executions) }
    }

    /// Whether a handler may have begun.
    var mayBeExecuted: Bool { state.withLock { $0.mayBeExecuted } }

    /// Whether an interceptor has let the message climb, and all that it has sent on was refused.
    var isRefused: Bool { state.withLock { $0.isRefused && $0.executions == 0 } }

    /// Adds the message to open asks, which end it when their coordinator stops, and at its deadline.
    func open(in asks: OpenAsks) {
        guard let number = asks.insert(self) else { return end(.failure(CoordinatorError.hasStopped(sender))) }
        let isOpen = state.withLock { state -> Bool in
            guard state.phase == .open else { return false }
            state.owner = (asks, number)
            return true
        }
        if !isOpen { asks.remove(number) }
    }

    /// Ends the message, unless it has ended.
    ///
    /// The handler isn't cancelled, since it's the caller.
    func complete(_ result: Result<Answer, any Error>) {
        // A one-way message that was accepted still waits for its handler.
        if case .success = result, isOneWay {} else { release() }
        finish(result, cancels: false)
    }

    /// Ends a one-way message that nobody waits for: it was accepted.
    func accept() {
        state.withLock { $0.phase = .answered }
        isEnded.store(true, ordering: .releasing)
    }

    /// Ends the message and cancels its handler.
    func end(_ result: Result<Answer, any Error>) { _ = endIfOpen(result) }

    /// Ends the message and cancels its handler.
    ///
    /// - Returns: False if the message had ended before.
    func endIfOpen(_ result: Result<Answer, any Error>) -> Bool {
        release()
        return finish(delivery == nil ? result : doubted(result), cancels: true)
    }

    /// Ends the message because its deadline has passed.
    func timeOut() {
        if isLeftToItsHandler { return }
        end(.failure(timeOutError))
    }

    /// What the asker of a message gets whose deadline has passed.
    var timeOutError: CoordinatorError { CoordinatorError(.timedOut, "\(body.name), asked by \(sender), was not answered in time") }

    /// Ends the message because the asker was cancelled.
    func cancel() {
        if isLeftToItsHandler { return }
        end(.failure(CancellationError()))
    }

    /// Cancels the handler of a message that lingers; false if the message doesn't, or has no handler yet.
    private var isLeftToItsHandler: Bool {
        guard lingers else { return false }
        let (work, taker) = state.withLock { $0.phase == .open ? ($0.work, openTaker) : (nil, nil) }
        switch work {
        case .handler(let number)?:
            taker?.cancel(number, of: self)
            return true
        case .forwarded(let peer, let correlation)?: return peer.cancelToItsEnd(correlation)
        case .function(let cancel)?:
            cancel()
            return true
        case .task?: return false
        // A row that doesn't await runs to its end.
        case nil: return taker?.noteCancellation(of: self) == true
        }
    }

    /// Notes the coordinator that takes the message into its mailbox: the coordinator must end it before the coordinator itself goes.
    func noteTaker(_ taker: some MessageReceiver) {
        self.taker.store(UInt(bitPattern: Unmanaged.passUnretained(taker).toOpaque()), ordering: .relaxed)
    }

    /// Forgets the coordinator that has taken the message, and its work on it: the message goes back, or the coordinator is gone.
    func forgetTaker() {
        // What ends the message retains the coordinator under the same lock.
        state.withLock { state in
            taker.store(0, ordering: .relaxed)
            state.work = nil
        }
    }

    /// The coordinator that has taken the message; to be read under the lock while the message is open, since the coordinator lives then.
    private var openTaker: (any MessageReceiver)? {
        guard let taker = UnsafeRawPointer(bitPattern: taker.load(ordering: .relaxed)) else { return nil }
        return Unmanaged<AnyObject>.fromOpaque(taker).takeUnretainedValue() as? any MessageReceiver
    }

    /// Marks the message as not under way any more, so that the process that has sent it gets its credit back.
    func release() {
        switch asker {
        case .peer(let peer, let arrival): if !isReleased.exchange(true, ordering: .relaxed) { peer.giveBack(arrival) }
        case .taken(let message): message.release()
        case .task, .relay, .function: break
        }
    }

    /// Sets the work on the message; cancels it at once if the message has ended meanwhile.
    func work(_ work: Work) {
        if !attachWork(work) { work.cancel() }
    }

    /// Sets the work on the message.
    ///
    /// - Returns: False if the message has ended meanwhile.
    func attachWork(_ work: Work) -> Bool {
        state.withLock { state -> Bool in
            if state.phase == .failed || state.phase != .open && !isOneWay { return false }
            state.work = work
            return true
        }
    }

    @discardableResult
    private func finish(_ result: Result<Answer, any Error>, cancels: Bool) -> Bool {
        let former = state.withLock { state -> Former? in
            guard state.phase == .open else { return nil }
            let taker = cancels ? openTaker : nil
            var doubt: (any Error)?
            if case .failure(let error) = result {
                state.phase = .failed
                // The handler's own end says what it knows, and so does an answer.
                if cancels, state.mayBeExecuted { doubt = (error as? CoordinatorError)?.doubted }
            } else {
                state.phase = .answered
            }
            isEnded.store(true, ordering: .releasing)
            if isAwaited { state.outcome = doubt.map { .failure($0) } ?? result }
            return Former(
                waiter: state.waiter.take(),
                work: isOneWay && !cancels ? nil : state.work.take(),
                owner: state.owner.take(),
                taker: taker,
                doubt: doubt,
                executions: state.executions
            )
        }
        guard let former else { return false }
        let result = former.doubt.map { .failure($0) } ?? result
        if let owner = former.owner { owner.asks.remove(owner.number) }
        // First, so that nothing that the asker does once it has the end overtakes the withdrawal, on whatever link.
        if cancels {
            if case .handler(let number)? = former.work { former.taker?.cancel(number, of: self) } else { former.work?.cancel() }
            if former.work == nil { _ = former.taker?.noteCancellation(of: self) }
        }
        switch asker {
        case .task: former.waiter?.resume()
        case .relay(let outer):
            if case .failure(let error as CoordinatorError) = result, !error.maybeExecuted {
                outer.takeBack(former.executions, isRefusal: true)
            }
            former.waiter?.resume()
        case .peer(let peer, let arrival): peer.answer(arrival, of: self, result)
        case .function(let complete): complete(result)
        case .taken(let message): message.end(result)
        }
        return true
    }

    /// What a message's end takes from its state.
    private struct Former {
        let waiter: Waiter?
        let work: Work?
        let owner: (asks: OpenAsks, number: UInt64)?
        /// The coordinator that has taken the message, where its handler is to be cancelled.
        let taker: (any MessageReceiver)?
        /// The error instead of one that would prove that nothing was executed.
        let doubt: (any Error)?
        let executions: Int32
    }

    /// Whether a task waits for the end, or will.
    private var isAwaited: Bool {
        switch asker {
        case .task, .relay: true
        case .peer, .function, .taken: false
        }
    }
}

extension Envelope {
    /// Sends the message on its way and waits for its end.
    ///
    /// Cancelling the waiting task cancels the handler.
    ///
    /// The message is sent before the first suspension: two asks that begin one after the other are sent one after the other.
    ///
    /// What doesn't wait is in functions of its own, for which a task that waits keeps no room.
    func delivered(in asks: OpenAsks, by dispatch: (Envelope) -> Void) async throws -> Answer {
        let waiting = try depart(in: asks, by: dispatch)
        defer { waiting?.end() }
        #if !SLOW_PATH_ONLY
        if awaitsBusily() { await Task.yield() }
        #endif
        if hasEnded {
            // So that a loop that retries lets other tasks run.
            if hasFailed { await Task.yield() }
        } else {
            await withTaskCancellationHandler {
                await withUnsafeContinuation { wait($0) }
            } onCancel: {
                cancel()
            }
        }
        return try takeAnswer()
    }

    @inline(never)
    private func depart(in asks: OpenAsks, by dispatch: (Envelope) -> Void) throws -> HandlerScope.Wait? {
        try Task.checkCancellation()
        // Before the message is on its way: the coordinator that it reaches may ask back at once.
        let scope = HandlerScope.current
        noteCause()
        let waiting = scope?.beginWait()
        open(in: asks)
        if !hasEnded { dispatch(self) }
        return waiting
    }

    /// Notes the message whose handler sends this one; called before this one is on its way.
    func noteCause() { cause = HandlerScope.current?.handled }

    /// Whether the message has ended without an answer, though there is a responder: a message without one is no reason to retry.
    private var hasFailed: Bool {
        state.withLock { state in
            guard case .failure(let error)? = state.outcome else { return false }
            return (error as? CoordinatorError)?.code != .unhandled
        }
    }

    @inline(never)
    private func takeAnswer() throws -> Answer {
        let outcome = state.withLock { $0.outcome.take() }
        guard let outcome else { preconditionFailure("an outcome is taken once, after the end") }
        return try outcome.restored(for: body).get()
    }

    private func wait(_ waiter: Waiter) {
        let hasEnded = state.withLock { state in
            if state.outcome == nil { state.waiter = waiter }
            return state.outcome != nil
        }
        if hasEnded { waiter.resume() }
    }
}

extension Envelope {
    /// Sends a one-way message.
    ///
    /// - Returns: Whether a coordinator responds to the message.
    static func isAccepted(_ send: () async throws -> Answer) async throws -> Bool {
        do {
            _ = try await send()
            return true
        } catch let error as CoordinatorError where error.code == .unhandled {
            return false
        }
    }
}

extension CoordinatorError {
    static func hasStopped(_ path: CoordinatorPath, maybeExecuted: Bool = false) -> CoordinatorError {
        CoordinatorError(.stopped, "\(path) has stopped", maybeExecuted: maybeExecuted)
    }

    static func drains(_ path: CoordinatorPath) -> CoordinatorError {
        CoordinatorError(.draining, "\(path) is stopping, and finishes only what it has taken")
    }

    static func restartsLate(_ path: CoordinatorPath, _ cause: String = "") -> CoordinatorError {
        CoordinatorError(.restarting, "\(path) is being restarted, later than the deadline\(cause)")
    }
}

extension Envelope {
    /// An envelope for each of the messages, none of which has been handled yet.
    var separated: [Envelope] {
        #if !SLOW_PATH_ONLY
        if count > 1 { return separatedMessages }
        #endif
        return [self]
    }
}

/// A message of the other side, until it's answered.
struct Arrival: Sendable {
    /// The number by which the other side knows the message; 0: it wants no answer.
    let correlation: UInt64
    let codec: PayloadCodec
    /// The route that the message has taken credit from, and how much; `nil` for messages between runtimes, which take none.
    let route: String?
    let size: Int
    /// The number of messages: more than one where several share an envelope.
    var count = 1
}

/// The bytes of a message, or of several, one after the other.
///
/// They are released once the handler has the message itself: both together would take twice what the mailbox counts.
final class Payload: Sendable {
    private struct Content {
        var bytes: Bytes
        /// The lengths of the messages, if there are several.
        let lengths: [Int]
        var next = 0
    }

    /// The number of bytes at the start.
    let count: Int
    /// The number of messages at the start.
    let messages: Int
    private let content: Lock<Content>

    /// - Parameter lengths: The length of each message, if there are several.
    init(_ bytes: Bytes, lengths: [Int] = []) {
        count = bytes.count
        messages = max(lengths.count, 1)
        content = Lock(Content(bytes: bytes, lengths: lengths))
    }

    /// The bytes of all messages that weren't taken.
    var bytes: Bytes { content.withLock { $0.bytes } }

    /// Returns the bytes of the next message; all are released with the last.
    func takeBytes() -> Bytes {
        content.withLock { content in
            let bytes = content.bytes
            guard content.next + 1 < content.lengths.count else {
                content.bytes = []
                return bytes
            }
            let end = bytes.startIndex + content.lengths[content.next]
            content.next += 1
            content.bytes = bytes[end...]
            return bytes[..<end]
        }
    }
}
