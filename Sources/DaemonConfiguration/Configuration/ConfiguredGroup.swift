public import Supervision
public import WireProtocol

/// Children with a supervisor of their own, which is a coordinator in the daemon's process.
///
/// A child of the group that fails more often than its limits allow is given up alone, as one of the root is. By a strategy that couples the
/// children, OTP's rules hold instead: such a child ends the group with all its children, and the group is then restarted as its own restart
/// type and limits say.
public struct ConfiguredGroup: Codable, Hashable, Sendable {
    /// The children, in the order in which they are started.
    public var children: [ConfiguredChild]

    /// The supervision of the children by the group.
    public var supervision: SupervisionPolicy

    /// Whether a child that is given up leaves its siblings alone.
    public var isolatesFailures: Bool { supervision.strategy == .oneForOne }

    /// What the file says once for all children of the group; each of ``children`` has it already.
    public var defaults: JSONValue?

    /// Creates a group.
    public init(children: [ConfiguredChild], supervision: SupervisionPolicy = SupervisionPolicy()) {
        self.children = children
        self.supervision = supervision
    }
}
