public import Supervision

/// What the daemon is told to keep alive: the content of the file given with `coordinatord --config`.
///
/// The file is YAML 1.2, so JSON is accepted too:
///
/// ```yaml
/// children:
///   - key: shop
///     worker: { executable: .build/release/Shop, coordinator: ShopCoordinator, configuration: { currency: EUR } }
///     restart: permanent          # permanent (default) | transient | temporary
///     shutdown: 5s                # a duration | brutalKill | infinity
///     restart_limits:             # what is left out is as under `supervision`
///       intensity: unlimited      # so many restarts in the period, or never give up
///       period: 60s
///       backoff: { minimum: 1s, maximum: 5m, resetAfter: 1m }
///   - key: mailer
///     program: { command: [python3, mailer.py], environment: { A: b }, directory: /srv }
/// supervision:
///   strategy: oneForOne           # oneForOne (default) | oneForAll | restForOne
///   intensity: 5                  # of each child: one that flaps takes no restart from another
///   period: 60s
///   backoff: { minimum: 100ms, maximum: 30s, resetAfter: 30s }
/// orphan_grace: 0s
/// ```
///
/// Durations are a whole number and a unit: `250ms`, `5s`, `2m`, `1h`.
///
/// Relative paths are not changed here. An `executable` with a slash, and every `directory`, are relative to the *daemon's
/// working directory*, not to the folder of the file, so `.build/release/Shop` means the same as when it is typed in the
/// shell that starts the daemon. A program's `command` without a slash is looked up in `PATH`.
public struct DaemonConfiguration: Codable, Hashable, Sendable {
    /// The root's children, in the order in which they are started.
    public var children: [ConfiguredChild]

    /// How the root supervises them.
    public var supervision: SupervisionPolicy

    /// How long a worker outlives a daemon that died, to end in order; zero, the default: it dies with the daemon.
    ///
    /// A daemon ends what a former one has left in its runtime directory before it starts anything, so a grace lasts until the next daemon
    /// starts at most.
    public var orphanGrace: Duration

    /// Creates a configuration in code; every default is the file's default.
    public init(
        children: [ConfiguredChild],
        supervision: SupervisionPolicy = SupervisionPolicy(),
        orphanGrace: Duration = .zero
    ) {
        self.children = children
        self.supervision = supervision
        self.orphanGrace = orphanGrace
    }
}
