import ConcurrencySupport
import NNG
import TestSupport
import Testing

/// Two ends of one connection in this process, and the listener that they met at.
///
/// The last reference closes them.
final class Ends<End: Closable>: Sendable {
    let directory: TemporaryDirectory
    let listener: StreamListener
    let dialled: End
    let accepted: End

    private init(
        dial: @escaping @Sendable (_ url: String) async throws -> End,
        accept: (StreamListener) async throws -> End
    ) async throws {
        let (directory, listener) = try TemporaryDirectory.withListener()
        async let other = dial(directory.url())
        accepted = try await accept(listener)
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

protocol Closable: Sendable {
    func close()
}

extension ByteStream: Closable {}
extension PairConnection: Closable {}

typealias StreamPair = Ends<ByteStream>
typealias Pair = Ends<PairConnection>

extension StreamPair {
    convenience init() async throws {
        try await self.init(dial: { url in try await ByteStream.dial(url) }, accept: { listener in try await listener.accept() })
    }
}

extension Pair {
    /// A size beyond any kernel's buffers: a send stays under way until the peer reads.
    static var unholdable: Int { 32 << 20 }

    convenience init(maximumMessageSize: Int = PairConnection.defaultMaximumMessageSize) async throws {
        try await self.init { url in
            try await PairConnection.dial(url, maximumMessageSize: maximumMessageSize)
        } accept: { listener in
            try await PairConnection.negotiate(listener.accept(), maximumMessageSize: maximumMessageSize)
        }
    }

    /// Whether a message of the dialler's is under way.
    var dialledIsBusy: Bool {
        let answer = Lock<NNGError.Code?>(nil)
        dialled.transmit([2]) { error in answer.withLock { $0 = error?.code } }
        return answer.withLock { $0 } == .busy
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

/// A connection of ours, and the raw socket at its other end, greetings exchanged.
///
/// The last reference closes them.
final class RawPair: Sendable {
    let peer: RawSocket
    let connection: PairConnection
    private let directory: TemporaryDirectory
    private let listener: StreamListener

    init(maximumMessageSize: Int = PairConnection.defaultMaximumMessageSize) async throws {
        let (directory, listener) = try TemporaryDirectory.withListener()
        async let accepted = PairConnection.negotiate(listener.accept(), maximumMessageSize: maximumMessageSize)
        let peer = try RawSocket(directory.file("s"))
        try await peer.write(RawSocket.greeting)
        connection = try await accepted
        (self.directory, self.listener, self.peer) = (directory, listener, peer)
        #expect(try await peer.read(8) == RawSocket.greeting)
    }

    func close() {
        connection.close()
        listener.close()
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
