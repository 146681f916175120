import ConcurrencySupport
package import NNG
public import WireProtocol

/// The connections to other nodes, on which a node passes requests on.
///
/// There is one connection to a node, made when it's needed and closed when it hasn't been for a while; a stream has its own, because its reader
/// may be slow, and so have the messages of coordinators, which belong to the caller. A node that doesn't answer three pings in a row counts as lost.
public final class NodeLinks: Sendable {
    /// The time in which two nodes have to be done with proving who they are.
    public static let greetingLimit = Duration.seconds(5)

    /// The times of connections.
    public struct Times: Sendable {
        /// The time in which two nodes have to be done with proving who they are.
        public var greeting = NodeLinks.greetingLimit
        /// The time between two pings, and for which an answer is waited for.
        public var ping = Heartbeat.ofNodes.interval
        /// The number of pings without an answer after which the node counts as lost.
        public var misses = Heartbeat.ofNodes.misses
        /// The time after which a connection without requests is closed.
        public var idle = Duration.seconds(60)
        /// The pause after the first dial that has failed; it's doubled with each further one.
        public var shortestPause = Duration.milliseconds(50)
        /// The longest pause after a dial that has failed.
        public var longestPause = Duration.seconds(2)

        /// Creates times with their defaults.
        public init() {}

        fileprivate var heartbeat: Heartbeat { Heartbeat(every: ping, misses: misses) }
    }

    private typealias Dialled = Result<ControlClient, ControlError>

    private enum Link {
        /// Requests wait. Can transition to: up.
        case dialling(NodeAddress, OneShot<Dialled>)
        /// Can transition to: dialling, when the connection has ended or the node has another address.
        case up(NodeAddress, ControlClient)
    }

    /// What connections of one purpose to one node are dialled for.
    struct Aim: Hashable {
        var node: String
        var purpose: NodeGreeting.Purpose
    }

    /// The dials that have failed one after the other; the next one comes after a pause, or when the node has another address.
    private struct Failures {
        var address: NodeAddress
        var count: Int
        var retry: ContinuousClock.Instant
        var error: ControlError
    }

    private struct State {
        /// The connections for requests that there are, or that are being made.
        var links: [String: Link] = [:]
        var failures: [Aim: Failures] = [:]
        /// The requests that use the connection to a node, or wait for it.
        var uses: [String: Use] = [:]

        /// Returns the error of the last dial, while the pause after it lasts.
        func refusal(of aim: Aim, at address: NodeAddress) -> ControlError? {
            guard let failures = failures[aim], failures.address == address, .now < failures.retry else { return nil }
            return failures.error
        }

        mutating func recordFailure(_ error: ControlError, of aim: Aim, at address: NodeAddress, _ times: Times) {
            let former = failures[aim].flatMap { $0.address == address ? $0.count : nil } ?? 0
            let pause = min(times.longestPause, times.shortestPause * (1 << min(former, 10)))
            failures[aim] = Failures(address: address, count: former + 1, retry: .now + pause, error: error)
        }
    }

    private struct Use {
        var count = 0
        var last = ContinuousClock.now
    }

    private let present: Lock<NodeIdentity>
    private let dials: NodeDials
    private let times: Times
    private let report: @Sendable (NodeLinkReport) -> Void
    private let tasks = OwnedTasks()
    private let state = Lock(State())
    private let connections = NodeConnections()

    /// Creates the connections of a node, none of which is made yet.
    ///
    /// - Parameters:
    ///   - identity: Who the node is.
    ///   - dials: The memory of dials that other nodes ask about.
    ///   - times: The times of connections.
    ///   - report: Takes note of what happens; it must not block.
    public init(
        as identity: NodeIdentity,
        dials: NodeDials,
        times: Times = Times(),
        report: @escaping @Sendable (NodeLinkReport) -> Void
    ) {
        present = Lock(identity)
        (self.dials, self.times, self.report) = (dials, times, report)
    }

    /// The proofs that are shown at present.
    public var identity: NodeIdentity { present.withLock { $0 } }

    /// Shows other proofs on the connections that are made from now on; those that there are stay, except those with nodes whose certificates
    /// are now revoked.
    public func use(_ identity: NodeIdentity) {
        present.withLock { $0 = identity }
        connections.closeRevoked(by: identity)
        // What the former proofs were refused for, these may not be.
        state.withLock { $0.failures = [:] }
    }

    /// Closes all connections; open requests end.
    public func end() async {
        let links = state.withLock { state in
            defer { state.links = [:] }
            return Array(state.links.values)
        }
        for case .up(_, let client) in links { client.close() }
        await tasks.end()
    }

    /// A request that wasn't answered.
    public enum Failure: Error, Hashable, Sendable {
        /// The node has answered with an error, or the time was over.
        case answered(ControlError)
        /// The node isn't reachable, and knows nothing of the request.
        case notSent(ControlError)
        /// The connection has ended before the answer, and the request may have been carried out.
        case unanswered(ControlError)

        /// The error in words.
        public var error: ControlError {
            switch self {
            case .answered(let error), .notSent(let error), .unanswered(let error): error
            }
        }
    }

    /// Has a node carry out an operation, and returns the result.
    ///
    /// - Parameters:
    ///   - operation: The operation.
    ///   - node: The node's name.
    ///   - address: The address that the store has of it.
    ///   - requestID: The name of the change, by which the node makes it once.
    ///   - origin: The operator who has requested it, and the epoch for which it's meant.
    ///   - patience: The time for which a connection is waited for; the answer is waited for as the operation says.
    public func call(
        _ operation: ControlOperation,
        of node: String,
        at address: NodeAddress,
        requestID: String?,
        origin: RequestOrigin,
        patience: Duration = NodeLinks.greetingLimit
    ) async throws(Failure) -> JSONValue {
        state.withLock { $0.uses[node, default: Use()].count += 1 }
        defer {
            state.withLock { state in
                state.uses[node]?.count -= 1
                state.uses[node]?.last = .now
            }
        }
        let client: ControlClient
        do throws(ControlError) {
            client = try await self.client(of: node, at: address, before: .now + patience)
        } catch {
            throw .notSent(error)
        }
        do throws(ControlError) {
            return try await client.perform(operation, requestID: requestID, origin: origin, nil)
        } catch {
            guard error == client.end else { throw .answered(error) }
            if error.code.provesAbsence { throw .notSent(error) }
            let message = "the connection to \(node) has ended before the answer (peerLost); what the request has done is unknown"
            throw .unanswered(ControlError(.failed, message))
        }
    }

    /// Has a node carry out an operation whose answer is a stream, and calls a function for the items as they come.
    public func stream(
        _ operation: ControlOperation,
        of node: String,
        at address: NodeAddress,
        origin: RequestOrigin,
        each body: ([JSONValue]) async throws(ControlError) -> Void
    ) async throws(Failure) -> JSONValue {
        let client: ControlClient
        do throws(ControlError) { client = try await dial(node, at: address, for: .streams) } catch { throw .notSent(error) }
        defer { client.close() }
        do throws(ControlError) {
            let items = try await client.items(of: operation, origin: origin)
            tasks.add { [weak client, weak items, times] in
                let isLost = await times.heartbeat.isLost {
                    guard let client, !client.hasEnded else { return .over }
                    let isAnswered = (try? await client.perform(.ping, requestID: nil, times.ping)) != nil
                    // An answer waits behind items that aren't read yet.
                    return isAnswered || items?.hasUnread ?? true ? .heard : .missed
                }
                if isLost { client?.close() }
            }
            while true {
                switch try await items.next() {
                case .items(let items): try await body(items)
                case .end(let result): return result
                }
            }
        } catch {
            throw .answered(error)
        }
    }

    // MARK: - The connection to a node

    private func client(
        of node: String,
        at address: NodeAddress,
        before deadline: MonotonicTime
    ) async throws(ControlError) -> ControlClient {
        let (waiter, isFirst) = state.withLock { state -> (OneShot<Dialled>, Bool) in
            let waiter = OneShot<Dialled>()
            switch state.links[node] {
            case .up(let known, let client) where known == address && !client.hasEnded:
                waiter.settle(.success(client))
                return (waiter, false)
            case .dialling(let known, let waiter) where known == address: return (waiter, false)
            case .dialling, .up, nil: break
            }
            state.links[node] = .dialling(address, waiter)
            return (waiter, true)
        }
        // A task of its own: a request that is cancelled doesn't cancel what others wait for.
        if isFirst { tasks.add { await self.connect(to: node, at: address, waiter) } }
        if let dialled = waiter.outcome { return try dialled.get() }
        let dialled = await withTaskGroup(of: Dialled?.self) { group in
            group.addTask { await waiter.valueUnlessCancelled() }
            group.addTask {
                try? await TimeSource.monotonic.sleep(until: deadline)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
        if let dialled { return try dialled.get() }
        if Task.isCancelled { throw ControlError(.cancelled, "the request was cancelled") }
        throw ControlError(.timedOut, "\(node) at \(address) wasn't reached in time")
    }

    private func connect(to node: String, at address: NodeAddress, _ waiter: OneShot<Dialled>) async {
        let dialled: Dialled
        do throws(ControlError) {
            dialled = .success(try await dial(node, at: address, for: .requests))
        } catch {
            dialled = .failure(error)
        }
        let isLatest = state.withLock { state in
            guard case .dialling(_, let latest) = state.links[node], latest === waiter else { return false }
            state.links[node] = (try? dialled.get()).map { .up(address, $0) }
            return true
        }
        waiter.settle(dialled)
        guard let client = try? dialled.get() else { return }
        report(.connected(node: node))
        if isLatest { await attend(client, of: node) } else { client.close() }
    }

    /// Dials a node and proves who this one is.
    private func dial(
        _ node: String,
        at address: NodeAddress,
        for purpose: NodeGreeting.Purpose
    ) async throws(ControlError) -> ControlClient {
        let connection = try await connect(to: node, at: address, for: purpose)
        connection.limitReceivedSize(to: ControlServer.maximumAnswerSize)
        return ControlClient(connection, socket: node)
    }

    /// Makes a connection to a node for the messages of coordinators, which the caller closes.
    ///
    /// - Throws: `.notPermitted` when the two nodes don't trust each other, `.unreachable`, `.timedOut`; the former error, without a dial,
    ///   during the pause after one that has failed.
    package func connectForMessages(to node: String, at address: NodeAddress) async throws(ControlError) -> PairConnection {
        let connection = try await connect(to: node, at: address, for: .messages)
        connection.limitReceivedSize(to: ControlServer.maximumReceivedSize)
        return connection
    }

    /// Makes a connection, unless the last one has just failed.
    func connect(
        to node: String,
        at address: NodeAddress,
        for purpose: NodeGreeting.Purpose
    ) async throws(ControlError) -> PairConnection {
        let aim = Aim(node: node, purpose: purpose)
        if let refusal = state.withLock({ $0.refusal(of: aim, at: address) }) { throw refusal }
        do throws(ControlError) {
            let connection = try await connectOnce(to: node, at: address, for: purpose)
            state.withLock { $0.failures[aim] = nil }
            return connection
        } catch {
            // A dial that was given up says nothing of the node.
            if Task.isCancelled { throw error }
            state.withLock { $0.recordFailure(error, of: aim, at: address, times) }
            report(.failed(node: node, reason: error.message))
            throw error
        }
    }

    private func connectOnce(
        to node: String,
        at address: NodeAddress,
        for purpose: NodeGreeting.Purpose
    ) async throws(ControlError) -> PairConnection {
        let deadline = MonotonicTime.now + times.greeting
        let identity = identity
        let number = dials.reserveDial(to: node)
        defer { dials.end(number) }
        let size = purpose == .messages ? ControlServer.maximumReceivedSize : ControlServer.maximumRequestSize
        let connection = try await PairConnection.dial(node, at: address, as: identity, maximumSentSize: size, before: deadline)
        let hello = NodeGreeting(.hello, by: identity, number: number, for: purpose)
        let answer: NodeGreeting? = try await connection.closing(at: deadline) { await connection.exchange(hello) }
        guard let answer, answer.kind == .welcome, answer.stranger(to: identity) == nil, answer.node == node else {
            connection.close()
            throw ControlError(.notPermitted, "\(node) at \(address) doesn't welcome this node; its log says why")
        }
        connections.add(connection)
        // The lists may have changed since the handshake.
        connections.closeRevoked(by: self.identity)
        return connection
    }

    /// Pings a node, until the connection has ended or no request has needed it for a while.
    private func attend(_ client: ControlClient, of node: String) async {
        var reason = "it has ended"
        let isLost = await times.heartbeat.isLost {
            if client.hasEnded { return .over }
            if giveUpIfIdle(client, of: node) {
                reason = "no request needs it"
                return .over
            }
            if (try? await client.perform(.ping, requestID: nil, times.ping)) != nil { return .heard }
            return client.hasEnded ? .over : .missed
        }
        if isLost { reason = "\(times.misses) pings had no answer" }
        client.close()
        report(.disconnected(node: node, reason: reason))
    }

    /// Forgets a connection that no request has used for a while, so that none will.
    ///
    /// - Returns: Whether the connection is to be closed.
    private func giveUpIfIdle(_ client: ControlClient, of node: String) -> Bool {
        state.withLock { state in
            guard let use = state.uses[node], use.count == 0, .now - use.last > times.idle else { return false }
            if case .up(_, let latest) = state.links[node], latest === client { state.links[node] = nil }
            state.uses[node] = nil
            return true
        }
    }
}
