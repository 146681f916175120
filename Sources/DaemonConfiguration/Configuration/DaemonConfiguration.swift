public import Supervision

/// The configuration of the daemon: the content of the file given with `coordinatord --config`.
///
/// The file is YAML 1.2, so JSON is accepted too:
///
/// ```yaml
/// children:
///   - key: shop
///     worker: { executable: .build/release/Shop, coordinator: ShopCoordinator, configuration: { currency: EUR } }
///     restart: permanent          # permanent (default) | transient | temporary
///     shutdown: 5s                # a duration | brutalKill | infinity
///     restart_limits:             # an omitted key is as under `supervision`
///       intensity: unlimited      # a number of restarts in the period, or unlimited
///       period: 60s
///       backoff: { minimum: 1s, maximum: 5m, resetAfter: 1m }
///   - key: mailer
///     program: { command: [python3, mailer.py], environment: { A: b }, directory: /srv }
/// supervision:
///   strategy: oneForOne           # oneForOne (default) | oneForAll | restForOne
///   intensity: 5                  # restarts of each child in the period
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

    /// The supervision of the children by the root.
    public var supervision: SupervisionPolicy

    /// The time in which workers end in order after the daemon has died; with zero, the default, they die with the daemon.
    ///
    /// A daemon ends the processes that a former daemon left in its runtime directory before it starts any child, so the time ends early when
    /// the next daemon starts.
    public var orphanGrace: Duration

    /// Creates a configuration with the defaults of the file.
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
