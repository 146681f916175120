import ConcurrencySupport
public import Coordinators

/// A stand-in for the coordinators around the one under test: it records what they would get, and answers as the test says.
///
/// A probe takes the place of all ancestors, or of a type of children:
///
///     let (above, payments) = (Probe(), Probe())
///     above.answer(Account.Verify.self) { verify in verify.name == "ada" }
///     try await withRuntime(Checkout.self, under: above, standIns: [.init(for: Payment.self, payments)]) { runtime in
///         async let receipt = runtime.ask(Checkout.Pay(cents: 100), at: .subject)
///         let charge = try await payments.expect(Payment.Charge.self)
///         #expect(charge.message.cents == 100)
///         charge.reply(true)
///         #expect(try await receipt.isPaid)
///     }
///
/// Every message that reaches a probe has a responder there. One that the test neither answers nor expects stays in ``waiting``, and its
/// asker waits until its deadline.
public final class Probe: Sendable {
    typealias Answering = @Sendable (AnyMessage) async throws -> AnyReply

    private struct Waiter {
        let name: String
        let request: OneShot<Arrival>
    }

    private struct State {
        var answers: [String: Answering] = [:]
        var received: [Record] = []
        /// The messages that the test hasn't taken, the oldest first.
        var arrivals: [Arrival] = []
        var waiters: [Waiter] = []
        var events: [any Sendable] = []
        var changes: [Change] = []
    }

    /// A message that has arrived.
    public struct Record: Sendable, Hashable {
        /// The wire name, "Cart.Add".
        public let name: String
        /// The path of the coordinator that has sent the message.
        public let sender: CoordinatorPath
    }

    /// A change of the coordinator under test.
    public struct Change: Sendable, Hashable {
        /// The path of the coordinator.
        public let path: CoordinatorPath
        /// What has happened to it.
        public let change: LifecycleChange
    }

    private let state = Lock(State())
    private let output = OneShot<Result<any Sendable, any Error>>()

    /// Creates a probe that answers nothing.
    public init() {}

    // MARK: Answering

    /// Answers every message of a type from now on; a later call replaces the body of a former one.
    public func answer<M: ResponderMessage>(_ message: M.Type, _ body: @escaping @Sendable (M) async throws -> M.Reply) {
        state.withLock { state in
            state.answers[M.name] = { AnyReply(try await body(try $0.decoded(as: M.self))) }
        }
    }

    /// Takes the oldest message of a type that hasn't been taken, and waits for it if none has arrived.
    ///
    /// - Parameters:
    ///   - message: The type of the message.
    ///   - limit: The longest wait, in real time.
    ///   - fileID: The file of the caller.
    ///   - line: The line of the caller.
    /// - Throws: ``ProbeError`` when the time is over; it names what has arrived instead.
    public func expect<M: ResponderMessage>(
        _ message: M.Type,
        within limit: Duration = .seconds(20),
        fileID: String = #fileID,
        line: Int = #line
    ) async throws -> Request<M> {
        let wait = OneShot<Arrival>()
        let arrival = state.withLock { state -> Arrival? in
            guard let index = state.arrivals.firstIndex(where: { $0.message.name == M.name }) else {
                state.waiters.append(Waiter(name: M.name, request: wait))
                return nil
            }
            return state.arrivals.remove(at: index)
        }
        if let arrival { return try Request(arrival) }
        if let arrival = await wait.value(before: .now + limit * slowness) { return try Request(arrival) }
        let isWithdrawn = state.withLock { state in
            let index = state.waiters.firstIndex { $0.request === wait }
            if let index { state.waiters.remove(at: index) }
            return index != nil
        }
        // A message has arrived at the last moment, and is on its way here.
        if !isWithdrawn { return try Request(await wait.value) }
        throw ProbeError(
            "no \(M.name) has arrived within \(limit), \(fileID):\(line); \(received.isEmpty ? "nothing has" : "what has: \(received)")"
        )
    }

    // MARK: What was recorded

    /// All messages that have arrived, in order.
    public var received: [Record] { state.withLock { $0.received } }

    /// The messages that the test has neither answered nor taken.
    public var waiting: [Record] { state.withLock { $0.arrivals.map(\.record) } }

    /// The events that the coordinator under test has sent to its delegates, of the given type, in order.
    public func events<Event: Sendable>(of type: Event.Type) -> [Event] { state.withLock { $0.events.compactMap { $0 as? Event } } }

    /// The changes of the coordinator under test that its parent would observe, in order.
    public var changes: [Change] { state.withLock { $0.changes } }

    /// Returns the output with which the coordinator under test finishes.
    ///
    /// - Throws: The error with which it ends otherwise; ``ProbeError`` when the output is of another type.
    public func output<Output: Sendable>(as type: Output.Type = Output.self) async throws -> Output {
        guard let result = await output.valueUnlessCancelled() else { throw CancellationError() }
        guard let value = try result.get() as? Output else { throw ProbeError("the output is no \(type)") }
        return value
    }

    // MARK: For the coordinators in whose places the probe stands

    func answer(_ message: AnyMessage) async throws -> AnyReply {
        let arrival = Arrival(message)
        let (answering, waiter) = state.withLock { state -> (Answering?, OneShot<Arrival>?) in
            state.received.append(arrival.record)
            if let answering = state.answers[message.name] { return (answering, nil) }
            if let index = state.waiters.firstIndex(where: { $0.name == message.name }) {
                return (nil, state.waiters.remove(at: index).request)
            }
            state.arrivals.append(arrival)
            return (nil, nil)
        }
        if let answering { return try await answering(message) }
        waiter?.settle(arrival)
        if message.isOneWay { return AnyReply(NoReply()) }
        guard let reply = await arrival.reply.valueUnlessCancelled() else {
            state.withLock { $0.arrivals.removeAll { $0.reply === arrival.reply } }
            throw CancellationError()
        }
        return try reply.get()
    }

    func note(event: any Sendable) { state.withLock { $0.events.append(event) } }

    func note(_ change: LifecycleChange, of path: CoordinatorPath) {
        state.withLock { $0.changes.append(Change(path: path, change: change)) }
    }

    func note(output result: Result<any Sendable, any Error>) { output.settle(result) }
}

extension Probe {
    /// A message that has arrived, and its answer.
    struct Arrival: Sendable {
        let message: AnyMessage
        let reply = OneShot<Result<AnyReply, any Error>>()

        init(_ message: AnyMessage) { self.message = message }

        var record: Record { Record(name: message.name, sender: message.context.sender) }
    }

    /// A message that a test has taken, to be answered.
    public struct Request<M: ResponderMessage>: Sendable {
        /// The message.
        public let message: M
        private let arrival: Arrival

        init(_ arrival: Arrival) throws {
            do {
                message = try arrival.message.decoded(as: M.self)
            } catch {
                arrival.reply.settle(.failure(error))
                throw error
            }
            self.arrival = arrival
        }

        /// The sender, remaining time and trace of the message.
        public var context: MessageContext { arrival.message.context }

        /// Answers the message; only the first answer counts.
        public func reply(_ reply: M.Reply) { arrival.reply.settle(.success(AnyReply(reply))) }

        /// Answers a message that has no reply.
        public func reply() where M.Reply == NoReply { reply(NoReply()) }

        /// Answers the message with an error, as a handler that throws it.
        public func fail(_ error: any Error) { arrival.reply.settle(.failure(error)) }
    }
}

/// A failed expectation of a probe.
public struct ProbeError: Error, CustomStringConvertible {
    /// What was expected, and what has come.
    public let description: String

    init(_ description: String) { self.description = description }
}

/// A probe in the place of every child of a type.
public struct StandIn: Sendable {
    let name: String
    let probe: Probe

    /// Has a probe get the messages of all children of a type, whatever their keys; no coordinator of the type is made.
    public init<C: Coordinator>(for type: C.Type, _ probe: Probe) {
        name = CoordinatorRuntime.name(of: type)
        self.probe = probe
    }
}

extension CoordinatorPath {
    /// The path of the coordinator under test beneath a probe.
    public static var subject: CoordinatorPath { "/subject" }
}
