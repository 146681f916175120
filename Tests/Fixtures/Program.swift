public import Coordinators

extension Fixture {
    /// The coordinators that a worker of the program may host.
    public static let coordinators: [any Coordinator.Type] = tree + lifecycle + flows + regressions + observation + OTP.coordinators

    private static let tree: [any Coordinator.Type] =
        [
            MiddleCoordinator.self, LedgerCoordinator.self, BesideCoordinator.self, BrokenCoordinator.self, HidingCoordinator.self,
            SmallestCoordinator.self, SuccessionReceiver.self, SuccessionSender.self,
        ] + privateWorkers

    private static let lifecycle: [any Coordinator.Type] = [
        LifeChild.self, LifeKeyed.self, LifeChooser.self, LifeLab.self, ClimbMiddle.self, ClimbLeaf.self,
    ]

    private static let flows: [any Coordinator.Type] = [
        FlowRoot.self, StepCoordinator.self, AuditCoordinator.self, ShelfCoordinator.self, PaymentFlow.self, LoginFlow.self,
        ClerkCoordinator.self, HoardingClerk.self, StackCoordinator.self, ResourceCoordinator.self, TabsCoordinator.self,
        ReaderCoordinator.self, EventListener.self, SlowCoordinator.self, SenderCoordinator.self,
        WaitingBox.self, FailingBox.self, OldestDroppingBox.self, NewestDroppingBox.self, SerialCoordinator.self, SerialHelper.self,
        QuoteCoordinator.self, QuoteReader.self, SwitchboardCoordinator.self, DeskCoordinator.self, CallerCoordinator.self,
        FormCoordinator.self, TickerCoordinator.self, RestingCoordinator.self, WakingCoordinator.self,
        PressCoordinator.self, PressHall.self, CrashCoordinator.self, DeedCoordinator.self, DeedAsker.self,
        StubbornCoordinator.self, JobCoordinator.self, NewsCoordinator.self, NewsHall.self,
        SerialX.self, SerialY.self, DoubleY.self, FreeY.self, SerialZ.self, SerialP.self, TangleRoom.self,
    ]

    private static let regressions: [any Coordinator.Type] = [
        TraceReader.self, OrderKeeper.self, OrderSender.self, WatcherCoordinator.self, EndingCoordinator.self,
        AutoShutdownCoordinator.self, LastWordsCoordinator.self,
    ]

    private static let observation: [any Coordinator.Type] = [ObservedCoordinator.self, ObservedSerially.self, RelayCoordinator.self]
}
