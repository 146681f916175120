import ConcurrencySupport
import Links
import WireProtocol

extension Peer {
    /// A message that is on its way to the other side, or waits for its turn.
    struct Outgoing: Sendable {
        let envelope: Envelope
        let target: String
        let isDirect: Bool
        let codec: PayloadCodec
        let payload: Bytes
        /// Takes the message back when the link closes before the message has left.
        let undelivered: (@Sendable () -> Void)?
        var correlation: UInt64 = 0
        /// Whether the message has been handed to the link.
        var hasLeft = false
    }

    /// What this side has asked, and waits for the answer to.
    enum Open {
        /// A message of a coordinator.
        case message(Outgoing)
        /// A request of the runtime.
        case request(OneShot<Result<JSONValue, any Error>>)

        var isMessage: Bool {
            if case .message = self { true } else { false }
        }
    }

    /// What the link still is to the messages of this side.
    enum Phase {
        /// Messages leave. Can transition to: draining, ending, closed.
        case open
        /// The other side was told to handle what it has, and then to end: no message leaves. Can transition to: ending, closed.
        case draining
        /// The other side has announced its end. Asks that are still open when the link closes end with the error; messages leave until
        /// then, unless the other side was told to drain. Can transition to: ending (to drain), closed.
        case ending(CoordinatorError, isDraining: Bool)
        /// The link has closed. Final.
        case closed

        var isDraining: Bool {
            switch self {
            case .draining, .ending(_, isDraining: true): true
            case .open, .ending, .closed: false
            }
        }

        var isClosed: Bool {
            if case .closed = self { true } else { false }
        }

        /// The error that open asks end with, if the other side has announced its end.
        var farewell: CoordinatorError? {
            if case .ending(let error, _) = self { error } else { nil }
        }

        mutating func drain() {
            switch self {
            case .open, .draining: self = .draining
            case .ending(let error, _): self = .ending(error, isDraining: true)
            case .closed: break
            }
        }

        mutating func end(with error: CoordinatorError) {
            if !isClosed { self = .ending(error, isDraining: isDraining) }
        }
    }

    /// What the other side has under way here, each kind within its bound.
    struct Admission {
        /// Messages of coordinators, for which this side gives credit.
        var credits = ReceiveCredits()
        /// The bytes of messages between runtimes, for which there is no credit.
        var builtinBytes = 0
        /// The number of requests of the other side's runtime that are being answered.
        var inspections = 0
    }

    struct State {
        var phase = Phase.open
        var lastCorrelation: UInt64 = 1
        /// What this side has asked, by correlation.
        var outgoing: [UInt64: Open] = [:]
        /// Settled when no message of this side is open; made when that is first waited for.
        var allAnswered: OneShot<Void>?
        /// The asks of the other side, by correlation.
        var incoming: [UInt64: Envelope] = [:]
        /// Bounds what leaves.
        var windows: SendWindows<Outgoing>
        /// The message that is being handed to the link, and whether its asker has given it up meanwhile.
        var leaving: (correlation: UInt64, isGivenUp: Bool)?
        /// Bounds what comes.
        var admission = Admission()
        /// Why the link has closed while a message was handed to it.
        var closedInTurn: LinkError?

        init(waitsForWindow: Bool) { windows = SendWindows(waitsForWindow: waitsForWindow) }
    }
}
