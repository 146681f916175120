import ConcurrencySupport
public import Supervision
import WireProtocol

/// A value that climbs the tree until a coordinator responds.
///
///     enum Cart { struct Add: ResponderMessage { typealias Reply = Int; var sku: String } }    // on the wire: "Cart.Add"
///
/// A process of another build may know the message by a former name, and with other properties: see <doc:Versions>.
public protocol ResponderMessage: WireNamed, Codable {
    /// The type of the answer; `NoReply` by default.
    associatedtype Reply: Codable & Sendable = NoReply
    /// The type of the errors that responders throw and askers catch; for several types, ``OneOf``.
    ///
    ///     typealias Failure = Cart.Full
    ///
    /// An asker gets an error of this type as it was thrown, by whatever process and build. Any other error arrives as it was thrown only if
    /// it's Codable and the asker's program has a type of the same name in the same module, and else as ``RemoteError``, the default.
    associatedtype Failure: ResponderError = RemoteError
    /// Whether handling the message twice is the same as handling it once, so that it may be sent again after the peer was lost. False by
    /// default.
    static var isIdempotent: Bool { get }
    /// The time after which an ask fails with `timedOut`, unless the ask gives another; five seconds by default.
    ///
    ///     static var timeout: Duration { .milliseconds(250) }
    static var timeout: Duration { get }
    /// The rule by which a failed ask is repeated within its time-out. By default an idempotent message is asked again when the peer was
    /// lost, and no other message is.
    static var retry: RetryPolicy { get }
    /// Whether equal asks that one coordinator makes of the same responder at the same time share one, whose answer all of them get. False
    /// by default.
    ///
    /// This is for questions that change nothing. The type must be `Hashable`: a coordinator with a row for another isn't started, and asks of
    /// such a message fail, both with `unsupported`. The shared ask has
    /// the trace and the deadline of the first asker, and is cancelled when no asker waits any more. A row that doesn't await, of an idle
    /// coordinator in the same process, runs for each asker.
    static var coalesces: Bool { get }
}

extension ResponderMessage {
    /// The default: the message is not sent again.
    public static var isIdempotent: Bool { false }
    /// The default: five seconds.
    public static var timeout: Duration { .seconds(5) }
    /// The default: an idempotent message is asked again when the peer was lost.
    public static var retry: RetryPolicy { isIdempotent ? .whenPeerIsLost : .never }
    /// The default: each asker has an ask of its own.
    public static var coalesces: Bool { false }

    /// Asks, and asks again as the type's policy says.
    ///
    /// - Parameters:
    ///   - timeout: The time for all attempts; `nil`: the type's.
    ///   - ask: A function that asks once.
    static func retried<Reply>(
        within timeout: Duration?,
        _ time: TimeSource,
        _ ask: (_ deadline: MonotonicTime) async throws -> Reply
    ) async throws -> Reply {
        let deadline = HandlerScope.deadline(time.now + (timeout ?? Self.timeout))
        var attempt = 1
        var mayBeExecuted = false
        while true {
            do {
                return try await ask(deadline)
            } catch let refusal as CoordinatorError {
                let policy = retry
                // The last attempt proves nothing about those before it.
                let error = mayBeExecuted ? refusal.doubted : refusal
                mayBeExecuted = error.maybeExecuted
                guard policy.allows(attempt + 1, after: error, isIdempotent: isIdempotent) else { throw error }
                let pause = policy.pause(before: attempt + 1, by: time)
                let resumption = time.now + pause
                guard resumption < deadline else { throw error }
                try await time.sleep(until: resumption)
                attempt += 1
            }
        }
    }
}

/// The answer to a message that has no reply.
public struct NoReply: Codable, Sendable, Hashable {
    /// Creates the value.
    public init() {}
}

/// A message that no coordinator up to the root responded to.
public struct UnhandledMessage: Sendable, Hashable, Codable {
    /// The message's wire name.
    public let name: String
    /// The coordinator that sent the message.
    public let sender: CoordinatorPath
}

// MARK: - Repetition of a failed ask

/// The rule by which a failed ask is repeated.
///
///     struct Quote: ResponderMessage {
///         static var retry: RetryPolicy { RetryPolicy(attempts: 3) }
///     }
///
/// A message that isn't idempotent is asked again only after an error that proves that no handler has begun; see
/// ``CoordinatorError/provesNothingExecuted``. All attempts share the time-out of the ask: no attempt begins after it, and none waits so long
/// that it would. Only errors of the runtime are retried, and none that a handler has thrown, unless the message is idempotent.
public struct RetryPolicy: Sendable, Hashable {
    /// The number of attempts in all; 1: the ask is not repeated.
    public var attempts: Int
    /// The pauses between the attempts.
    ///
    /// The second attempt waits `minimum`, and each later one `factor` times as long as the one before, up to `maximum`; `jitter` shortens
    /// each pause at random, and `resetAfter` has no meaning here.
    public var backoff: Backoff
    /// The codes of the errors after which the ask is repeated.
    public var codes: Set<CoordinatorError.Code>

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - attempts: The number of attempts in all.
    ///   - backoff: The pauses between the attempts; by default 10 ms doubling to 1 s, half of it jitter.
    ///   - codes: The codes of the errors after which the ask is repeated.
    public init(
        attempts: Int,
        backoff: Backoff = Backoff(minimum: .milliseconds(10), maximum: .seconds(1)),
        on codes: Set<CoordinatorError.Code> = [.peerLost, .draining, .mailboxFull, .restarting, .tooManyOpenAsks]
    ) {
        self.attempts = max(attempts, 1)
        self.backoff = backoff
        self.codes = codes
    }

    /// The ask is not repeated.
    public static let never = RetryPolicy(attempts: 1)

    /// The ask is repeated when the peer was lost, until its deadline: what an idempotent message does.
    public static let whenPeerIsLost = RetryPolicy(
        attempts: .max,
        backoff: Backoff(minimum: .milliseconds(10), maximum: .milliseconds(100)),
        on: [.peerLost]
    )

    func allows(_ attempt: Int, after error: CoordinatorError, isIdempotent: Bool) -> Bool {
        attempt <= attempts && codes.contains(error.code) && (isIdempotent || error.provesNothingExecuted)
    }

    /// Returns the pause before an attempt, the second or a later one.
    func pause(before attempt: Int, by time: TimeSource) -> Duration {
        var generator = SplitMix64(seed: time.seed)
        return backoff.delay(attempt: attempt, random: .random(in: 0..<1, using: &generator))
    }
}

/// The answer of a handler, in the form in which it arrived.
enum Answer: Sendable {
    /// A one-way message was accepted.
    case none
    /// A value from a handler in this process, which is never encoded.
    case value(any Codable & Sendable)
    /// An encoded value from another process.
    case encoded(PayloadCodec, Bytes)

    /// The size of the answer in bytes, if it has come from another process.
    var receivedBytes: Int {
        if case .encoded(_, let bytes) = self { bytes.count } else { 0 }
    }

    func decoded<Reply: Codable & Sendable>(as type: Reply.Type) throws -> Reply {
        switch self {
        case .value(let value):
            if let reply = value as? Reply { return reply }
            throw CoordinatorError(.coding, "the answer is \(Swift.type(of: value)), not \(type)", maybeExecuted: true)
        case .encoded(let codec, let bytes):
            do throws(CoordinatorError) {
                return try PayloadCoder.decode(type, from: bytes, codec: codec)
            } catch {
                // There is an answer: the message was handled.
                throw error.doubted
            }
        case .none:
            if let reply = NoReply() as? Reply { return reply }
            throw CoordinatorError(.coding, "the answer is empty, not \(type)", maybeExecuted: true)
        }
    }

    /// Returns the answer for a process that asked in `codec`, together with its own codec, since each answer names it: JSON can go
    /// anywhere.
    func wire(for codec: PayloadCodec) throws(CoordinatorError) -> (PayloadCodec, Bytes) {
        if case .encoded(.json, let bytes) = self { return (.json, bytes) }
        return (codec, try encoded(as: codec))
    }

    /// Returns the answer for a process that asked in `codec`.
    func encoded(as codec: PayloadCodec) throws(CoordinatorError) -> Bytes {
        switch self {
        case .none: return try PayloadCoder.encode(NoReply(), as: codec)
        case .value(let value): return try PayloadCoder.encode(value, as: codec)
        case .encoded(let own, let bytes):
            guard own == codec else {
                throw CoordinatorError(.coding, "an answer came back in another encoding than its ask's")
            }
            return bytes
        }
    }
}

// MARK: - The replies of a stream

/// The replies of a `.stream` row, which its body sends.
public struct Replies<M: ResponderMessage>: Sendable {
    let envelope: Envelope
    let time: TimeSource

    /// The sender, remaining time and trace of the message.
    public var context: MessageContext { MessageContext(envelope, time) }

    /// Accepts the request before there is a reply: an asker that waits for that, by ``ReplyStream/accepted(within:)``, goes on.
    ///
    /// The first reply and the regular end accept as well. What the body throws before is thrown where the asker waits.
    public func accept() { envelope.flow?.accept() }

    /// Sends one reply, and waits while the asker has 64 unread, or, in another process, 16 MiB in replies of more than 256 KiB each.
    ///
    /// - Throws: `CancellationError` when the asker reads no more; the body needn't catch it.
    public func send(_ reply: M.Reply) async throws {
        guard let flow = envelope.flow else {
            // The asker used `ask`: the first reply is the answer, and the body is done.
            envelope.end(.success(.value(reply)))
            throw CancellationError()
        }
        try await flow.send(.value(reply))
    }
}

extension Envelope {
    /// Whether replies of a stream have gone to the asker.
    var hasReplied: Bool { flow?.hasPassed ?? false }

    /// Returns the answer that the end of a `.stream` row's body gives the asker.
    func endOfReplies() throws -> Answer {
        if flow != nil || isOneWay || isAcknowledged { return .none }
        throw CoordinatorError(.unhandled, "the stream of \(body.name) ended without a reply")
    }
}
