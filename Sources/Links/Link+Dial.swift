import NNG
public import WireProtocol

extension Link {
    /// How long two processes may take to find each other.
    ///
    /// More than a busy machine needs: who gives up is started again, which makes it busier.
    public static let handshakeTimeout = Duration.seconds(15)

    /// Does now what the first link would have to wait for.
    public static func prepare() { Library.prepare() }

    /// Dials the parent's listener and negotiates; `start` begins to receive.
    public static func dial(
        _ address: String,
        limits: FrameLimits = .default,
        timeout: Duration = Link.handshakeTimeout
    ) async throws(LinkError) -> Link {
        do throws(NNGError) {
            let connection = try await PairConnection.dial(address, maximumMessageSize: maximumMessageSize(limits), timeout: timeout)
            return Link(connection, limits: limits)
        } catch {
            throw LinkError(error)
        }
    }
}
