import ConcurrencySupport
import Links
import WireProtocol

extension Peer {
    /// A message of this side, until it's answered.
    struct Outgoing: Sendable {
        let envelope: Envelope
        /// All names of the message, in the form in which they go over the link.
        let name: String
        let target: String
        let isDirect: Bool
        /// Whether no answer is wanted: the message isn't open any more once the link has taken it.
        let isUnanswered: Bool
        let codec: PayloadCodec
        /// The encoded message, until the link has taken it.
        var payload: Bytes
        /// A function that takes the message back when the link closes before the message was sent.
        let undelivered: (@Sendable () -> Void)?
        /// The place of the message among all messages of this side, counted from 1.
        var number: UInt64 = 0
        /// Whether the link has taken the message.
        var hasLeft = false
    }

    /// An ask of this side that waits for its answer.
    enum Open {
        /// A message of a coordinator.
        case message(Outgoing)
        /// A request of the runtime.
        case request(OneShot<Result<JSONValue, any Error>>)

        var isMessage: Bool {
            if case .message = self { true } else { false }
        }

        /// The place among all messages of this side; requests come first.
        var number: UInt64 {
            if case .message(let message) = self { message.number } else { 0 }
        }
    }

    /// The state of the link with regard to the messages of this side.
    enum Phase {
        /// Messages leave. Can transition to: draining, ending, closed.
        case open
        /// The other side was told to handle the messages that it has, and then to end: no message leaves.
        /// Can transition to: ending, closed.
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

    /// The work that is under way here for the other side, each kind within its bound.
    struct Admission {
        /// The credit that this side gives for messages of coordinators.
        var credits = ReceiveCredits()
        /// The bytes of messages between runtimes, for which there is no credit.
        var builtinBytes = 0
        /// The number of requests of the other side's runtime that are being answered.
        var inspections = 0
    }

    struct State {
        var phase = Phase.open
        /// Whether everything that was open when the link closed has ended or was handed back.
        var isHandedBack = false
        /// The end of the link, while that isn't so.
        var closure: LinkError?
        /// The asks of this side, by correlation.
        var outgoing = Slab<Open>()
        /// The number of messages of this side so far.
        var messages: UInt64 = 0
        /// The signal that no message of this side is open, made when it's first waited for.
        var allAnswered: OneShot<Void>?
        /// The asks of the other side, by correlation.
        var incoming: [UInt64: Envelope] = [:]
        /// The numbers of asks of the other side that may be still to come, and were cancelled ahead.
        var withdrawn: Set<UInt64> = []
        /// The deadlines of the other side's asks.
        var watch = DeadlineWatch()
        /// The bounds on the messages of this side, and the correlations of the messages that wait for room.
        var windows: SendWindows<UInt64>
        /// The bounds on the messages and requests of the other side.
        var admission = Admission()

        init(waitsForWindow: Bool) { windows = SendWindows(waitsForWindow: waitsForWindow) }

        /// Takes out an ask of the other side that is cancelled, unless it lingers; one that hasn't come isn't opened if it comes before the second cancellation.
        mutating func takeCancelled(_ correlation: UInt64, isAhead: Bool) -> Envelope? {
            let ask = incoming[correlation]
            if ask?.lingers == false { incoming[correlation] = nil }
            if !isAhead {
                withdrawn.remove(correlation)
            } else if ask == nil, withdrawn.count < Peer.openAsksLimit {
                withdrawn.insert(correlation)
            }
            return ask
        }
    }
}
