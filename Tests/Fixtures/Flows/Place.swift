public import Coordinators
import Glibc

/// The path, the process and the incarnation of a coordinator that was asked.
public struct Place: Codable, Sendable, Hashable {
    public var path: String
    public var processID: Int32
    public var incarnation: UInt32

    static func here(_ context: CoordinatorContext<some Coordinator>) -> Place {
        Place(path: context.path.description, processID: getpid(), incarnation: context.incarnation)
    }
}

/// Asks a coordinator for its place.
public struct WhereAmI: ResponderMessage {
    public typealias Reply = Place
    public init() {}
}
