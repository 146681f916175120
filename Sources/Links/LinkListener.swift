import ConcurrencySupport
import NNG
import Processes
public import WireProtocol

/// The one place of a process where its children's links arrive.
///
/// A peer must say hello within the time-out, with a secret that somebody expects; everything else is closed without a word.
/// A peer that connects and stays silent, or talks nonsense, disturbs nobody.
public final class LinkListener: Sendable {
    /// Decides about a peer that said hello: takes the link over, or throws to refuse it.
    public typealias Welcome = @Sendable (Link, Hello) throws -> Link.Handler

    /// Where children dial to.
    public let address: String

    private let listener: StreamListener
    private let limits: FrameLimits
    private let handshakeTimeout: Duration
    private let arrivals = Arrivals()
    private let isOpen = Lock(true)

    /// Binds and listens; peers are let in from `run` on.
    ///
    /// - Parameters:
    ///   - address: an nng address such as `ipc:///run/coordinator/links.sock`.
    ///   - handshakeTimeout: how long a peer may take to say hello.
    public init(address: String, limits: FrameLimits = .default, handshakeTimeout: Duration = Link.handshakeTimeout) throws(LinkError) {
        self.address = address
        self.limits = limits
        self.handshakeTimeout = handshakeTimeout
        do throws(NNGError) {
            listener = try StreamListener(address)
        } catch {
            throw LinkError(error)
        }
    }

    /// Lets peers in until the listener is closed or the task is cancelled.
    public func run(_ welcome: @escaping Welcome) async {
        await withDiscardingTaskGroup { group in
            while isOpen.withLock({ $0 }), !Task.isCancelled {
                do throws(NNGError) {
                    let stream = try await listener.accept()
                    let arrival = arrivals.add(stream)
                    group.addTask {
                        await self.admit(stream) { link, hello in
                            // It's silent no more, and gives way to nobody.
                            self.arrivals.remove(arrival)
                            return try welcome(link, hello)
                        }
                        self.arrivals.remove(arrival)
                    }
                } catch {
                    // Closed, cancelled, or out of descriptors: the last passes, and the peer dials again.
                    if error.code == .closed || error.code == .canceled { break }
                    try? await Task.sleep(for: .milliseconds(10))
                }
            }
            group.cancelAll()
        }
    }

    /// Stops listening.
    ///
    /// Links that were handed over live on.
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
        let link = Link(connection, limits: limits)
        let (outcomes, outcome) = AsyncStream.makeStream(of: Bool.self)
        link.start(
            Link.Handler(
                frameReceived: { link, frame in
                    defer { outcome.finish() }
                    guard case .hello(let hello) = frame.content, let handler = try? welcome(link, hello) else { return link.close() }
                    link.hand(over: handler)
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
