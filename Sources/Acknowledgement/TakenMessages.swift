/// The acknowledged messages that a coordinator has taken in its life, so that it handles none of them twice.
///
/// A message is forgotten when its origin says that it has the message's end, when too many are remembered, and when its origin has been silent
/// for so long that it has probably ended: an origin is a process, and leaves its last messages here. A message that comes again and
/// isn't known any more, or that may have come to a former life, can't be handled: nothing here tells whether it was.
package struct TakenMessages<Taken> {
    /// The decision about a message that has arrived.
    package enum Admission {
        /// The message is handled now.
        case new
        /// The message was taken before.
        case known(Taken)
        /// The message may have been handled, by a former life or by this one.
        case uncertain
    }

    /// The messages of one origin.
    private struct Origin {
        /// The number below which the origin has the ends of all messages.
        var floor: UInt64 = 0
        var messages: [UInt64: Message] = [:]
        /// The numbers of the messages in the order of their arrival, and among them forgotten ones.
        var order = NumberQueue()
        /// The number of messages whose handlers haven't ended.
        var running = 0
        /// The time of the latest arrival, as a count of arrivals.
        var latest: UInt64 = 0
        /// The time of the latest arrival.
        var latestTime: Duration = .zero
    }

    private struct Message {
        let taken: Taken
        var hasEnded = false
    }

    /// The number of messages whose ends are remembered, as many as may be under way on a link.
    package let limit: Int
    /// The number of origins whose messages are remembered.
    package let originsLimit: Int
    /// The time after which an origin that is silent is forgotten when another comes.
    package let retention: Duration
    /// The time after which this coordinator remembers every message that has come.
    private var horizon: Duration
    private var origins: [UInt64: Origin] = [:]
    private var arrivals: UInt64 = 0
    /// The number of messages whose ends are remembered.
    package private(set) var remembered = 0

    /// - Parameters:
    ///   - birth: The time at which the coordinator's life began.
    ///   - limit: The number of messages whose ends are remembered.
    ///   - originsLimit: The number of origins whose messages are remembered.
    ///   - retention: The time after which an origin that is silent is forgotten when another comes.
    package init(since birth: Duration, limit: Int = 16_384, originsLimit: Int = 1_024, retention: Duration = .seconds(60)) {
        (horizon, self.limit, self.originsLimit, self.retention) = (birth, limit, originsLimit, retention)
    }

    /// The number of origins whose messages are remembered.
    package var originsCount: Int { origins.count }

    /// Decides about a message.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - make: A function that returns what is kept of a new message.
    package mutating func admit(_ label: DeliveryLabel, now: Duration, make: () -> Taken) -> Admission {
        arrivals += 1
        makeRoom(for: label.origin, now)
        origins[label.origin, default: Origin()].latest = arrivals
        origins[label.origin]?.latestTime = now
        raiseFloor(of: label.origin, to: label.floor)
        if let known = origins[label.origin]?.messages[label.sequence] { return .known(known.taken) }
        if let since = label.since, since <= horizon || label.sequence < origins[label.origin]?.floor ?? 0 { return .uncertain }
        origins[label.origin]?.messages[label.sequence] = Message(taken: make())
        origins[label.origin]?.order.append(label.sequence)
        origins[label.origin]?.running += 1
        return .new
    }

    /// Notes the end of a message that was new.
    package mutating func ended(_ label: DeliveryLabel, now: Duration) {
        guard origins[label.origin]?.messages[label.sequence]?.hasEnded == false else { return }
        origins[label.origin]?.running -= 1
        if label.sequence < origins[label.origin]?.floor ?? 0 {
            origins[label.origin]?.messages[label.sequence] = nil
        } else {
            origins[label.origin]?.messages[label.sequence]?.hasEnded = true
            remembered += 1
            while remembered > limit { forgetSome(of: label.origin, now) }
        }
    }

    /// Forgets the messages of which their origin has the ends.
    private mutating func raiseFloor(of number: UInt64, to floor: UInt64) {
        // Moved out, so that the collections aren't copied.
        guard floor > origins[number]?.floor ?? 0, var origin = origins.removeValue(forKey: number) else { return }
        defer { origins[number] = origin }
        origin.floor = floor
        while let first = origin.order.first, first < floor {
            origin.order.removeFirst()
            guard origin.messages[first]?.hasEnded == true else { continue }
            origin.messages[first] = nil
            remembered -= 1
        }
    }

    /// Forgets the origins that have been silent for long when another comes, and one more if there is no room otherwise.
    private mutating func makeRoom(for number: UInt64, _ now: Duration) {
        guard origins[number] == nil else { return }
        for (silent, origin) in origins where origin.running == 0 && now - origin.latestTime > retention { forget(silent) }
        guard origins.count >= originsLimit else { return }
        let idle = origins.filter { $0.value.running == 0 }
        guard let oldest = idle.min(by: { $0.value.latest < $1.value.latest })?.key else { return }
        forget(oldest)
    }

    /// Forgets the messages of an origin, none of which is being handled.
    ///
    /// Each of them has first left before it came here: later messages of other origins aren't affected.
    private mutating func forget(_ number: UInt64) {
        guard let origin = origins.removeValue(forKey: number), !origin.messages.isEmpty else { return }
        remembered -= origin.messages.values.count(where: \.hasEnded)
        horizon = max(horizon, origin.latestTime)
    }

    /// Forgets what an origin that says nothing any more has left, or else the oldest message of this one.
    private mutating func forgetSome(of number: UInt64, _ now: Duration) {
        let silent = origins.filter { $0.key != number && $0.value.running == 0 && !$0.value.messages.isEmpty }
        if let oldest = silent.min(by: { $0.value.latest < $1.value.latest })?.key { return forget(oldest) }
        // Moved out, so that the collections aren't copied.
        guard var origin = origins.removeValue(forKey: number) else { return }
        defer { origins[number] = origin }
        guard let sequence = origin.order.removeFirst(where: { origin.messages[$0]?.hasEnded ?? true }) else {
            remembered = 0
            return
        }
        if origin.messages.removeValue(forKey: sequence) != nil {
            remembered -= 1
            horizon = now
        }
    }
}

/// Numbers in the order in which they came.
private struct NumberQueue {
    private var numbers: [UInt64] = []
    private var start = 0

    var first: UInt64? { start < numbers.count ? numbers[start] : nil }

    mutating func append(_ number: UInt64) { numbers.append(number) }

    mutating func removeFirst() {
        start += 1
        guard start > 64, 2 * start > numbers.count else { return }
        numbers.removeFirst(start)
        start = 0
    }

    /// Removes and returns the first number that satisfies the condition.
    mutating func removeFirst(where isSought: (UInt64) -> Bool) -> UInt64? {
        guard let place = numbers[start...].firstIndex(where: isSought) else { return nil }
        if place > start { return numbers.remove(at: place) }
        defer { removeFirst() }
        return numbers[place]
    }
}
