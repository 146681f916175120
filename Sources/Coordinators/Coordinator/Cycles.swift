import ConcurrencySupport
import Logging
import WireProtocol

/// A search for a cycle of coordinators that wait for one another, and can't go on.
///
/// The message that closes a cycle is one that waits in the mailbox of a coordinator all of whose running handlers wait too. So such a
/// coordinator looks when an ask has waited there for a while: from its handlers to what they ask, on through the handlers of that, and to other
/// processes on the links on which the asks have left. Each process sees its own part alone, and nothing is kept for it but the message that
/// caused each ask.
///
/// The same holds for a pool in which an ask waits because all members have as many messages as they take: these messages keep it waiting.
///
/// A message is blocked only if no handler that could make room for it will end: each of them waits for asks and streams alone, and all of
/// these are blocked as well. What waits for something else, such as a timer or a restart, isn't blocked.
struct CycleSearch: Sendable {
    /// The time for which an ask waits before its coordinator looks; before each further look it's twice as long.
    static let patience = Duration.milliseconds(400)
    /// The number of looks for each ask: a message on its way between processes is seen by the next, and on a busy machine by a later one.
    static let looks = 4
    /// The number of coordinators that a search goes through, and of asks of one handler that it follows.
    private static let limit = 64
    private static let answerLimit = Duration.seconds(1)

    /// The search's number, known to the process that has begun it.
    let number: UInt64
    /// The coordinators on the way, from that which can't begin the ask.
    var way: [String]
    /// The coordinators on the way at which messages wait that can't begin.
    var blocked: [String]

    /// A cycle that a search has found.
    struct Cycle: Sendable {
        /// The coordinators of the cycle, of which the last is the first.
        var way: [String]
        /// Those that can't begin what waits for them, in the cycle and in others that hang together with it: each of these looks for it.
        var blocked: [String]
    }

    /// Begins a search where an ask can't begin.
    fileprivate init(at name: String) { (number, way, blocked) = (.random(in: 1 ... .max), [name], [name]) }

    /// Reads a search of the other side of a link.
    ///
    /// - Returns: The search, and the number of the ask at which it goes on.
    static func read(_ payload: JSONValue) -> (search: CycleSearch, correlation: UInt64)? {
        guard case .string(let number) = payload["search"], let number = UInt64(number), case .string(let ask) = payload["ask"],
            let correlation = UInt64(ask), let way = texts(payload["way"]), let blocked = texts(payload["blocked"]),
            way.count < limit, blocked.count < limit, !blocked.isEmpty
        else { return nil }
        return (CycleSearch(number: number, way: way, blocked: blocked), correlation)
    }

    private init(number: UInt64, way: [String], blocked: [String]) { (self.number, self.way, self.blocked) = (number, way, blocked) }

    private static func texts(_ value: JSONValue?) -> [String]? {
        guard case .array(let values) = value else { return nil }
        return values.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }

    /// Follows an ask that is open in this process.
    ///
    /// - Parameter top: The topmost coordinator of the process.
    /// - Returns: The cycle; `nil` if the ask isn't known to be blocked.
    func follow(_ envelope: Envelope, below top: CoordinatorCell) async -> Cycle? {
        await follow(envelope, in: .below(top))
    }

    fileprivate func follow(_ envelope: Envelope, in edges: WaitEdges) async -> Cycle? {
        guard !envelope.hasEnded, way.count < Self.limit else { return nil }
        if let place = edges.waiting[ObjectIdentifier(envelope)] {
            if let first = way.firstIndex(of: place.name), blocked.contains(place.name) {
                // The coordinator at which the search has begun ends the ask that closes the cycle.
                if place.name == blocked.first { CycleLooks.shared.record(envelope, in: number) }
                return Cycle(way: way[first...] + [place.name], blocked: blocked.filter { way[first...].contains($0) })
            }
            var search = self
            search.way.append(place.name)
            search.blocked.append(place.name)
            return await search.follow(place, in: edges)
        }
        if let (process, correlation) = envelope.way, let peer = process as? Peer { return await go(on: peer, correlation) }
        guard let asks = edges.asks[ObjectIdentifier(envelope)], let cell = asks.first?.cell else { return nil }
        var search = self
        search.way.append(cell.path.description)
        return await search.follow(asks.map(\.envelope), in: edges)
    }

    /// Follows what the messages ask that keep others from beginning.
    fileprivate func follow(_ place: BlockedPlace, in edges: WaitEdges) async -> Cycle? {
        switch place.obstacle {
        case .members(let messages): return await follow(messages, in: edges)
        case .handlers(let cell):
            guard let handled = cell.handledWhileHeldUp else { return nil }
            var cycle: Cycle?
            for message in handled {
                guard let asks = edges.asks[ObjectIdentifier(message)]?.map(\.envelope) else { return nil }
                guard let found = await follow(asks, in: edges) else { return nil }
                cycle = cycle?.joined(by: found) ?? found
            }
            return cycle
        }
    }

    /// Follows asks of which each has to be blocked: one handler's, which goes on when one of them ends.
    private func follow(_ asks: [Envelope], in edges: WaitEdges) async -> Cycle? {
        guard asks.count <= Self.limit else { return nil }
        var cycle: Cycle?
        for ask in asks {
            guard let found = await follow(ask, in: edges) else { return nil }
            cycle = cycle?.joined(by: found) ?? found
        }
        return cycle
    }

    /// Has the process go on to which the ask has gone.
    private func go(on peer: Peer, _ correlation: UInt64) async -> Cycle? {
        let payload: JSONValue = [
            "search": .string("\(number)"), "ask": .string("\(correlation)"),
            "way": .array(way.map { .string($0) }), "blocked": .array(blocked.map { .string($0) }),
        ]
        guard let answer = try? await peer.inspect(Peer.cycleOperation, "", payload, timeout: Self.answerLimit),
            let way = Self.texts(answer["way"]), let blocked = Self.texts(answer["blocked"])
        else { return nil }
        return Cycle(way: way, blocked: blocked)
    }
}

extension CoordinatorCell {
    func follow(cycleSearch: JSONValue, _ ask: (UInt64) -> Envelope?) async -> JSONValue {
        guard let (search, correlation) = CycleSearch.read(cycleSearch), let ask = ask(correlation),
            let cycle = await search.follow(ask, below: self)
        else { return .null }
        return cycle.payload
    }
}

extension CycleSearch.Cycle {
    /// Returns the cycle with the places of another one of the same knot, so that all that look for it agree on which is the first by name.
    fileprivate func joined(by other: Self) -> Self {
        Self(way: way, blocked: blocked + other.blocked.filter { !blocked.contains($0) })
    }

    /// The answer to the process that has asked this one to go on.
    var payload: JSONValue { ["way": .array(way.map { .string($0) }), "blocked": .array(blocked.map { .string($0) })] }
}

/// A place where asks can't begin.
struct BlockedPlace: Sendable {
    /// What keeps the asks from beginning.
    enum Obstacle: Sendable {
        /// The running handlers of a coordinator.
        case handlers(CoordinatorCell)
        /// The messages that the members of a pool have.
        case members([Envelope])
    }

    /// The path of the coordinator that can't begin the asks: of a pool, or of the one member that may have them.
    let name: String
    let obstacle: Obstacle
    /// The asks that can't begin.
    let asks: [Envelope]
}

/// A coordinator that hands asks on to its children, and in which they wait for one: a pool.
protocol HandingOn: Actor {
    /// The places where asks wait for members none of which has room.
    var blockedPlaces: [BlockedPlace] { get }

    /// The messages that wait for members, by the members for which they wait.
    var waitingPlaces: [CoordinatorSnapshot.WaitingPlace] { get }

    /// Ends an ask that waits for a member.
    ///
    /// - Returns: Whether it waited: it never begins then.
    func refuse(_ ask: Envelope, _ error: CoordinatorError) -> Bool
}

/// The outcome of a coordinator's look for cycles.
private enum CycleFinding {
    case none
    /// There is one, which is left to another coordinator for now.
    case left
    /// There was one, whose ask has ended.
    case ended
}

/// The searches that this process has begun.
private final class CycleLooks: Sendable {
    static let shared = CycleLooks()

    private let found = Lock<[UInt64: [Envelope]]>([:])
    /// The lock under which the process's searches come one after the other: the second sees what the first has ended.
    let turn = AsyncLock()

    func openSearch(_ search: UInt64) { found.withLock { $0[search] = [] } }

    /// Notes an ask that closes a cycle, if the search was begun here.
    func record(_ envelope: Envelope, in search: UInt64) { found.withLock { $0[search]?.append(envelope) } }

    func end(_ search: UInt64) -> [Envelope] { found.withLock { $0.removeValue(forKey: search) ?? [] } }
}

/// What waits for what among the coordinators of one process.
private struct WaitEdges {
    /// The places where messages can't begin, by the message.
    var waiting: [ObjectIdentifier: BlockedPlace] = [:]
    /// The open asks that the handler of a message makes, by the message.
    var asks: [ObjectIdentifier: [(cell: CoordinatorCell, envelope: Envelope)]] = [:]

    static func below(_ top: CoordinatorCell) async -> WaitEdges {
        var edges = WaitEdges()
        var nodes = [top]
        while let cell = nodes.popLast() {
            for place in await cell.blockedPlaces {
                for ask in place.asks { edges.waiting[ObjectIdentifier(ask)] = place }
            }
            for envelope in cell.existingOpenAsks?.all ?? [] {
                if let cause = envelope.cause { edges.asks[cause, default: []].append((cell, envelope)) }
            }
            nodes += (cell.existingSupervision?.hosts ?? []).compactMap { $0 as? CoordinatorCell }
        }
        return edges
    }
}

extension CoordinatorCell {
    /// Looks for cycles soon, because an ask waits here for handlers that wait themselves.
    func watchForCycles() {
        let isFirst = state.withLock { state in
            defer { state.extras.cycleLooks = CycleSearch.looks }
            return state.extras.cycleLooks == 0
        }
        if isFirst { planLook(rest: CycleSearch.looks) }
    }

    private func planLook(rest: Int) {
        let pause = CycleSearch.patience * (1 << max(0, CycleSearch.looks - rest))
        _ = runtime.time.schedule(at: runtime.time.now + pause) { [weak self] in
            guard let self else { return }
            runtime.execution.tasks.add { await self.lookForCycle() }
        }
    }

    private func lookForCycle() async {
        let finding = await CycleLooks.shared.turn.pass { await self.endCycle() }
        let isBlocked = await !blockedPlaces.isEmpty
        let rest = state.withLock { state in
            let rest =
                switch finding {
                case _ where !isBlocked: 0
                case .none: state.extras.cycleLooks - 1
                // What has waited for the ask that is ended ends first, in several processes, and may make room here: the longest pause.
                case .left, .ended: 1
                }
            (state.extras.cycleLooks, state.extras.hasLeftCycle) = (rest, finding == .left && rest > 0)
            return rest
        }
        if rest > 0 { planLook(rest: rest) }
    }

    /// Ends the ask by which this coordinator waits for itself, if there is one.
    ///
    /// Several processes may find a cycle at the same moment, and one ask is enough to end: of the coordinators that look, the first by name ends
    /// its own at once, the others when they find the cycle again.
    private func endCycle() async -> CycleFinding {
        let places = await blockedPlaces
        guard !places.isEmpty else { return .none }
        let edges = await WaitEdges.below(lineage.last ?? self)
        for place in places {
            let search = CycleSearch(at: place.name)
            CycleLooks.shared.openSearch(search.number)
            let cycle = await search.follow(place, in: edges)
            let closing = CycleLooks.shared.end(search.number)
            guard let cycle, let message = closing.first else { continue }
            guard cycle.blocked.min() == place.name || state.withLock({ $0.extras.hasLeftCycle }) else { return .left }
            let names = cycle.way.joined(separator: " → ")
            let text =
                "\(message.body.name), asked by \(message.sender), can't begin at \(place.name), which waits for itself: \(names). "
                + "Let one of the rows interleave, or ask from a task of its own"
            if await refuse(message, CoordinatorError(.deadlock, text)) {
                logger.warning("coordinators wait for one another", metadata: ["cycle": "\(names)"])
            }
            return .ended
        }
        return .none
    }

    /// The places where asks wait for what waits itself: this coordinator's mailbox, or the members of a pool.
    fileprivate var blockedPlaces: [BlockedPlace] {
        get async {
            if let pool = handingOn { return await pool.blockedPlaces }
            let asks = state.withLock { $0.mailbox.heldUpMessages }
            return asks.isEmpty ? [] : [BlockedPlace(name: path.description, obstacle: .handlers(self), asks: asks)]
        }
    }

    /// The coordinator as a pool; `nil` when it isn't one.
    var handingOn: (any HandingOn)? {
        type.table.isPool ? state.withLock { $0.life.instance } as? any HandingOn : nil
    }

    /// The messages whose handlers keep others from beginning; `nil` when no message is held up.
    fileprivate var handledWhileHeldUp: [Envelope]? {
        let running = state.withLock { state -> [Envelope]? in
            state.mailbox.isHeldUp ? state.handlers.running.values.compactMap(\.envelope) : nil
        }
        return running?.filter { type.table.row(for: $0.body)?.interleaves != true }
    }

    /// Ends an ask that hasn't begun.
    ///
    /// - Returns: Whether it waited: it never begins then.
    private func refuse(_ ask: Envelope, _ error: CoordinatorError) async -> Bool {
        if let pool = handingOn { return await pool.refuse(ask, error) }
        guard state.withLock({ $0.mailbox.removeHeldUp(ask) }) else { return false }
        wakeIfIdle()
        ask.end(.failure(error))
        return true
    }
}
