public import WireProtocol

/// One page on a stack.
public struct NavigationEntry: Sendable, Hashable, Codable {
    /// The coordinator that shows it.
    public let path: CoordinatorPath
    /// The page, encoded as its coordinator's type of pages.
    public let page: JSONValue
    /// Whether it was presented on top of a flow, rather than shown as its next step.
    public let isModal: Bool
    /// Which life of the coordinator shows it.
    var incarnation: UInt32 = 0

    /// The page as one of its coordinator's type.
    ///
    /// - Throws: `coding` when it's another one.
    public func decoded<Page: Codable>(as type: Page.Type = Page.self) throws -> Page { try Page(decoding: page) }
}
