import ConcurrencySupport
public import Processes

/// The output of a process so far, and whether it has ended.
public final class Transcript: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var ends = 0
    }

    private let state = Lock(State())

    public init() {}

    public var destination: OutputDestination {
        .captured { [self] bytes in append(bytes) }
    }

    /// Takes a part of the output; an empty one is the end.
    public func append(_ bytes: [UInt8]) {
        state.withLock { state in
            if bytes.isEmpty { state.ends += 1 }
            state.bytes += bytes
        }
    }

    public var bytes: [UInt8] { state.withLock { $0.bytes } }
    public var text: String { String(decoding: bytes, as: UTF8.self) }
    /// The number of times that the end was reported.
    public var ends: Int { state.withLock { $0.ends } }
}
