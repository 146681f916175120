import Control
import Hummingbird
import HummingbirdCore
public import Logging
import NIOCore
public import ServiceLifecycle

/// The web page, the JSON API and the metrics of a running daemon, as a service.
///
/// A console is a process of its own and a client of the daemon's control socket: what goes wrong in it can't harm the tree.
public struct Console: Service {
    private let configuration: ConsoleConfiguration
    private let logger: Logger
    private let onReady: @Sendable (ListenAddress) async -> Void

    /// Creates a console.
    ///
    /// - Parameters:
    ///   - configuration: the settings.
    ///   - logger: the log of the console.
    ///   - onReady: a function that is called with the address once the console listens.
    public init(
        _ configuration: ConsoleConfiguration,
        logger: Logger,
        onReady: @escaping @Sendable (ListenAddress) async -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.logger = logger
        self.onReady = onReady
    }

    /// Serves until the service is asked to stop.
    ///
    /// - Throws: the error for which the address can't be listened at.
    public func run() async throws {
        let daemon = DaemonConnection(configuration.runtimeDirectory)
        let feed = Feed(daemon, maximumViewers: configuration.maximumStreams)
        let responder = ConsoleResponder(configuration, daemon: daemon, feed: feed)
        var quiet = logger
        quiet.logLevel = max(logger.logLevel, .warning)
        let application = Application(
            responder: responder,
            server: .http1(
                configuration: .init(
                    idleTimeout: .nanoseconds(configuration.idleTimeout.nanoseconds),
                    httpDecoderConfiguration: .init(maxHeaderFieldSize: 8 << 10, maxHeaderListSize: 16 << 10, maxHeaderFieldCount: 64)
                )
            ),
            configuration: .init(
                address: configuration.address.bindAddress,
                backlog: 256,
                availableConnectionsDelegate: MaximumAvailableConnections(configuration.maximumConnections, logger: quiet)
            ),
            services: [feed],
            onServerRunning: { channel in await onReady(configuration.address.bound(to: channel.localAddress?.port)) },
            logger: quiet
        )
        try await application.run()
    }
}

extension ListenAddress {
    fileprivate var bindAddress: BindAddress {
        switch self {
        case .loopback(let host, let port): .hostname(host, port: port)
        case .unix(let path): .unixDomainSocket(path: path)
        }
    }

    /// Returns the address with the port that the kernel has chosen.
    fileprivate func bound(to chosen: Int?) -> ListenAddress {
        if case .loopback(let host, _) = self, let chosen { .loopback(host: host, port: chosen) } else { self }
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
