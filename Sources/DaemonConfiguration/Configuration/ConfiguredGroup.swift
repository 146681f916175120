public import Supervision

/// Children with a supervisor of their own, which is a coordinator in the daemon's process.
///
/// By OTP's rules, a child of the group that fails more often than the group's limits allow ends the group with all its children, and the
/// group is then restarted as its own restart type and limits say. (The root has no parent, and gives up such a child alone.)
public struct ConfiguredGroup: Codable, Hashable, Sendable {
    /// The children, in the order in which they are started.
    public var children: [ConfiguredChild]

    /// The supervision of the children by the group.
    public var supervision: SupervisionPolicy

    /// Creates a group.
    public init(children: [ConfiguredChild], supervision: SupervisionPolicy = SupervisionPolicy()) {
        self.children = children
        self.supervision = supervision
    }
}
