import ConcurrencySupport
import NNG
import Processes

/// The peers that have connected and haven't said yet who they are.
///
/// They are few, and leave the process's last descriptors alone: the one that has been silent for longest gives way to the next.
final class Arrivals: Sendable {
    /// How many there may be at a time.
    private static let maximumCount = 64
    /// How many descriptors they leave to the rest of the process.
    private static let reservedDescriptors = 8

    private struct State {
        /// By their numbers, and so by their ages.
        var streams: [UInt64: ByteStream] = [:]
        var next: UInt64 = 0
    }

    private let state = Lock(State())

    /// Takes a peer in; the returned number takes it out again.
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

    /// The peer is known, or gone.
    func remove(_ number: UInt64) {
        state.withLock { $0.streams[number] = nil }
    }
}
