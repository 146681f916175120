import ConcurrencySupport
import Synchronization
import WireProtocol

/// The running handler of a message, as the code that it calls knows it.
///
/// A handler that waits for other coordinators may wait for one that asks back. Each operation that waits for another coordinator therefore
/// says so, and messages of the subtree may begin meanwhile, though as many handlers run as may. Not every handler has to: see
/// `Mailbox.observesHandler(of:)`. The asks of a handler end with the deadline of the message that it handles.
final class HandlerScope: Sendable {
    /// The handler to which the present task belongs; `nil` outside of handlers, and in those whose message has no
    /// deadline, and that needn't say when they wait.
    @TaskLocal static var current: HandlerScope?

    private let receiver: any MessageReceiver
    /// The message that is handled, which lives as long as its handler.
    let handled: ObjectIdentifier?
    /// The deadline of the message; `nil`: none, or the asker doesn't wait for the handler.
    private let deadline: MonotonicTime?
    /// Whether the handler says when it waits for other coordinators.
    let isObserved: Bool
    /// The number of the handler.
    private let number: UInt64
    /// The number of waits of the handler's tasks; far below zero once the handler has ended.
    private let waits = Atomic(0)

    private init(
        of receiver: any MessageReceiver,
        _ number: UInt64,
        handling handled: ObjectIdentifier?,
        deadline: MonotonicTime?,
        isObserved: Bool
    ) {
        self.receiver = receiver
        self.number = number
        self.handled = handled
        self.deadline = deadline
        self.isObserved = isObserved
    }

    /// Returns the scope of a handler; `nil` if it needs none.
    static func of(_ receiver: any MessageReceiver, handling envelope: Envelope?, as number: UInt64, isObserved: Bool) -> HandlerScope? {
        let deadline = envelope.flatMap { $0.isOneWay ? nil : $0.deadline }
        guard isObserved || deadline != nil else { return nil }
        let handled = envelope.map { ObjectIdentifier($0) }
        return HandlerScope(of: receiver, number, handling: handled, deadline: deadline, isObserved: isObserved)
    }

    func belongs(to receiver: any MessageReceiver) -> Bool { isObserved && self.receiver === receiver }

    /// Returns the deadline of an ask: that of the message that is handled, if it's earlier.
    ///
    /// A task that the handler has left running has a deadline of its own.
    static func deadline(_ deadline: MonotonicTime) -> MonotonicTime {
        guard let scope = current, let inherited = scope.deadline, scope.waits.load(ordering: .relaxed) >= 0 else { return deadline }
        return min(deadline, inherited)
    }

    /// Performs an operation as a part of a handler, or of none.
    static func perform<Result>(in scope: HandlerScope?, _ operation: () throws -> Result) rethrows -> Result {
        // Most operations are a part of none before and after, and needn't set the value.
        scope == nil && current == nil ? try operation() : try $current.withValue(scope, operation: operation)
    }

    /// Notes that a task of the handler begins to wait for another coordinator.
    ///
    /// - Returns: The wait, which the caller must end; `nil` if the handler needn't say when it waits.
    func beginWait() -> Wait? {
        guard isObserved else { return nil }
        if waits.add(1, ordering: .acquiringAndReleasing).oldValue == 0 { receiver.handlerWaits() }
        return Wait(scope: self)
    }

    /// Notes that a task of the handler begins to wait for the start or the end of a child, which takes the time that it takes.
    func beginWaitForChild() -> ChildWait {
        receiver.noteWaitForChild(of: number, begins: true)
        return ChildWait(scope: self, wait: beginWait())
    }

    /// Notes that the handler has ended; a task that it has left running keeps no message from waiting.
    ///
    /// - Returns: Whether the handler was waiting.
    func end() -> Bool { waits.exchange(.min / 2, ordering: .acquiringAndReleasing) > 0 }

    /// A wait of a handler for another coordinator.
    struct Wait {
        fileprivate let scope: HandlerScope

        func end() {
            if scope.waits.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { scope.receiver.handlerWaitsNoMore() }
        }
    }

    /// A wait of a handler for the start or the end of a child.
    struct ChildWait {
        fileprivate let scope: HandlerScope
        fileprivate let wait: Wait?

        func end() {
            scope.receiver.noteWaitForChild(of: scope.number, begins: false)
            wait?.end()
        }
    }
}

// MARK: - Context and trace of a message

/// The sender, remaining time and trace of a message.
public struct MessageContext: Sendable {
    /// The coordinator that asked first, as the process says that has sent the message: a worker that means harm may name another.
    public let sender: CoordinatorPath
    /// The time that remains until the asker's deadline; `nil`: no deadline.
    public let remainingTime: Duration?
    /// The trace that the message belongs to.
    public let trace: TraceContext?

    init(_ envelope: Envelope, _ time: TimeSource) {
        sender = envelope.sender
        remainingTime = envelope.deadline.map { max($0 - time.now, .zero) }
        trace = TraceContext(envelope.trace)
    }
}

/// The trace that a message belongs to: the value of a W3C `traceparent` header, which the runtime doesn't parse.
///
/// A trace goes with every message that is sent while it's ``current``, through every process, and is current in their handlers.
/// Follows https://www.w3.org/TR/trace-context/.
public struct TraceContext: Sendable, Hashable, Codable {
    /// The header's value, `00-<trace>-<span>-<flags>`.
    public let traceparent: String

    /// Creates a trace context.
    public init(traceparent: String) { self.traceparent = traceparent }

    /// The trace of the message that this task handles, or that the caller has set for it.
    @TaskLocal public static var current: TraceContext?
}

extension TraceContext {
    init?(_ bytes: Bytes) {
        // Bytes that aren't UTF-8 would become longer from process to process.
        guard !bytes.isEmpty, let text = String(validating: bytes, as: UTF8.self) else { return nil }
        self.init(traceparent: text)
    }

    var bytes: Bytes { Bytes(Array(traceparent.utf8)) }
}
