/// A list of paths in the tree.
public struct PathList: Codable, Hashable, Sendable {
    /// The paths, in the order in which they are meant.
    public var paths: [String]

    /// Creates a list.
    public init(paths: [String]) {
        self.paths = paths
    }
}
