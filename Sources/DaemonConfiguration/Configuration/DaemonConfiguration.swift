public import Supervision

/// The configuration of the daemon: the content of the file given with `coordinatord --config`.
///
/// The article <doc:Configuration> describes every key of the file.
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
