import ConcurrencySupport
import NNG
import Processes

/// The peers that have connected and have not sent hello yet.
///
/// Those of one process are limited in number, and all together leave some descriptors to the rest of the process: at a limit the oldest is
/// closed when another arrives, of the process that has the most. So a stranger with many connections drops its own, and children that are
/// started by the hundred, each with one, wait for each other: if one were closed, it would dial again at once, and none would get on.
final class Arrivals: Sendable {
    /// The number of peers of one process that may be silent at a time.
    private static let maximumCount = 64
    /// The number of descriptors that silent peers leave to the rest of the process.
    private static let reservedDescriptors = 8

    private struct State {
        /// The connections of each process by number; the oldest has the smallest.
        var streams: [Int32: [UInt64: ByteStream]] = [:]
        var next: UInt64 = 0

        /// Removes and returns the oldest connection of a process that has so many.
        mutating func removeOldest(of process: Int32, atLeast count: Int) -> ByteStream? {
            guard let own = streams[process], own.count >= count, let oldest = own.keys.min() else { return nil }
            return streams[process]?.removeValue(forKey: oldest)
        }
    }

    private let state = Lock(State())

    /// Adds a peer, and returns the function that removes it, when it has sent hello or is gone.
    func add(_ stream: ByteStream) -> @Sendable () -> Void {
        let isCrowded = ResourceLimits.descriptorRoom < Self.reservedDescriptors
        // Those whose process the kernel doesn't tell count as one's.
        let process = stream.peer?.processID ?? 0
        let (number, former) = state.withLock { state -> (UInt64, ByteStream?) in
            var former = state.removeOldest(of: process, atLeast: Self.maximumCount)
            if former == nil, isCrowded, let greatest = state.streams.max(by: { $0.value.count < $1.value.count })?.key {
                former = state.removeOldest(of: greatest, atLeast: 1)
            }
            state.next += 1
            state.streams[process, default: [:]][state.next] = stream
            return (state.next, former)
        }
        former?.close()
        return { [self] in remove(number, of: process) }
    }

    private func remove(_ number: UInt64, of process: Int32) {
        state.withLock { state in
            state.streams[process]?[number] = nil
            if state.streams[process]?.isEmpty == true { state.streams[process] = nil }
        }
    }
}
