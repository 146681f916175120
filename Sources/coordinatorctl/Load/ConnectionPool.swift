import ConcurrencySupport
import Control
import Processes
import WireProtocol

/// Connections to one daemon, which are opened when they are needed.
///
/// An ask takes the first connection that has room, so that a small load needs only one.
final class ConnectionPool: Sendable {
    /// The number of asks that one connection carries at a time: a part of ``ControlServer/maximumOpenRequests``, because the daemon
    /// still counts an ask for a moment when the client has its answer.
    static let asksPerConnection = 64

    private struct Connection {
        var client: ControlClient?
        var open = 0
    }

    private let directory: RuntimeDirectory
    private let connections: Lock<[Connection]>
    /// Held while a connection is being opened.
    private let opening = AsyncLock()

    /// Creates a pool for a number of asks at a time.
    init(to directory: RuntimeDirectory, concurrency: Int) {
        self.directory = directory
        let count = (concurrency + Self.asksPerConnection - 1) / Self.asksPerConnection
        connections = Lock(Array(repeating: Connection(), count: count))
    }

    /// The number of connections that have been opened.
    var count: Int { connections.withLock { $0.count { $0.client != nil } } }

    /// The number of connections that haven't ended.
    var livingCount: Int { connections.withLock { $0.count { $0.client?.hasEnded == false } } }

    /// Requests an operation once.
    ///
    /// - Throws: a final failure when the daemon can't be reached, and one that isn't final when it goes away before it answers.
    func call(_ operation: ControlOperation) async throws(LoadFailure) -> JSONValue {
        let index = takeConnection()
        defer { connections.withLock { $0[index].open -= 1 } }
        var patience = UpgradePatience(directory)
        while true {
            let client = try await client(index)
            do throws(ControlError) {
                return try await client.callOnce(operation)
            } catch {
                // Another program takes the daemon's place, or the connection has just ended as idle: the ask wasn't made, and the delay counts.
                let mayRepeat = error.code.provesAbsence && !Task.isCancelled && patience.allowsAnotherAttempt(after: error)
                guard mayRepeat else { throw LoadFailure(error: error) }
                try? await Task.sleep(for: .microseconds(Int(UpgradePatience.pauseMicroseconds)))
            }
        }
    }

    func close() {
        for connection in connections.withLock({ $0 }) { connection.client?.close() }
    }

    private func takeConnection() -> Int {
        connections.withLock { connections in
            let index = connections.firstIndex { $0.open < Self.asksPerConnection } ?? 0
            connections[index].open += 1
            return index
        }
    }

    /// Returns a connection that hasn't ended, as far as this process knows: the daemon ends idle ones.
    private func client(_ index: Int) async throws(LoadFailure) -> ControlClient {
        if let client = living(index) { return client }
        return try await opening.pass { () async throws(LoadFailure) in
            if let client = self.living(index) { return client }
            do throws(ControlError) {
                let client = try await ControlClient.connect(runtimeDirectory: self.directory)
                self.connections.withLock { $0[index].client = client }
                return client
            } catch {
                throw LoadFailure(error: error, isFinal: true)
            }
        }
    }

    private func living(_ index: Int) -> ControlClient? {
        guard let client = connections.withLock({ $0[index].client }), !client.hasEnded else { return nil }
        return client
    }
}
