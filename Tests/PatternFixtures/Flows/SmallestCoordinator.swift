public import Coordinators

/// All that a coordinator needs.
public actor SmallestCoordinator: Coordinator {
    public let context: Context<SmallestCoordinator>
    public init(_ context: Context<SmallestCoordinator>, _ configuration: NoConfiguration) { self.context = context }
}
