/// The limits of a child together with all that descends from it, which the kernel holds by a control group; see cgroups(7).
public struct GroupLimits: Sendable, Hashable, Codable {
    /// The bytes of memory, beyond which the kernel kills a process of the group; nil: any number.
    public var memory: Int?
    /// The number of processors whose time the group may take, such as 0.5; nil: any number.
    public var cpus: Double?
    /// The number of processes and threads; nil: any number.
    public var pids: Int?

    /// Creates limits.
    public init(memory: Int? = nil, cpus: Double? = nil, pids: Int? = nil) {
        (self.memory, self.cpus, self.pids) = (memory, cpus, pids)
    }
}
