public import Supervision
public import WireProtocol

/// The configuration of the daemon: the content of the file given with `coordinatord --config`.
///
/// The article <doc:Configuration> describes every key of the file.
public struct DaemonConfiguration: Codable, Hashable, Sendable {
    /// The root's children, in the order in which they are started.
    public var children: [ConfiguredChild]

    /// The supervision of the children by the root.
    public var supervision: SupervisionPolicy

    /// The paths and patterns of the files whose children are among ``children``.
    public var include: [String] = []

    /// What the file says once for all children; each of ``children`` has it already.
    public var defaults: JSONValue?

    /// The time for which the daemon's own workers live on when the daemon was killed, so that the next daemon adopts them; with zero they die
    /// with the daemon.
    ///
    /// The next daemon in the runtime directory ends everything else that the former one has left before it starts any child.
    public var orphanGrace: Duration

    /// The users who may operate the daemon.
    public var operators = OperatorConfiguration()

    /// What becomes of the children's output.
    public var logging = LoggingConfiguration()

    /// What is recorded of the tree, and where it's exported.
    public var observability = ObservabilityConfiguration()

    /// The daemon as a node of a cluster; nil: it isn't one.
    public var cluster: ClusterConfiguration?

    /// The messages that the root hands on to its children, as the children's ``ConfiguredChild/receives`` had them when the configuration
    /// was created: a root goes on with them when its children change.
    public internal(set) var receives: [MessageRoute]

    /// Creates a configuration with the defaults of the file.
    public init(
        children: [ConfiguredChild],
        supervision: SupervisionPolicy = SupervisionPolicy(),
        orphanGrace: Duration = .seconds(10)
    ) {
        self.children = children
        self.supervision = supervision
        self.orphanGrace = orphanGrace
        receives = children.routes
    }

    /// The children with `placement` in a file without `cluster`: a daemon starts with them only if its option --cluster names one.
    package var placedWithoutCluster: [ConfiguredChild] { cluster == nil ? children.filter { $0.placement != nil } : [] }

    /// What one who checks the file has to know, since the file alone doesn't tell whether the daemon starts with it; nil: nothing.
    package var clusterRemark: String? {
        placedWithoutCluster.first.map {
            "the child \($0.key) has `placement`, and the file no `cluster`: a daemon starts with it only if its option --cluster names one"
        }
    }
}
