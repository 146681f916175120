public import WireProtocol

/// One page on a stack.
public struct NavigationEntry: Sendable, Hashable, Codable {
    /// The coordinator that shows it.
    public var path: CoordinatorPath
    /// The page, encoded as its coordinator's type of pages.
    public var page: JSONValue
    /// Whether it was presented on top of a flow, rather than shown as its next step.
    public var isModal: Bool
}
