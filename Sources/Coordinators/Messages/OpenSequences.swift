import Acknowledgement
import ConcurrencySupport

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
