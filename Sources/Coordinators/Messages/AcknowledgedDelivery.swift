import Acknowledgement
import ConcurrencySupport
import WireProtocol

/// The identity of an acknowledged message, which it keeps through all processes, and what this process knows of its way.
///
/// The number is given when the message first leaves its sender's process: a message that stays there is transmitted by a call, and arrives
/// once.
final class AcknowledgedDelivery: Sendable {
    /// The numbers of the sender's runtime; `nil` if the message has come from another process.
    private let numbers: OpenSequences?
    private let state: Lock<Delivery>

    /// Creates the identity of a message that a coordinator of this process sends.
    init(numberedBy numbers: OpenSequences) {
        self.numbers = numbers
        state = Lock(Delivery())
    }

    /// Creates the identity of a message that has come from another process.
    init(_ label: DeliveryLabel) {
        numbers = nil
        state = Lock(Delivery(label))
    }

    /// Whether the message has come from another process, and may come again.
    var isRelayed: Bool { numbers == nil }

    var label: DeliveryLabel { state.withLock { $0.label } }

    /// Whether the message may have been handled by a life that this process can't ask any more.
    var mayBeHandled: Bool { state.withLock { $0.mayBeHandled } }

    /// Notes that the message leaves this process.
    ///
    /// - Returns: The label for the transmission.
    func depart(at time: MonotonicTime) -> DeliveryLabel {
        state.withLock { numbers?.depart(&$0, at: time) ?? $0.depart(at: time.sinceOrigin) }
    }

    /// Notes that the link by which the message left was lost before the answer came: the message may have arrived.
    func linkBelowWasLost() { state.withLock { $0.linkBelowWasLost() } }

    /// Notes that the link by which the message came was lost: the message may come again, and be handled first.
    func linkAboveWasLost(after arrival: MonotonicTime) { state.withLock { $0.linkAboveWasLost(after: arrival.sinceOrigin) } }

    /// Notes that the sender has the message's end, so that the receivers may forget it.
    func settle() {
        guard let numbers else { return }
        let sequence = state.withLock { $0.label.sequence }
        if sequence != 0 { numbers.settle(sequence) }
    }
}

extension DeliveryLabel {
    /// The field of a frame that says since when the message may have been handled.
    var sinceOnWire: UInt64 { since.map { UInt64(clamping: max(MonotonicTime(sinceOrigin: $0).nanoseconds, 1)) } ?? 0 }
}

extension Envelope {
    /// Whether the sender waits until the message is handled, and the message is handled once.
    var isAcknowledged: Bool {
        if case .taken = asker { true } else { delivery != nil }
    }

    /// The identity of an acknowledged message that may come again; `nil` if it has none, or was taken already.
    var label: DeliveryLabel? { delivery?.label.sequence == 0 ? nil : delivery?.label }

    /// Whether the message is acknowledged, and may have been handled by a life that can't be asked any more.
    var mayBeHandled: Bool { delivery?.mayBeHandled == true }

    /// Returns an end that this process gives the message itself, and that doesn't prove that nothing was executed if the message may have
    /// been handled before: a refusal on the way is none by the coordinator that has had it.
    func doubted(_ result: Result<Answer, any Error>) -> Result<Answer, any Error> {
        guard case .failure(let error as CoordinatorError) = result, mayBeHandled else { return result }
        return .failure(error.doubted)
    }
}

// MARK: - Numbers of acknowledged messages

/// The numbers of the acknowledged messages that have left this runtime and haven't ended.
final class OpenSequences: Sendable {
    /// The number of this runtime among all origins; random, so that none is ever like another.
    private let origin = UInt64.random(in: 1 ... .max)
    private let state = Lock(SequenceFloor())

    /// Notes that a message of this runtime leaves it.
    ///
    /// - Returns: The label for the transmission.
    func depart(_ delivery: inout Delivery, at time: MonotonicTime) -> DeliveryLabel {
        state.withLock { delivery.depart(at: time.sinceOrigin, from: origin, &$0) }
    }

    /// Closes a number whose message has ended.
    func settle(_ sequence: UInt64) { state.withLock { $0.settle(sequence) } }
}

/// The acknowledged messages from other processes that a coordinator has taken.
final class DeliveryDeduplication: Sendable {
    /// The decision about an arrival.
    enum Admission {
        /// This is to be handled.
        case new(Envelope)
        /// The message was taken before, and the arrival gets its end.
        case known
        case uncertain
    }

    private let messages: Lock<TakenMessages<DeduplicatedMessage>>

    /// - Parameter limit: The number of messages that are kept, which is that of a link's credit.
    init(since birth: MonotonicTime, limit: Int) { messages = Lock(TakenMessages(since: birth.sinceOrigin, limit: limit)) }

    func admit(_ arrival: Envelope, _ label: DeliveryLabel) -> Admission {
        let new = DeduplicatedMessage(label, of: self)
        let admission = messages.withLock { $0.admit(label, now: MonotonicTime.now.sinceOrigin) { new } }
        switch admission {
        case .new: return .new(new.makeMessage(for: arrival))
        case .known(let taken):
            taken.join(arrival)
            return .known
        case .uncertain: return .uncertain
        }
    }

    fileprivate func ended(_ label: DeliveryLabel) {
        messages.withLock { $0.ended(label, now: MonotonicTime.now.sinceOrigin) }
    }
}

/// A message that a coordinator handles once, for every arrival of it.
final class DeduplicatedMessage: Sendable {
    private enum State {
        /// The handler hasn't ended; the arrivals wait for that. The message itself is known once the first arrival is.
        /// Can transition to: ended.
        case open(DeliveryDeduplication, message: Envelope?, arrivals: [Envelope])
        /// The end, which a later arrival gets too.
        case ended(Result<Answer, any Error>)
    }

    private let label: DeliveryLabel
    private let state: Lock<State>

    init(_ label: DeliveryLabel, of taking: DeliveryDeduplication) {
        self.label = label
        state = Lock(State.open(taking, message: nil, arrivals: []))
    }

    /// Returns the message that is handled, in the place of its first arrival.
    fileprivate func makeMessage(for arrival: Envelope) -> Envelope {
        let message = Envelope(
            arrival.body,
            asker: .taken(self),
            sender: arrival.sender,
            deadline: arrival.deadline,
            trace: arrival.trace,
            isBuiltin: false,
            lingers: arrival.lingers
        )
        let early = state.withLock { state -> [Envelope] in
            guard case .open(let taking, _, let arrivals) = state else { return [] }
            state = .open(taking, message: message, arrivals: arrivals + [arrival])
            return arrivals
        }
        for arrival in early + [arrival] { Self.bind(message, to: arrival) }
        return message
    }

    /// Gives a later arrival the message's end, now or when it comes.
    fileprivate func join(_ arrival: Envelope) {
        // It takes no room here.
        arrival.release()
        let (message, result) = state.withLock { state -> (Envelope?, Result<Answer, any Error>?) in
            switch state {
            case .ended(let result): return (nil, result)
            case .open(let taking, let message, let arrivals):
                state = .open(taking, message: message, arrivals: arrivals + [arrival])
                return (message, nil)
            }
        }
        if let message { Self.bind(message, to: arrival) }
        if let result { arrival.complete(result) }
    }

    /// Has the message end when the sender gives an arrival up.
    private static func bind(_ message: Envelope, to arrival: Envelope) {
        let deadline = arrival.deadline
        arrival.work(
            .function {
                // Every other arrival gets the error that this one has got.
                if let deadline, deadline <= .now { message.timeOut() } else { message.cancel() }
            }
        )
    }

    /// Notes that the message isn't under way any more.
    func release() { for arrival in arrivals { arrival.release() } }

    /// Notes that the message's handler begins, for every arrival.
    ///
    /// - Returns: False when all arrivals were withdrawn.
    func beginHandling() -> Bool { arrivals.count { $0.beginHandling() } > 0 }

    private var arrivals: [Envelope] {
        state.withLock { state in
            if case .open(_, _, let arrivals) = state { arrivals } else { [] }
        }
    }

    /// Ends the message for every arrival, and keeps the end for later ones.
    func end(_ result: Result<Answer, any Error>) {
        let former = state.withLock { state -> (taking: DeliveryDeduplication, arrivals: [Envelope])? in
            guard case .open(let taking, _, let arrivals) = state else { return nil }
            state = .ended(result)
            return (taking, arrivals)
        }
        guard let former else { return }
        former.taking.ended(label)
        for arrival in former.arrivals { arrival.complete(result) }
    }
}
