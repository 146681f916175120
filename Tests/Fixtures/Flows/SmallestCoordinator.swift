public import Coordinators

/// All that a coordinator needs.
public actor SmallestCoordinator: Coordinator {
    public let context: Context
    public init(_ context: Context) { self.context = context }
}
