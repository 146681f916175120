/// The number of a child's instances after a change, and what became of those that were added or removed.
public struct ScaleResult: Codable, Hashable, Sendable {
    /// The path of the child without a number, as it was named in the request.
    public var path: String
    /// The number of instances in the running configuration.
    public var instances: Int
    /// The number before the request.
    public var formerInstances: Int
    /// The differences, an added or removed instance each, and what follows from them.
    public var changes: [ConfigurationChanges.Change]

    /// Creates a result.
    public init(path: String, instances: Int, formerInstances: Int, changes: [ConfigurationChanges.Change]) {
        self.path = path
        self.instances = instances
        self.formerInstances = formerInstances
        self.changes = changes
    }

    private enum CodingKeys: String, CodingKey {
        case path, instances, changes
        case formerInstances = "former_instances"
    }
}
