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
    /// Reads the label of a frame; `nil` if the message isn't acknowledged.
    init?(_ ask: Ask, of frame: Frame) {
        guard ask.origin != 0 else { return nil }
        let since = ask.since == 0 ? nil : Duration.nanoseconds(Int64(clamping: ask.since))
        self.init(origin: ask.origin, sequence: frame.sequence, floor: frame.acknowledgement, since: since)
    }

    /// The field of a frame that says since when the message may have been handled.
    var sinceOnWire: UInt64 { since.map { UInt64(clamping: max(MonotonicTime(sinceOrigin: $0).nanoseconds, 1)) } ?? 0 }
}

extension Envelope {
    /// Whether the sender waits until the message is handled, and the message is handled once.
    var isAcknowledged: Bool {
        if case .taken = asker { true } else { delivery != nil }
    }

    /// Whether the message is acknowledged, and may have been handled by a life that can't be asked any more.
    var mayBeHandled: Bool { delivery?.mayBeHandled == true }

    /// Returns an end that this process gives the message itself, and that doesn't prove that nothing was executed if the message may have
    /// been handled before: a refusal on the way is none by the coordinator that has had it.
    func doubted(_ result: Result<Answer, any Error>) -> Result<Answer, any Error> {
        guard case .failure(let error as CoordinatorError) = result, mayBeHandled else { return result }
        return .failure(error.doubted)
    }
}

extension RuntimeCore {
    /// Sends a message, and waits until it's handled.
    ///
    /// - Returns: Whether a coordinator responds.
    func sendAcknowledged(
        _ body: Envelope.Body,
        from sender: CoordinatorPath,
        by deadline: MonotonicTime?,
        in asks: OpenAsks,
        dispatch: (Envelope) -> Void
    ) async throws -> Bool {
        let delivery = AcknowledgedDelivery(numberedBy: sequences)
        defer { delivery.settle() }
        do {
            _ = try await Envelope(body, sender: sender, deadline: deadline, delivery: delivery).delivered(in: asks, by: dispatch)
            return true
        } catch let error as CoordinatorError where error.code == .unhandled && !error.maybeExecuted {
            // An error that says that it may have been executed is one that a handler has thrown.
            return false
        }
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
