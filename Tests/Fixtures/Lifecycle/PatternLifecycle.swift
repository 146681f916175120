public import Coordinators

/// The coordinators of the tests of lifecycle, tree and chain that a worker may host.
public enum PatternLifecycle {
    public static let coordinators: [any Coordinator.Type] = [
        LifeChild.self, LifeBare.self, LifeKeyed.self, LifeChooser.self, LifeLab.self, ClimbMiddle.self, ClimbLeaf.self,
    ]
}
