public import Coordinators

/// The coordinators of the tests of flows, delegates, dependencies and pages, for the program that the tests' workers run.
public enum PatternFlows {
    public static let coordinators: [any Coordinator.Type] = [
        FlowRoot.self, StepCoordinator.self, AuditCoordinator.self, ShelfCoordinator.self, PaymentFlow.self, LoginFlow.self,
        ClerkCoordinator.self, HoardingClerk.self, StackCoordinator.self, ResourceCoordinator.self, TabsCoordinator.self,
        ReaderCoordinator.self, EventListener.self, SmallestCoordinator.self, SlowCoordinator.self, SenderCoordinator.self,
        WaitingBox.self, FailingBox.self, OldestDroppingBox.self, NewestDroppingBox.self, SerialCoordinator.self, SerialHelper.self,
        QuoteCoordinator.self, QuoteReader.self, SwitchboardCoordinator.self, DeskCoordinator.self, CallerCoordinator.self,
        FormCoordinator.self, TickerCoordinator.self, RestingCoordinator.self, WakingCoordinator.self,
        PressCoordinator.self, PressHall.self,
    ]
}
