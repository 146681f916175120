import SimulationSupport
import Supervision

/// Nodes of a cluster and a store with leases, and all that is done to them.
package struct OwnershipScenario: SeededScenario {
    /// An action on the world, after which it goes on for a while.
    package struct Step: NumberedStep {
        /// The step's number in the whole scenario, which it keeps when others are left out.
        package var number: Int
        /// The action.
        package var action: Action
        /// The milliseconds until the next step.
        package var pause: Int
    }

    /// A direction in which a network can be cut.
    package enum Direction: Sendable, Hashable, CaseIterable {
        case toStore, fromStore, both
    }

    /// An action on the world.
    ///
    /// Times are in milliseconds.
    package enum Action: Sendable, Hashable {
        /// Nothing passes between a node and the store any more.
        case cut(node: Int, Direction)
        /// Everything passes again.
        case heal(node: Int)
        /// A node's machine is stopped, and goes on later.
        case stop(node: Int, time: Int)
        /// A node's machine is killed, and starts again later.
        case kill(node: Int, time: Int)
        /// The store has no leader for a while; then it prolongs all leases.
        case loseLeader(time: Int)
        /// An operator deletes the key of a path's owner.
        case deleteKey(path: Int)
        /// An operator overwrites the key of a path's owner, which then hangs on no lease, and deletes it later.
        case overwriteKey(path: Int, time: Int)
        /// An operator deletes the key of a path's owner and writes a competing one, and deletes it later.
        case compete(path: Int, time: Int)
        /// An operator revokes the leases of a node.
        case revoke(node: Int)
        /// A node gives everything over and leaves; it starts again later.
        case drain(node: Int, time: Int)
        /// A path is assigned to another node.
        case move(path: Int, node: Int)
        /// An operator stops a path on all nodes.
        case stopEverywhere(path: Int)
        /// An operator starts a path again that was stopped on all nodes.
        case startEverywhere(path: Int)
        /// A subtree fails beyond its limit of restarts.
        case fail(path: Int)
        /// The world goes on.
        case goOn
    }

    /// The seed of all random numbers.
    package var seed: UInt64
    /// The number of nodes.
    package let nodes: Int
    /// The number of paths.
    package let paths: Int
    /// The time to live of leases, in milliseconds.
    package let timeToLive: Int
    /// Whether nodes freeze when they lose the store.
    package let freezes: Bool
    /// How many messages of a thousand are lost.
    package let loss: Int
    /// The steps, in order.
    package var steps: [Step]

    /// Creates the scenario of a seed.
    package init(seed: UInt64) {
        var chance = SplitMix64(seed: seed)
        self.seed = seed
        nodes = Int.random(in: 2...4, using: &chance)
        paths = Int.random(in: 1...3, using: &chance)
        timeToLive = chance.one(of: [2_000, 3_000, 5_000])
        freezes = chance.oneIn(5)
        loss = chance.one(of: [0, 0, 10, 50])
        steps = []
        for number in 0..<Int.random(in: 1...12, using: &chance) {
            let node = Int.random(in: 0..<nodes, using: &chance)
            let path = Int.random(in: 0..<paths, using: &chance)
            let time = chance.one(of: [200, 1_000, 2_500, 4_000, 8_000])
            let action: Action =
                switch Int.random(in: 0..<27, using: &chance) {
                case 0..<5: .cut(node: node, chance.one(of: Direction.allCases))
                case 5..<8: .heal(node: node)
                case 8..<11: .stop(node: node, time: time)
                case 11..<13: .kill(node: node, time: time)
                case 13..<15: .loseLeader(time: time)
                case 15: .deleteKey(path: path)
                case 16: chance.oneIn(2) ? .overwriteKey(path: path, time: time) : .compete(path: path, time: time)
                case 17: .revoke(node: node)
                case 18..<20: .drain(node: node, time: time)
                case 20..<22: .move(path: path, node: node)
                case 22: .fail(path: path)
                case 23..<25: .stopEverywhere(path: path)
                case 25: .startEverywhere(path: path)
                default: .goOn
                }
            steps.append(Step(number: number, action: action, pause: chance.one(of: [20, 200, 1_000, 1_000, 3_000])))
        }
    }
}
