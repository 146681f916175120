import ConcurrencySupport
package import NNG

/// A listener at which other nodes of the cluster connect, to pass operators' requests on and to exchange messages of coordinators.
///
/// Nothing is said to a peer before it has proved its name as ``NodeGreeting`` describes.
public final class NodeListener: Sendable {
    /// The limits of connections.
    public struct Limits: Sendable {
        /// The largest number of connections whose peers haven't proved yet who they are; beyond it one of the address with most of them gives way.
        public var unproved = 128
        /// The largest number of one node's connections for messages of coordinators.
        public var messages = 8
        /// The largest number of one node's connections for requests.
        public var requests = 8
        /// The largest number of one node's connections for streams, each of which is an operator who follows something.
        public var streams = 32
        /// The time in which a peer has to prove who it is.
        public var greeting = NodeLinks.greetingLimit

        /// Creates limits with their defaults.
        public init() {}

        /// Each purpose has its own limit, so that none keeps another out.
        func connections(for purpose: NodeGreeting.Purpose) -> Int {
            switch purpose {
            case .messages: messages
            case .requests: requests
            case .streams: streams
            }
        }
    }

    /// A connection whose peer hasn't proved who it is.
    private struct Unproved {
        /// The peer's address without its port.
        let address: [UInt8]
        let close: @Sendable () -> Void
    }

    private struct State {
        var unproved: [UInt64: Unproved] = [:]
        var next: UInt64 = 0
        /// The number of connections of each node for each purpose.
        var proved: [NodeLinks.Aim: Int] = [:]

        mutating func leave(_ aim: NodeLinks.Aim) {
            let rest = (proved[aim] ?? 0) - 1
            proved[aim] = rest > 0 ? rest : nil
        }
    }

    /// The identity of the node, as it shows it at present.
    private let present: Lock<NodeIdentity>
    private let listener: StreamListener
    private let host: String
    private let dials: NodeDials
    private let limits: Limits
    private let addresses: @Sendable (String) async -> NodeAddress?
    private let report: @Sendable (NodeLinkReport) -> Void
    private let state = Lock(State())
    private let connections = NodeConnections()

    /// Binds and listens at once; connections are accepted as soon as ``run(serving:messages:)`` runs.
    ///
    /// - Parameters:
    ///   - address: The address; a port of 0 stands for any that is free.
    ///   - identity: Who the node is.
    ///   - dials: The dials that the node has under way, which other nodes ask about.
    ///   - limits: The limits of connections.
    ///   - addresses: Returns the address that the store has of a node; nil when the cluster has no such node.
    ///   - report: Takes note of what happens; it must not block.
    /// - Throws: `.failed` when the address can't be used, or the certificates can't.
    public init(
        at address: NodeAddress,
        as identity: NodeIdentity,
        dials: NodeDials,
        limits: Limits = Limits(),
        addresses: @escaping @Sendable (String) async -> NodeAddress?,
        report: @escaping @Sendable (NodeLinkReport) -> Void
    ) throws(ControlError) {
        do throws(NNGError) {
            listener = try StreamListener(address.url, security: identity.security)
        } catch {
            throw ControlError(.failed, "other nodes can't be listened for at \(address): \(error)")
        }
        host = address.host
        present = Lock(identity)
        (self.dials, self.limits, self.addresses, self.report) = (dials, limits, addresses, report)
    }

    private var identity: NodeIdentity { present.withLock { $0 } }

    /// Shows other proofs on the connections that other nodes make from now on, and expects others of them.
    ///
    /// Those that there are stay, except those of nodes whose certificates are now revoked.
    ///
    /// - Throws: `.failed` when the certificates can't be used; the former ones stay then.
    public func use(_ identity: NodeIdentity) throws(ControlError) {
        do throws(NNGError) {
            try listener.use(identity.security)
        } catch {
            throw ControlError(.failed, "the certificates can't be used: \(error)")
        }
        present.withLock { $0 = identity }
        connections.closeRevoked(by: identity)
    }

    /// The address at which the node listens, with its port.
    public var address: NodeAddress { NodeAddress(host: host, port: UInt16(clamping: listener.port ?? 0)) }

    /// Takes a connection on which another node exchanges messages of coordinators, and returns when it has ended.
    package typealias Messages = @Sendable (PairConnection, _ node: String) async -> Void

    /// Accepts connections until ``close()``, and has the server carry out what trusted nodes request.
    ///
    /// - Parameter messages: Takes the connections for messages of coordinators.
    package func run(serving server: ControlServer, messages: @escaping Messages) async {
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                while !Task.isCancelled {
                    do throws(NNGError) {
                        let stream = try await listener.accept()
                        group.addTask { await self.receive(stream, server, messages) }
                    } catch {
                        if error.code == .closed { break }
                        // Descriptors or memory are short for a while.
                        try? await Task.sleep(for: .milliseconds(100))
                    }
                }
                group.cancelAll()
            }
        } onCancel: {
            close()
        }
    }

    /// Ends ``run(serving:messages:)``, which closes all connections.
    public func close() { listener.close() }

    /// A peer that has proved who it is.
    private struct Greeted {
        let connection: PairConnection
        let node: String
        let purpose: NodeGreeting.Purpose
    }

    private func receive(_ stream: ByteStream, _ server: ControlServer, _ messages: Messages) async {
        let number = admit(Unproved(address: stream.remoteAddress) { stream.close() })
        let deadline = MonotonicTime.now + limits.greeting
        let greeted: Greeted?
        do {
            let connection = try await PairConnection.negotiate(
                stream,
                maximumMessageSize: ControlServer.maximumAnswerSize,
                maximumReceivedSize: NodeGreeting.maximumSize,
                timeout: limits.greeting
            )
            greeted = await greet(connection, before: deadline)
        } catch {
            // An address that is only tried, as by a load balancer, is no attempt.
            if error.code != .connectionShut, error.code != .connectionReset, error.code != .closed {
                report(.refused(node: nil, reason: "no handshake: \(error.code)"))
            }
            greeted = nil
        }
        state.withLock { $0.unproved[number] = nil }
        guard let greeted else { return stream.close() }
        report(.accepted(node: greeted.node))
        switch greeted.purpose {
        case .requests, .streams: await server.serve(greeted.connection, of: greeted.node)
        case .messages: await messages(greeted.connection, greeted.node)
        }
        greeted.connection.close()
        state.withLock { $0.leave(NodeLinks.Aim(node: greeted.node, purpose: greeted.purpose)) }
    }

    /// Takes note of a connection, and has another one give way when there are too many: one of the address that has most, chosen by chance.
    ///
    /// So a crowd at one address keeps none out at another one, and at its own those that it outpaces in part alone: were it the oldest that
    /// gives way, who makes connections fast enough would have each handshake fail.
    private func admit(_ connection: Unproved) -> UInt64 {
        let (number, evicted) = state.withLock { state in
            var evicted: Unproved?
            if state.unproved.count >= limits.unproved {
                let byAddress = Dictionary(grouping: state.unproved.keys) { state.unproved[$0]?.address ?? [] }
                let victim = byAddress.values.max { $0.count < $1.count }?.randomElement()
                evicted = victim.flatMap { state.unproved.removeValue(forKey: $0) }
            }
            state.next += 1
            state.unproved[state.next] = connection
            return (state.next, evicted)
        }
        evicted?.close()
        return number
    }

    /// Has the peer prove who it is.
    ///
    /// - Returns: nil when the connection isn't needed any more or the peer isn't believed.
    private func greet(_ connection: PairConnection, before deadline: MonotonicTime) async -> Greeted? {
        try? await connection.closing(at: deadline) { () async throws(ControlError) -> Greeted? in
            guard let bytes = try? await connection.receive() else { return nil }
            guard let greeting = NodeGreeting(bytes: bytes) else { return refuse(nil, "it speaks another protocol") }
            let node = String(greeting.node.prefix(63))
            if let reason = greeting.stranger(to: identity) { return refuse(node, reason) }
            switch greeting.kind {
            case .question:
                guard dials.hasDialled(greeting.node, with: greeting.number) else {
                    return refuse(node, "it asks about a dial that there isn't")
                }
                try? await connection.send(NodeGreeting(.confirmed, by: identity, number: greeting.number).bytes)
                // The other node closes.
                _ = try? await connection.receive()
                return nil
            case .hello:
                if let reason = await doubt(greeting, before: deadline) { return refuse(node, reason) }
                let aim = NodeLinks.Aim(node: greeting.node, purpose: greeting.purpose)
                let limit = limits.connections(for: greeting.purpose)
                let hasRoom = state.withLock { state in
                    guard state.proved[aim] ?? 0 < limit else { return false }
                    state.proved[aim, default: 0] += 1
                    return true
                }
                guard hasRoom else { return refuse(node, "it has \(limit) connections for \(aim.purpose.rawValue)") }
                connection.limitReceivedSize(to: ControlServer.maximumReceivedSize)
                guard (try? await connection.send(NodeGreeting(.welcome, by: identity, number: greeting.number).bytes)) != nil else {
                    state.withLock { $0.leave(aim) }
                    return nil
                }
                connections.add(connection)
                // The lists may have changed since the handshake.
                connections.closeRevoked(by: self.identity)
                return Greeted(connection: connection, node: greeting.node, purpose: greeting.purpose)
            case .confirmed, .welcome: return refuse(node, "it answers what it wasn't asked")
            }
        }
    }

    private func refuse(_ node: String?, _ reason: String) -> Greeted? {
        report(.refused(node: node, reason: reason))
        return nil
    }

    /// Asks at the registered address of the node that a peer claims to be whether that node has dialled this one.
    ///
    /// - Returns: The reason not to believe it; nil: the peer is that node.
    private func doubt(_ hello: NodeGreeting, before deadline: MonotonicTime) async -> String? {
        guard let address = await addresses(hello.node) else { return "the cluster has no node of that name that listens" }
        do throws(ControlError) {
            let connection = try await PairConnection.dial(hello.node, at: address, as: identity, before: deadline)
            defer { connection.close() }
            let question = NodeGreeting(.question, by: identity, number: hello.number)
            let answer = try await connection.closing(at: deadline) { await connection.exchange(question) }
            guard let answer, answer.kind == .confirmed, answer.stranger(to: identity) == nil, answer.node == hello.node,
                answer.number == hello.number
            else { return "the node of that name says that it hasn't dialled this one" }
            return nil
        } catch {
            return "the node of that name can't be asked: \(error.message)"
        }
    }
}
