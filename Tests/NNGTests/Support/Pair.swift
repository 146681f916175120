import ConcurrencySupport
import NNG
import TestSupport

/// Two ends of one connection in this process, and the listener that they met at.
struct Pair {
    /// A size beyond any kernel's buffers: a send stays under way until the peer reads.
    static let unholdable = 32 << 20

    let directory: TemporaryDirectory
    let listener: StreamListener
    let dialled: PairConnection
    let accepted: PairConnection

    init(maximumMessageSize: Int = PairConnection.defaultMaximumMessageSize, dialledMaximum: Int? = nil) async throws {
        let directory = try TemporaryDirectory()
        let listener = try StreamListener(directory.url())
        async let other = PairConnection.dial(directory.url(), maximumMessageSize: dialledMaximum ?? maximumMessageSize)
        accepted = try await PairConnection.negotiate(listener.accept(), maximumMessageSize: maximumMessageSize)
        dialled = try await other
        self.directory = directory
        self.listener = listener
    }

    func close() {
        dialled.close()
        accepted.close()
        listener.close()
    }
}

/// Two ends of a byte stream in this process.
struct StreamPair {
    let directory: TemporaryDirectory
    let listener: StreamListener
    let dialled: ByteStream
    let accepted: ByteStream

    init() async throws {
        let directory = try TemporaryDirectory()
        let listener = try StreamListener(directory.url())
        async let other = ByteStream.dial(directory.url())
        accepted = try await listener.accept()
        dialled = try await other
        self.directory = directory
        self.listener = listener
    }

    func close() {
        dialled.close()
        accepted.close()
        listener.close()
    }
}

/// Sends one message after the other, as the link layer does: what comes while one is under way waits for its completion.
final class Outbox: Sendable {
    private let connection: PairConnection
    private let state = Lock((isBusy: false, waiting: [[UInt8]]()))

    init(_ connection: PairConnection) {
        self.connection = connection
    }

    func send(_ body: [UInt8]) {
        let isFree = state.withLock { state in
            if state.isBusy { state.waiting.append(body) }
            defer { state.isBusy = true }
            return !state.isBusy
        }
        if isFree { transmit(body) }
    }

    private func transmit(_ body: [UInt8]) {
        connection.transmit(body) { error in
            let next = self.state.withLock { state -> [UInt8]? in
                if error != nil || state.waiting.isEmpty {
                    state.isBusy = false
                    return nil
                }
                return state.waiting.removeFirst()
            }
            if let next { self.transmit(next) }
        }
    }
}

/// Records what the callbacks of a connection are told.
final class Recorder: Sendable {
    struct State {
        var messages: [[UInt8]] = []
        var reasons: [NNGError] = []
        var running = 0
        var overlapped = false
        var messagesAfterClose = 0
    }

    private let state = Lock(State())

    var messages: [[UInt8]] { state.withLock { $0.messages } }
    var count: Int { state.withLock { $0.messages.count } }
    var reasons: [NNGError.Code] { state.withLock { $0.reasons.map(\.code) } }
    var overlapped: Bool { state.withLock { $0.overlapped } }
    var messagesAfterClose: Int { state.withLock { $0.messagesAfterClose } }

    func attach(to connection: PairConnection, then body: @escaping @Sendable ([UInt8]) -> Void = { _ in }) {
        connection.start { message in
            self.enter()
            self.state.withLock { state in
                state.messages.append(message)
                if !state.reasons.isEmpty { state.messagesAfterClose += 1 }
            }
            body(message)
            self.state.withLock { $0.running -= 1 }
        } onClose: { reason in
            self.enter()
            self.state.withLock { state in
                state.reasons.append(reason)
                state.running -= 1
            }
        }
    }

    private func enter() {
        state.withLock { state in
            state.running += 1
            if state.running > 1 { state.overlapped = true }
        }
    }
}

extension PairConnection {
    /// The callback form of sending, waited for.
    func transmitted(_ body: [UInt8]) async -> NNGError? {
        await withCheckedContinuation { continuation in
            transmit(body) { continuation.resume(returning: $0) }
        }
    }
}

/// The code of the error that `body` throws, nil when it throws none.
func code<Value>(_ body: () async throws(NNGError) -> Value) async -> NNGError.Code? {
    do throws(NNGError) {
        _ = try await body()
        return nil
    } catch {
        return error.code
    }
}
