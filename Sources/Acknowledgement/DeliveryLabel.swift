/// The identity of an acknowledged message, which every transmission of it carries.
package struct DeliveryLabel: Sendable, Hashable {
    /// The random number of the sender's runtime.
    package var origin: UInt64
    /// The number of the message among those of its origin, from 1 on; 0: it has none yet.
    package var sequence: UInt64
    /// The number below which every message of the origin has ended there.
    package var floor: UInt64
    /// The time of the first transmission by which the message may have been handled already, since the origin of the monotonic clock, which
    /// the processes of a machine share; `nil`: there was none.
    package var since: Duration?

    package init(origin: UInt64, sequence: UInt64, floor: UInt64, since: Duration? = nil) {
        (self.origin, self.sequence, self.floor, self.since) = (origin, sequence, floor, since)
    }

    /// Says that the message may have come to a life that isn't the one below, if it may have been handled before that took its place.
    ///
    /// The life can't tell by itself: it may have begun beside its predecessor, which got the messages for a while. So the time is dated back
    /// before the birth of any life.
    ///
    /// - Parameter place: The time at which the life below took its predecessor's place.
    package mutating func goesToLife(since place: Duration) {
        if let since, since <= place { self.since = .zero }
    }
}

/// The way of an acknowledged message through one process, as a value.
///
/// The process that the message is in keeps it until its end is known. When a link is lost, the message may come to its receiver once more,
/// by the next link or from another process: since when that may be so is what the label says from then on.
package struct Delivery: Sendable {
    /// The message's identity, as far as it's known.
    package private(set) var label: DeliveryLabel
    /// The time at which the message first left this process.
    private var departure: Duration?

    /// Creates the way of a message with this identity; a message that hasn't left its sender's process has none yet.
    package init(_ label: DeliveryLabel = DeliveryLabel(origin: 0, sequence: 0, floor: 0)) { self.label = label }

    /// Whether the message may have been handled by a life that this process can't ask any more.
    package var mayBeHandled: Bool { label.since != nil }

    /// Notes that the message leaves this process.
    ///
    /// - Returns: The label for the transmission.
    package mutating func depart(at time: Duration) -> DeliveryLabel {
        departure = departure ?? time
        return label
    }

    /// Notes that the message leaves its sender's process, which gives it a number when that happens first.
    ///
    /// - Returns: The label for the transmission.
    package mutating func depart(at time: Duration, from origin: UInt64, _ numbers: inout SequenceFloor) -> DeliveryLabel {
        if label.sequence == 0 { (label.origin, label.sequence) = (origin, numbers.open()) }
        label.floor = numbers.floor
        return depart(at: time)
    }

    /// Notes that the link by which the message left was lost before the answer came: the message may have arrived.
    package mutating func linkBelowWasLost() { mayBeHandled(since: departure) }

    /// Notes that the link by which the message came was lost: the message may come again, and be handled first.
    package mutating func linkAboveWasLost(after arrival: Duration) { mayBeHandled(since: arrival) }

    /// Notes the time from which on the message may have been handled; the earliest of several counts.
    private mutating func mayBeHandled(since time: Duration?) {
        guard let time else { return }
        label.since = min(label.since ?? time, time)
    }
}
