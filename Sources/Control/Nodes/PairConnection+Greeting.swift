import ConcurrencySupport
import NNG

extension PairConnection {
    /// Closes the connection at a time, unless the body has ended before.
    func closing<Value: Sendable>(
        at deadline: MonotonicTime,
        _ body: () async throws(ControlError) -> Value
    ) async throws(ControlError) -> Value {
        let timer = TimeSource.monotonic.schedule(at: deadline) { self.close() }
        defer { TimeSource.monotonic.cancel(timer) }
        return try await body()
    }

    /// Dials a node and shakes hands: its certificate is by the authority and has the name.
    static func dial(
        _ node: String,
        at address: NodeAddress,
        as identity: NodeIdentity,
        maximumSentSize: Int = ControlServer.maximumRequestSize,
        before deadline: MonotonicTime
    ) async throws(ControlError) -> PairConnection {
        do throws(NNGError) {
            return try await dial(
                address.url,
                security: (identity.security, node),
                maximumMessageSize: maximumSentSize,
                maximumReceivedSize: NodeGreeting.maximumSize,
                timeout: max(.milliseconds(1), deadline - .now)
            )
        } catch {
            let place = "\(node) at \(address)"
            switch error.code {
            case .cryptography, .peerNotAuthenticated:
                let advice = "look at the authority, the name and the time"
                throw ControlError(.notPermitted, "\(place) and this node don't trust each other's certificates: \(advice)")
            case .timedOut: throw ControlError(.timedOut, "\(place) doesn't answer")
            case .canceled: throw ControlError(.cancelled, "the request was cancelled")
            case .connectionShut, .connectionReset:
                throw ControlError(.unreachable, "\(place) has ended the connection; its log says why if it doesn't trust this node")
            default: throw ControlError(.unreachable, "\(place) isn't reachable: \(error.code)")
            }
        }
    }

    /// Says something, and returns the answer; nil when there was none.
    func exchange(_ greeting: NodeGreeting) async -> NodeGreeting? {
        do {
            try await send(greeting.bytes)
            return NodeGreeting(bytes: try await receive())
        } catch {
            return nil
        }
    }
}
