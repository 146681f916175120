import ConcurrencySupport
import NNG
import Processes

/// The peers that have connected and have not sent hello yet.
///
/// They are limited in number, and leave some descriptors to the rest of the process: at the limit, the oldest is closed when another arrives.
final class Arrivals: Sendable {
    /// The number of peers that may be silent at a time.
    private static let maximumCount = 64
    /// The number of descriptors that silent peers leave to the rest of the process.
    private static let reservedDescriptors = 8

    private struct State {
        /// The connections by number; the oldest has the smallest.
        var streams: [UInt64: ByteStream] = [:]
        var next: UInt64 = 0
    }

    private let state = Lock(State())

    /// Adds a peer, and returns the number that removes it.
    func add(_ stream: ByteStream) -> UInt64 {
        let isCrowded = ResourceLimits.descriptorRoom < Self.reservedDescriptors
        let (number, former) = state.withLock { state -> (UInt64, ByteStream?) in
            let mustGiveWay = !state.streams.isEmpty && (isCrowded || state.streams.count >= Self.maximumCount)
            let oldest = mustGiveWay ? state.streams.keys.min() : nil
            let former = oldest.flatMap { state.streams.removeValue(forKey: $0) }
            state.next += 1
            state.streams[state.next] = stream
            return (state.next, former)
        }
        former?.close()
        return number
    }

    /// Removes a peer that has sent hello, or is gone.
    func remove(_ number: UInt64) {
        state.withLock { $0.streams[number] = nil }
    }
}
