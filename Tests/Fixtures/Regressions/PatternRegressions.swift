public import Coordinators

/// The coordinators of the regressions, and of spares, recycling and watching, for the program that the tests' workers run.
public enum PatternRegressions {
    public static let coordinators: [any Coordinator.Type] = [
        CrowdCoordinator.self, CrowdMember.self, TraceSource.self, TraceReader.self, DepotCoordinator.self, CourierCoordinator.self,
        RefusingResource.self, StubbornPauser.self, OrderKeeper.self, OrderSender.self, WatcherCoordinator.self, EndingCoordinator.self,
        AutoShutdownCoordinator.self, LastWordsCoordinator.self,
    ]
}
