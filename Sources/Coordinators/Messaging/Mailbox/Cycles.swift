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
/// A message is blocked only if no handler that could make room for it will end: each of them waits for asks alone, and all of these are
/// blocked as well. What waits for something else, such as a timer, a member of a pool, a stream or a restart, isn't blocked.
struct CycleSearch: Sendable {
    /// The request in which the other side of a link is asked to go on.
    static let operation = "cycle"
    /// The time for which an ask waits before its coordinator looks.
    static let patience = Duration.milliseconds(400)
    /// The number of looks for each ask: a message on its way between processes is seen by the next.
    static let looks = 2
    /// The number of coordinators that a search goes through, and of asks of one handler that it follows.
    private static let limit = 64
    private static let answerLimit = Duration.seconds(1)

    /// The search's number, known to the process that has begun it.
    let number: UInt64
    /// The coordinators on the way, from that which can't begin the ask.
    var way: [String]
    /// The coordinators on the way at which messages wait that can't begin.
    var blocked: [String]

    /// Begins a search at a coordinator.
    fileprivate init(at path: CoordinatorPath) {
        (number, way, blocked) = (.random(in: 1 ... .max), [path.description], [path.description])
    }

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
    /// - Returns: The coordinators of the cycle; `nil` if the ask isn't known to be blocked.
    func follow(_ envelope: Envelope, below top: Node) async -> [String]? {
        await follow(envelope, in: WaitEdges(below: top))
    }

    fileprivate func follow(_ envelope: Envelope, in edges: WaitEdges) async -> [String]? {
        guard !envelope.hasEnded, way.count < Self.limit else { return nil }
        if let node = edges.waiting[ObjectIdentifier(envelope)] {
            let path = node.path.description
            if let first = way.firstIndex(of: path), blocked.contains(path) {
                // The coordinator at which the search has begun ends the ask that closes the cycle.
                if path == blocked.first { CycleLooks.shared.note(envelope, in: number) }
                return way[first...] + [path]
            }
            var search = self
            search.way.append(path)
            search.blocked.append(path)
            return await search.followHandlers(of: node, in: edges)
        }
        if let (peer, correlation) = envelope.way { return await go(on: peer, correlation) }
        guard let asks = edges.asks[ObjectIdentifier(envelope)], let node = asks.first?.node else { return nil }
        var search = self
        search.way.append(node.path.description)
        return await search.follow(asks.map(\.envelope), in: edges)
    }

    /// Follows what the handlers ask that keep a coordinator from beginning its messages.
    fileprivate func followHandlers(of node: Node, in edges: WaitEdges) async -> [String]? {
        guard let handled = node.handledWhileHeldUp else { return nil }
        var cycle: [String]?
        for message in handled {
            guard let asks = edges.asks[ObjectIdentifier(message)]?.map(\.envelope) else { return nil }
            guard let found = await follow(asks, in: edges) else { return nil }
            cycle = cycle ?? found
        }
        return cycle
    }

    /// Follows the asks of one handler, which goes on when one of them ends.
    private func follow(_ asks: [Envelope], in edges: WaitEdges) async -> [String]? {
        guard asks.count <= Self.limit else { return nil }
        var cycle: [String]?
        for ask in asks {
            guard let found = await follow(ask, in: edges) else { return nil }
            cycle = cycle ?? found
        }
        return cycle
    }

    /// Has the process go on to which the ask has gone.
    private func go(on peer: Peer, _ correlation: UInt64) async -> [String]? {
        let payload: JSONValue = [
            "search": .string("\(number)"), "ask": .string("\(correlation)"),
            "way": .array(way.map { .string($0) }), "blocked": .array(blocked.map { .string($0) }),
        ]
        return Self.texts(try? await peer.inspect(Self.operation, "", payload, timeout: Self.answerLimit))
    }
}

/// The searches that this process has begun.
private final class CycleLooks: Sendable {
    static let shared = CycleLooks()

    private let found = Lock<[UInt64: [Envelope]]>([:])
    /// The lock under which the process's searches come one after the other: the second sees what the first has ended.
    let turn = AsyncLock()

    func begin(_ search: UInt64) { found.withLock { $0[search] = [] } }

    /// Notes an ask that closes a cycle, if the search was begun here.
    func note(_ envelope: Envelope, in search: UInt64) { found.withLock { $0[search]?.append(envelope) } }

    func end(_ search: UInt64) -> [Envelope] { found.withLock { $0.removeValue(forKey: search) ?? [] } }
}

/// What waits for what among the coordinators of one process.
private struct WaitEdges {
    /// The coordinators that can't begin a message, by the message.
    var waiting: [ObjectIdentifier: Node] = [:]
    /// The open asks that the handler of a message makes, by the message.
    var asks: [ObjectIdentifier: [(node: Node, envelope: Envelope)]] = [:]

    init(below top: Node) { add(top) }

    private mutating func add(_ node: Node) {
        for envelope in node.heldUpMessages { waiting[ObjectIdentifier(envelope)] = node }
        for envelope in node.existingOpenAsks?.all ?? [] {
            if let cause = envelope.cause { asks[cause, default: []].append((node, envelope)) }
        }
        for case let host as LocalHost in node.existingChildren?.hosts ?? [] {
            if let child = host.coordinator { add(child) }
        }
    }
}

extension Node {
    /// Looks for cycles soon, because an ask waits here for handlers that wait themselves.
    func watchForCycles() {
        let isFirst = state.withLock { state in
            defer { state.extras.cycleLooks = CycleSearch.looks }
            return state.extras.cycleLooks == 0
        }
        if isFirst { planLook() }
    }

    private func planLook() {
        _ = runtime.time.schedule(at: runtime.time.now + CycleSearch.patience) { [weak self] in
            guard let self else { return }
            runtime.tasks.add { await self.lookForCycle() }
        }
    }

    private func lookForCycle() async {
        let isLeft = await CycleLooks.shared.turn.pass { await self.endCycle() }
        let goesOn = state.withLock { state in
            let rest = state.mailbox.heldUpMessages.isEmpty ? 0 : max(state.extras.cycleLooks - 1, isLeft ? 1 : 0)
            (state.extras.cycleLooks, state.extras.hasLeftCycle) = (rest, isLeft && rest > 0)
            return rest > 0
        }
        if goesOn { planLook() }
    }

    /// Ends the ask by which this coordinator waits for itself, if there is one.
    ///
    /// Several processes may find a cycle at the same moment, and one ask is enough to end: the first coordinator by name ends its own at once, the
    /// others when they find the cycle again.
    ///
    /// - Returns: Whether there is a cycle that is left to another coordinator for now.
    private func endCycle() async -> Bool {
        guard !heldUpMessages.isEmpty else { return false }
        let top = lineage.last ?? self
        let search = CycleSearch(at: path)
        CycleLooks.shared.begin(search.number)
        let cycle = await search.followHandlers(of: self, in: WaitEdges(below: top))
        let closing = CycleLooks.shared.end(search.number)
        guard let cycle, let message = closing.first else { return false }
        guard cycle.min() == path.description || state.withLock({ $0.extras.hasLeftCycle }) else { return true }
        guard withdraw(message) else { return false }
        logger.warning("coordinators wait for one another", metadata: ["cycle": "\(cycle.joined(separator: " → "))"])
        let text =
            "\(message.body.name), asked by \(message.sender), can't begin at \(path), which waits for itself: "
            + "\(cycle.joined(separator: " → ")). Let one of the rows interleave, or ask from a task of its own"
        message.end(.failure(CoordinatorError(.deadlock, text)))
        return false
    }

    /// The messages that wait for handlers that wait themselves.
    fileprivate var heldUpMessages: [Envelope] { state.withLock { $0.mailbox.heldUpMessages } }

    /// The messages whose handlers keep others from beginning; `nil` when no message is held up.
    fileprivate var handledWhileHeldUp: [Envelope]? {
        let running = state.withLock { state -> [Envelope]? in
            state.mailbox.isHeldUp ? state.handlers.running.values.compactMap(\.envelope) : nil
        }
        return running?.filter { type.table.row(for: $0.body)?.interleaves != true }
    }

    /// Takes a message out of the mailbox that hasn't begun.
    ///
    /// - Returns: Whether it waited: it never begins then.
    private func withdraw(_ message: Envelope) -> Bool {
        let isWithdrawn = state.withLock { $0.mailbox.removeHeldUp(message) }
        if isWithdrawn { wakeIfIdle() }
        return isWithdrawn
    }
}
