import SimulationSupport
import Supervision
import WorkerLifecycle

/// Roots in one directory, one after the other, and all that is done to them and to their workers.
package struct AdoptionScenario: SeededScenario {
    /// An action on the world, after which the root goes on for a while.
    package struct Step: NumberedStep {
        /// The step's number in the whole scenario, which it keeps when others are left out.
        package var number: Int
        /// The action.
        package var action: Action
    }

    /// An action on the world.
    package enum Action: Sendable, Hashable {
        /// The root is killed, and the next one starts; what it's to start may have changed.
        case replaceRoot([Change])
        /// The process at a path dies.
        case kill([String])
        /// The worker at a path does nothing any more, and so doesn't dial the next root.
        case hang([String])
        /// The root goes on.
        case goOn
    }

    /// A change of what a root starts; `nil`: it starts nothing at the path any more.
    package struct Change: Sendable, Hashable {
        let path: [String]
        let place: AdoptionMachine.Place?
    }

    /// The paths that anything is started at.
    static let paths = [["a"], ["b"], ["c"], ["a", "x"], ["a", "y"]]

    /// The seed of all random numbers.
    package var seed: UInt64
    /// The steps, in order.
    package var steps: [Step]

    /// Creates the scenario of a seed.
    package init(seed: UInt64) {
        var chance = SplitMix64(seed: seed)
        self.seed = seed
        steps = []
        for number in 0..<Int.random(in: 1...16, using: &chance) {
            let path = chance.one(of: Self.paths)
            let action: Action =
                switch Int.random(in: 0..<10, using: &chance) {
                case 0..<5: .replaceRoot((0..<chance.one(of: [0, 0, 1, 2])).map { _ in Self.change(&chance) })
                case 5..<7: .kill(path)
                case 7: .hang(path)
                default: .goOn
                }
            steps.append(Step(number: number, action: action))
        }
    }

    private static func change(_ chance: inout SplitMix64) -> Change {
        Change(
            path: chance.one(of: paths),
            place: chance.one(of: [nil, .here, .program, .worker(fingerprint: "1"), .worker(fingerprint: "2"), .worker(fingerprint: nil)])
        )
    }
}

/// An invariant of the adoption of workers.
package enum AdoptionInvariant: String, Sendable, Hashable, CaseIterable {
    /// A path never lives twice, in whatever process.
    case oneLife
    /// A worker belongs to one start.
    case oneClaim
    /// A worker is adopted by a start that would have spawned the same.
    case fingerprint
    /// A worker that can be adopted is.
    case adopted
    /// The incarnations of a path never repeat.
    case incarnation
    /// When all is at rest, each worker that lives is of a child of the tree, and each child lives.
    case forgotten
}

/// An invariant of adoption that was broken.
package typealias AdoptionViolation = BrokenInvariant<AdoptionInvariant>

extension AdoptionInvariant: WorldInvariant {
    /// The names of modules and types that descriptions are told without.
    package static let noise = ["WorkerLifecycleSimulation.", "WorkerLifecycle.", "Swift.", "AdoptionMachine."]
}

/// A mistake that an adoption could make.
package enum AdoptionFault: String, Sendable, CaseIterable {
    /// A worker is adopted by a second start too.
    case adoptsTwice
    /// A worker is adopted by a start with another fingerprint.
    case adoptsAnother
    /// A worker is spawned beside one that still lives.
    case spawnsBeside
    /// A worker that no start has asked for is left.
    case forgetsAnUnclaimed
    /// A worker that doesn't answer is left.
    case forgetsASilent
    /// The numbering of a path begins anew.
    case forgetsIncarnations
    /// A worker is ended though a start asks for it.
    case adoptsNone
}

/// Runs worlds of roots and their workers.
package typealias AdoptionSimulation = Simulation<AdoptionWorld>
