import Acknowledgement

/// The numbers by which the receivers of an opening's messages know these.
///
/// A receiver forgets the messages of an origin in order: one whose end isn't known keeps all receivers from forgetting what came after it. So the
/// opening goes on under another origin when so many have come after such a message.
package struct FlowNumbers {
    /// The number of messages after which another origin begins: half of those of one origin that a receiver remembers.
    private static let limit = UInt64(Inbox.limit / 2)

    /// The origin of the opening, which those after it follow.
    private let first: UInt64
    private var latest: UInt64
    /// The origins that have messages whose ends aren't known, and the latest one.
    private var origins: [UInt64: SequenceFloor]

    package init(from origin: UInt64) { (first, latest, origins) = (origin, origin, [origin: SequenceFloor()]) }

    /// Opens the next number.
    package mutating func open() -> (origin: UInt64, number: UInt64) {
        let (origin, number) = (latest, origins[latest, default: SequenceFloor()].open())
        if number - floor(of: origin) >= Self.limit { latest &+= 1 }
        return (origin, number)
    }

    /// Notes that a message has come to its end, or never leaves; one of another opening is none of these.
    package mutating func settle(_ origin: UInt64, _ number: UInt64) {
        origins[origin]?.settle(number)
        if origin != latest, origins[origin]?.count == 0 { origins[origin] = nil }
    }

    /// Returns the number below which all messages of an origin have come to their ends, as far as is known.
    package func floor(of origin: UInt64) -> UInt64 { origins[origin]?.floor ?? 0 }

    /// Whether an origin is one of this opening, also if all its messages have come to their ends.
    package func contains(_ origin: UInt64) -> Bool { origin &- first <= latest &- first }
}
