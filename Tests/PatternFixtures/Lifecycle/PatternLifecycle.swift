public import Coordinators

/// The coordinators of rows 1 to 30 of the pattern that a worker may host.
public enum PatternLifecycle {
    public static let coordinators: [any Coordinator.Type] = [
        LifeChild.self, LifeBare.self, LifeKeyed.self, LifeChooser.self, LifeLab.self, ClimbMiddle.self, ClimbLeaf.self,
    ]
}
