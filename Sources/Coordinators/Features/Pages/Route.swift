public import WireProtocol

/// A deep link: sections of the tree by key, each with the page to show there.
///
///     Route("shop").then("catalog", CatalogPage.product(7))
public struct Route: Sendable, Hashable, Codable {
    /// One section, and the page to show in it.
    public struct Step: Sendable, Hashable, Codable {
        /// The child's key.
        public var section: String
        /// The page, encoded as the section's type of pages; `nil`: the page that the section shows by itself.
        public var page: JSONValue?

        /// Creates a step.
        public init(section: String, page: JSONValue? = nil) {
            self.section = section
            self.page = page
        }
    }

    /// The sections, from the top down.
    public var steps: [Step]

    /// Creates a route from its steps, as they come from a link.
    public init(steps: [Step]) { self.steps = steps }

    /// Creates a route that begins with a section.
    public init(_ section: some CoordinatorKey) { steps = [Step(section: section.description)] }

    /// Creates a route that begins with a section and a page in it.
    public init(_ section: some CoordinatorKey, _ page: some Codable & Sendable) {
        steps = [Step(section: section.description, page: Self.json(page))]
    }

    /// Returns the route with another section below.
    public func then(_ section: some CoordinatorKey) -> Route {
        Route(steps: steps + [Step(section: section.description)])
    }

    /// Returns the route with another section below, and a page in it.
    public func then(_ section: some CoordinatorKey, _ page: some Codable & Sendable) -> Route {
        Route(steps: steps + [Step(section: section.description, page: Self.json(page))])
    }

    /// Encodes a page; one that can't be encoded is refused where the route is opened, like any other that the section doesn't have.
    private static func json(_ page: some Codable & Sendable) -> JSONValue {
        (try? page.encodedAsJSON()) ?? .null
    }
}
