import ConcurrencySupport
import NNG
import Processes
public import WireProtocol

/// The listener of a process, at which the links of its children arrive.
///
/// A peer must send hello within the time-out, with a secret that the process expects; every other connection is closed without an answer. A
/// peer that connects and stays silent, or sends something else, doesn't disturb the others.
public final class LinkListener: Sendable {
    /// Gives a link whose peer has sent hello to its handler, with ``Link/hand(over:)``, or throws to refuse the peer.
    ///
    /// From then on the link is its new owner's, who may hand it over again before the function returns.
    public typealias Welcome = @Sendable (Link, Hello) throws -> Void

    /// The address that children dial.
    public let address: String

    private let listener: StreamListener
    private let limits: FrameLimits
    private let handshakeTimeout: Duration
    private let arrivals = Arrivals()
    private let isOpen = Lock(true)

    /// Binds the address and listens; ``run(_:)`` admits peers.
    ///
    /// The socket's file has mode 0600.
    ///
    /// - Parameters:
    ///   - address: an nng address such as `ipc:///run/coordinator/links.sock`.
    ///   - handshakeTimeout: the time that a peer may take to send hello.
    public init(
        address: String,
        limits: FrameLimits = .default,
        handshakeTimeout: Duration = Link.handshakeTimeout
    ) throws(LinkError) {
        self.address = address
        self.limits = limits
        self.handshakeTimeout = handshakeTimeout
        do throws(NNGError) {
            listener = try StreamListener(address)
        } catch {
            throw LinkError(error)
        }
    }

    /// Admits peers until the listener is closed or the task is cancelled.
    public func run(_ welcome: @escaping Welcome) async {
        await withDiscardingTaskGroup { group in
            while isOpen.withLock({ $0 }), !Task.isCancelled {
                do throws(NNGError) {
                    let stream = try await listener.accept()
                    let remove = arrivals.add(stream)
                    group.addTask {
                        await self.admit(stream) { link, hello in
                            // The peer is silent no more: it isn't closed when another arrives.
                            remove()
                            return try welcome(link, hello)
                        }
                        remove()
                    }
                } catch {
                    // The listener is closed or cancelled, or there are no descriptors. The last passes, and the peer dials again.
                    if error.code == .closed || error.code == .canceled { break }
                    try? await Task.sleep(for: .milliseconds(10))
                }
            }
            group.cancelAll()
        }
    }

    /// Stops listening.
    ///
    /// Links that were handed over stay open.
    public func close() {
        isOpen.withLock { $0 = false }
        listener.close()
    }

    private func admit(_ stream: ByteStream, _ welcome: @escaping Welcome) async {
        let connection: PairConnection
        do throws(NNGError) {
            connection = try await PairConnection.negotiate(
                stream,
                maximumMessageSize: Link.maximumMessageSize(limits),
                timeout: handshakeTimeout
            )
        } catch {
            return stream.close()
        }
        let link = Link(connection, limits: limits, takesNames: false)
        let (outcomes, outcome) = AsyncStream.makeStream(of: Bool.self)
        link.start(
            Link.Handler(
                frameReceived: { link, frame in
                    defer { outcome.finish() }
                    link.record(hello: frame)
                    guard case .hello(let hello) = frame.content, (try? welcome(link, hello)) != nil else { return link.close() }
                    outcome.yield(true)
                },
                closed: { _, _ in outcome.finish() }
            )
        )
        let isWelcome = await Self.first(of: outcomes, within: handshakeTimeout)
        if !isWelcome { link.close() }
    }

    private static func first(of outcomes: AsyncStream<Bool>, within timeout: Duration) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                for await outcome in outcomes { return outcome }
                return false
            }
            group.addTask {
                try? await Task.sleep(for: timeout)
                return false
            }
            let first = await group.next() ?? false
            group.cancelAll()
            return first
        }
    }
}
