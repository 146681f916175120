import ConcurrencySupport
import Links
import WireProtocol

extension Peer {
    /// A message of this side, until it's answered.
    struct Outgoing: Sendable {
        let envelope: Envelope
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

    /// A message of the other side, until it's answered.
    struct Arrival: Sendable {
        /// The number by which the other side knows the message; 0: it wants no answer.
        let correlation: UInt64
        let codec: PayloadCodec
        /// The route that the message has taken credit from, and how much; `nil` for messages between runtimes, which take none.
        let route: String?
        let size: Int
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
        /// The asks of this side, by correlation.
        var outgoing = Slab<Open>()
        /// The number of messages of this side so far.
        var messages: UInt64 = 0
        /// The signal that no message of this side is open, made when it's first waited for.
        var allAnswered: OneShot<Void>?
        /// The asks of the other side, by correlation.
        var incoming: [UInt64: Envelope] = [:]
        /// The deadlines of the other side's asks.
        var watch = DeadlineWatch()
        /// The bounds on the messages of this side, and the correlations of the messages that wait for room.
        var windows: SendWindows<UInt64>
        /// The bounds on the messages and requests of the other side.
        var admission = Admission()

        init(waitsForWindow: Bool) { windows = SendWindows(waitsForWindow: waitsForWindow) }
    }
}

/// Elements under numbers that are never used twice.
struct Slab<Element> {
    private struct Slot {
        var generation: UInt32 = 0
        var element: Element?
    }

    private var slots: [Slot] = []
    private var free: [UInt32] = []

    /// The numbers that are left to others: 0 and 1.
    private static var offset: UInt64 { 2 }

    /// The number of elements.
    var count: Int { slots.count - free.count }

    /// Adds an element.
    ///
    /// - Returns: The element's number: its place below, and in the upper half the count of the elements that had the place before.
    mutating func insert(_ element: Element) -> UInt64 {
        guard let place = free.popLast() else {
            slots.append(Slot(element: element))
            return UInt64(slots.count - 1) + Self.offset
        }
        slots[Int(place)].element = element
        return UInt64(slots[Int(place)].generation) << 32 | UInt64(place) + Self.offset
    }

    /// Removes and returns an element.
    mutating func remove(_ number: UInt64) -> Element? {
        guard let place = place(of: number), let element = slots[place].element.take() else { return nil }
        slots[place].generation &+= 1
        free.append(UInt32(place))
        return element
    }

    /// Removes and returns all elements, with their numbers.
    mutating func removeAll() -> [(number: UInt64, element: Element)] {
        slots.indices.compactMap { place in
            let number = UInt64(slots[place].generation) << 32 | UInt64(place) + Self.offset
            return remove(number).map { (number, $0) }
        }
    }

    subscript(number: UInt64) -> Element? {
        get { place(of: number).flatMap { slots[$0].element } }
        set { if let place = place(of: number), slots[place].element != nil { slots[place].element = newValue } }
    }

    func contains(_ number: UInt64) -> Bool { place(of: number).map { slots[$0].element != nil } ?? false }

    /// All elements.
    var elements: [Element] { slots.compactMap(\.element) }

    /// Returns whether any element satisfies a condition.
    func contains(where isMatch: (Element) -> Bool) -> Bool { slots.contains { $0.element.map(isMatch) ?? false } }

    private func place(of number: UInt64) -> Int? {
        let low = number & UInt64(UInt32.max)
        guard low >= Self.offset else { return nil }
        let place = Int(low - Self.offset)
        guard place < slots.count, slots[place].generation == UInt32(number >> 32) else { return nil }
        return place
    }
}
