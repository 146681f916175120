import ConcurrencySupport
import Processes
import Testing

/// Many connections to a Unix socket that say nothing, or hardly anything.
public final class Crowd: Sendable {
    private let connections: Lock<[RawSocket]>

    /// - Parameter greets: whether every fourth says which protocol it speaks.
    public init(at path: String, count: Int, greets: Bool = false) throws {
        ResourceLimits.raiseOpenFiles()
        connections = Lock(
            try (0..<count).map { index in
                let connection = try RawSocket(path, "\(index)")
                if greets, index.isMultiple(of: 4) { connection.send(RawSocket.greeting) }
                return connection
            }
        )
    }

    /// The number of connections that the other end has closed.
    public var closedCount: Int { connections.withLock { $0.count(where: \.isClosed) } }

    /// Closes all.
    public func leave() { connections.withLock { $0 = [] } }
}
