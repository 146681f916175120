import DequeModule

/// Decides which member of a pool gets a message, and which messages have to wait.
///
/// Members are numbered from 0.
struct PoolRouter<Turn> {
    /// Whether a member can be given messages.
    enum Readiness {
        case ready
        /// The member runs, but can't be reached or is about to be restarted. It gets only messages that must go to it.
        case held
        case away
    }

    /// The members among which a message may choose.
    enum Lane: Hashable {
        case any
        case member(Int)
    }

    private struct Member {
        var load = 0
        var isExcluded = false
        /// Whether the message that it has must be alone.
        var isAlone = false
    }

    /// The number of messages that a member gets at a time.
    let capacity: Int
    let takesTurns: Bool
    /// The number of members that take messages.
    private(set) var size = 0
    private var members: [Member] = []
    private var last = -1
    /// The messages that wait, in order of arrival, each with its hash.
    private var waiting: [Lane: Deque<(turn: Turn, hash: UInt64?)>] = [:]
    private(set) var waitingCount = 0
    /// The messages that wait for a member without any other, in order of arrival, each with its hash.
    private var waitingAlone: Deque<(turn: Turn, hash: UInt64?)> = []
    /// The member that gets no messages until it has none, because one waits that must be alone.
    private var kept: Int?

    init(capacity: Int, takesTurns: Bool) { (self.capacity, self.takesTurns) = (capacity, takesTurns) }

    /// Returns the members among which a message with this hash may choose.
    func lane(of hash: UInt64?) -> Lane { hash.map { .member(Self.place(of: $0, among: size)) } ?? .any }

    func load(of number: Int) -> Int { number < members.count ? members[number].load : 0 }

    /// Assigns a message to a member, unless it has to wait.
    mutating func assign(_ lane: Lane, _ readiness: (Int) -> Readiness) -> Int? {
        let number =
            switch lane {
            case .member(let number): hasRoom(number) && readiness(number) != .away ? number : nil
            case .any: choice(readiness)
            }
        if let number { (members[number].load, last) = (members[number].load + 1, number) }
        return number
    }

    /// Returns the members for which the messages of a lane wait; `nil` if one of them may get another message before it has ended one.
    func fullMembers(of lane: Lane, _ readiness: (Int) -> Readiness) -> [Int]? {
        let numbers = if case .member(let number) = lane { [number] } else { Array(0..<size) }
        let areFull = numbers.allSatisfy { number in
            !members[number].isExcluded && number != kept && readiness(number) == .ready
                && (members[number].load >= capacity || members[number].isAlone)
        }
        return areFull ? numbers : nil
    }

    /// Notes that a member has one message less.
    mutating func release(_ number: Int) {
        members[number].load -= 1
        if members[number].load == 0 { members[number].isAlone = false }
    }

    /// Keeps a member from getting messages.
    mutating func exclude(_ number: Int, _ isExcluded: Bool = true) { members[number].isExcluded = isExcluded }

    /// Sets the number of members, and lets those that wait for a certain one choose anew.
    mutating func resize(to size: Int) {
        self.size = size
        while members.count < size { members.append(Member()) }
        let former = waiting.sorted { $0.key.order < $1.key.order }.flatMap(\.value)
        (waiting, waitingCount) = ([:], 0)
        for entry in former { wait(entry.turn, entry.hash) }
    }

    private func hasRoom(_ number: Int) -> Bool {
        number < size && !members[number].isExcluded && members[number].load < capacity && !members[number].isAlone && number != kept
    }

    private func choice(_ readiness: (Int) -> Readiness) -> Int? {
        var best: (number: Int, load: Int)?
        // Among equals the turn decides, so that a member that fails fast doesn't get all.
        for turn in 0..<size {
            let number = (last + 1 + turn) % size
            let load = takesTurns ? 0 : members[number].load
            // Whether it's ready is asked last: that takes longest.
            guard load < best?.load ?? .max, hasRoom(number), readiness(number) == .ready else { continue }
            if load == 0 { return number }
            best = (number, load)
        }
        return best?.number
    }

    /// Returns the place of a hash: jump consistent hashing (Lamping and Veach, https://arxiv.org/abs/1406.2294).
    ///
    /// Of the hashes one in n + 1 changes its place when the nth place is followed by another.
    static func place(of hash: UInt64, among size: Int) -> Int {
        var (hash, place, next) = (hash, 0, 0)
        while next < size {
            place = next
            hash = hash &* 2_862_933_555_777_941_757 &+ 1
            next = Int(Double(place + 1) * (Double(1 << 31) / Double((hash >> 33) + 1)))
        }
        return place
    }
}

// MARK: - Waiting

extension PoolRouter {
    /// Whether a message of the lane has to wait behind others.
    func isWaiting(in lane: Lane) -> Bool { waiting[lane]?.isEmpty == false }

    /// The lanes in which messages wait.
    var lanes: [Lane] { Array(waiting.keys) }

    mutating func wait(_ turn: Turn, _ hash: UInt64?) {
        waiting[lane(of: hash), default: []].append((turn, hash))
        waitingCount += 1
    }

    /// Returns the first that waits in a lane.
    func first(in lane: Lane) -> Turn? { waiting[lane]?.first?.turn }

    mutating func removeFirst(in lane: Lane) {
        guard waiting[lane]?.popFirst() != nil else { return }
        waitingCount -= 1
        if waiting[lane]?.isEmpty == true { waiting[lane] = nil }
    }

    /// Removes one that waits.
    mutating func remove(where isMeant: (Turn) -> Bool) {
        for lane in lanes {
            guard let index = waiting[lane]?.firstIndex(where: { isMeant($0.turn) }) else { continue }
            waiting[lane]?.remove(at: index)
            waitingCount -= 1
            if waiting[lane]?.isEmpty == true { waiting[lane] = nil }
            return
        }
        waitingAlone.removeAll { isMeant($0.turn) }
        if waitingAlone.isEmpty { kept = nil }
    }
}

// MARK: - Messages that must be alone

extension PoolRouter {
    /// Whether any message waits for a member.
    var isAnyWaiting: Bool { waitingCount > 0 || isAnyWaitingAlone }

    /// Whether any message waits for a member without others.
    var isAnyWaitingAlone: Bool { !waitingAlone.isEmpty }

    mutating func waitAlone(_ turn: Turn, _ hash: UInt64?) { waitingAlone.append((turn, hash)) }

    /// Assigns members without messages to those that must be alone, in order of arrival; meanwhile one member at most is kept free for
    /// them, so that the others go on.
    mutating func assignAlone(_ readiness: (Int) -> Readiness) -> [(turn: Turn, number: Int)] {
        var assigned: [(turn: Turn, number: Int)] = []
        var rest: Deque<(turn: Turn, hash: UInt64?)> = []
        kept = nil
        for entry in waitingAlone {
            let candidates = candidates(for: lane(of: entry.hash), readiness)
            if let number = candidates.first(where: { members[$0].load == 0 }) {
                (members[number].load, members[number].isAlone, last) = (1, true, number)
                assigned.append((entry.turn, number))
            } else {
                kept = kept ?? candidates.min { members[$0].load < members[$1].load }
                rest.append(entry)
            }
        }
        waitingAlone = rest
        return assigned
    }

    private func candidates(for lane: Lane, _ readiness: (Int) -> Readiness) -> [Int] {
        switch lane {
        case .any: (0..<size).filter { isFree($0) && readiness($0) == .ready }
        case .member(let number): isFree(number) && readiness(number) != .away ? [number] : []
        }
    }

    private func isFree(_ number: Int) -> Bool { number < size && !members[number].isExcluded && !members[number].isAlone }
}

extension PoolRouter.Lane {
    fileprivate var order: Int {
        switch self {
        case .any: -1
        case .member(let number): number
        }
    }
}

// MARK: - The rule for the member

/// The rule for which member of a pool gets a message.
///
/// A member gets no more messages at a time than its `MailboxPolicy` lets handlers run; the others wait in the pool.
public struct PoolRouting: Sendable, CustomStringConvertible {
    typealias Hash = @Sendable (Envelope) throws -> UInt64

    enum Rule: Sendable {
        case leastLoaded
        case roundRobin
        /// The functions that hash messages, by the messages' names.
        case hashing([String: Hash])
    }

    let rule: Rule
    /// The rule as text.
    public let description: String

    /// The member that has the fewest messages of the pool.
    public static let leastLoaded = PoolRouting(rule: .leastLoaded, description: "leastLoaded")

    /// The members in turn, except those that have as many messages as they take or don't run.
    public static let roundRobin = PoolRouting(rule: .roundRobin, description: "roundRobin")

    /// Returns a rule by which equal values of a message's property lead to the same member, as long as the pool has the same size and its
    /// parent's process lives.
    ///
    ///     in: .pool(4, .worker, routing: .hashing(\Render.scene, \Preview.scene))
    ///
    /// A resize moves as few values as possible to other members. Messages for a member that is being restarted wait for it. Messages of other
    /// types go to the member that has the fewest.
    ///
    /// - Parameter properties: The property of each type of messages. A message from another process is decoded for this, once more than it
    ///   would be.
    public static func hashing<each Message: ResponderMessage, each Value: Hashable & Sendable>(
        _ properties: repeat any KeyPath<each Message, each Value> & Sendable
    ) -> PoolRouting {
        var hashes: [String: Hash] = [:]
        var names: [String] = []
        repeat add(each properties, to: &hashes, &names)
        return PoolRouting(rule: .hashing(hashes), description: "hashing \(names.joined(separator: ", "))")
    }

    private static func add<Message: ResponderMessage, Value: Hashable & Sendable>(
        _ property: any KeyPath<Message, Value> & Sendable,
        to hashes: inout [String: Hash],
        _ names: inout [String]
    ) {
        names.append("\(Message.name) by \(property)")
        let hash: Hash = { envelope in
            var hasher = Hasher()
            hasher.combine(try envelope.message(as: Message.self)[keyPath: property])
            return UInt64(truncatingIfNeeded: hasher.finalize())
        }
        for name in Message.names + [Message.wireName] { hashes[name] = hash }
    }

    var takesTurns: Bool {
        if case .roundRobin = rule { true } else { false }
    }

    /// Whether a message may have to go to one certain member.
    var isHashing: Bool {
        if case .hashing = rule { true } else { false }
    }

    /// Returns the hash of a message; `nil` if any member may have it.
    func hash(of envelope: Envelope) throws -> UInt64? {
        guard case .hashing(let hashes) = rule else { return nil }
        let text = envelope.body.wireName
        if let hash = hashes[text] { return try hash(envelope) }
        guard WireNames.areSeveral(in: text) else { return nil }
        return try WireNames.all(in: text).lazy.compactMap { hashes[String($0)] }.first?(envelope)
    }
}
