import Control
import Processes
public import ServiceLifecycle

/// The web page, the JSON API and the metrics of a running daemon, as a service.
///
/// A console is a process of its own and a client of the daemon's control socket: what goes wrong in it can't harm the tree.
public struct Console: Service {
    private let configuration: ConsoleConfiguration
    private let onReady: @Sendable (ListenAddress) async -> Void

    /// Creates a console.
    ///
    /// - Parameters:
    ///   - configuration: the settings.
    ///   - onReady: a function that is called with the address once the console listens.
    public init(
        _ configuration: ConsoleConfiguration,
        onReady: @escaping @Sendable (ListenAddress) async -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.onReady = onReady
    }

    /// Serves until the service is asked to stop.
    ///
    /// - Throws: the error for which the address can't be listened at.
    public func run() async throws {
        let daemon = DaemonConnection(configuration.runtimeDirectory)
        let feed = Feed(daemon, maximumViewers: configuration.maximumStreams)
        let responder = ConsoleResponder(configuration, daemon: daemon, feed: feed)
        let socket = ListeningSocket.at(configuration.address.place)
        let server = try HTTPServer(
            socket,
            .init(connections: configuration.maximumConnections, idleTime: configuration.idleTimeout, memory: 32 << 10)
        )
        await onReady(configuration.address.bound(to: try socket.listen().address))
        try await withThrowingTaskGroup { group in
            group.addTask { try await feed.run() }
            group.addTask { try await server.run(responder.respond) }
            try await group.waitForAll()
        }
        socket.close(within: .seconds(5))
    }
}

extension ListenAddress {
    fileprivate var place: SocketSpecification.Address {
        switch self {
        case .loopback(let host, let port): .tcp(host: host == "localhost" ? "127.0.0.1" : host, port: UInt16(port))
        case .unix(let path): .path(path, mode: 0o600)
        }
    }

    /// Returns the address with the port that the kernel has chosen.
    fileprivate func bound(to place: SocketSpecification.Address) -> ListenAddress {
        if case (.loopback(let host, _), .tcp(_, let port)) = (self, place) { .loopback(host: host, port: Int(port)) } else { self }
    }
}
