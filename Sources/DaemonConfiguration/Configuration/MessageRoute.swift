/// Messages that the daemon's root hands on to one of its children.
public struct MessageRoute: Codable, Hashable, Sendable {
    /// The beginning of the messages' names.
    public let prefix: String
    /// The child's key.
    public let child: String

    var description: String { "\(prefix) to \(child)" }
}

extension [ConfiguredChild] {
    /// The routes to children of the root: of those that match a message the first counts, which is the one with the longest beginning.
    ///
    /// The order doesn't depend on that of the children, which may change while the daemon runs.
    var routes: [MessageRoute] {
        flatMap { child in child.receives.map { MessageRoute(prefix: $0, child: child.key) } }
            .sorted { (-$0.prefix.utf8.count, $0.prefix) < (-$1.prefix.utf8.count, $1.prefix) }
    }
}
