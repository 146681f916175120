package import SimulationSupport
import Supervision

/// Durable flows that send one another messages, and all that is done to them.
package struct FlowScenario: SeededScenario {
    /// An action on the world, after which it goes on for a while.
    package struct Step: NumberedStep {
        /// The step's number in the whole scenario, which it keeps when others are left out.
        package var number: Int
        /// The action.
        package var action: Action
    }

    /// What the row of a message does to its flow.
    package enum Request: Sendable, Hashable, CaseIterable {
        case show, pop, unwind, finish, send, sendLater, cancelSent, nothing
    }

    /// An action on the world.
    package enum Action: Sendable, Hashable {
        /// Someone outside sends a flow a message, again and again until it's answered.
        case ask(flow: Int, Request)
        /// The process of a flow is killed, and its next life begins.
        case kill(flow: Int)
        /// Another owner opens the store of a flow, while the former one goes on.
        case steal(flow: Int)
        /// The wall clock is set by so many seconds.
        case setClock(by: Int)
        /// An operator has a flow's work tried again, skipped, or cancels the flow.
        case retry(flow: Int), skip(flow: Int), cancel(flow: Int)
        /// The world goes on.
        case goOn
    }

    static let flows = 2

    /// The seed of all random numbers.
    package var seed: UInt64
    /// The steps, in order.
    package var steps: [Step]
    /// The commit at which the process that makes it dies; `nil`: only the steps say when.
    package var death: Death?

    /// A death of the process at a commit.
    package struct Death: Sendable, Hashable {
        package var commit: Int
        /// Whether the commit is on disk.
        package var isAfter: Bool

        package init(commit: Int, isAfter: Bool) { (self.commit, self.isAfter) = (commit, isAfter) }
    }

    /// Creates the scenario of a seed.
    package init(seed: UInt64) {
        var chance = SplitMix64(seed: seed)
        self.seed = seed
        steps = []
        for number in 0..<Int.random(in: 1...20, using: &chance) {
            let flow = Int.random(in: 0..<Self.flows, using: &chance)
            let action: Action =
                switch Int.random(in: 0..<24, using: &chance) {
                case 0..<10: .ask(flow: flow, chance.one(of: Request.allCases))
                case 10..<14: .kill(flow: flow)
                case 14..<17: .steal(flow: flow)
                case 17: .setClock(by: Int.random(in: -60...60, using: &chance))
                case 18: .retry(flow: flow)
                case 19: .skip(flow: flow)
                case 20: .cancel(flow: flow)
                default: .goOn
                }
            steps.append(Step(number: number, action: action))
        }
        if chance.oneIn(2) { death = Death(commit: Int.random(in: 1...40, using: &chance), isAfter: chance.oneIn(2)) }
    }
}

/// An invariant of durable flows.
package enum FlowInvariant: String, Sendable, Hashable, CaseIterable {
    /// What is undone is known to have been done.
    case known
    /// Popped pages are undone from the top down, and no page begins before that, nor before the one below it is done.
    case order
    /// What the pages of a flow have done is done once, by the key of each showing, and undone if the page is; all is undone of a flow that was.
    case effects
    /// A message is handled at most once, whatever is sent again.
    case once
    /// A message that a flow has sent is handled, unless the flow has cancelled it before; one that was answered has been.
    case handled
    /// No message leaves before its time.
    case early
    /// A process that isn't the owner any more changes nothing.
    case owner
    /// Some time after all faults have ended, and with an operator's help for what is parked or waits, each flow is over.
    case ends
    /// What a receiver remembers is forgotten when its sender has the ends.
    case forgotten
}

/// An invariant of durable flows that was broken.
package typealias FlowViolation = BrokenInvariant<FlowInvariant>

extension FlowInvariant: WorldInvariant {
    /// The names of modules and types that descriptions are told without.
    package static let noise = ["FlowSimulation.", "FlowScenario.", "FlowRecord.", "Flows.", "WireProtocol.", "JSONValue.", "Swift."]
}

/// A mistake that the machine, its shell or its store could make.
package enum FlowFault: String, Sendable, CaseIterable {
    /// A page whose outcome isn't known is undone without being performed to its end.
    case undoesTheUnknown
    /// A page whose outcome isn't known is dropped.
    case dropsTheUnknown
    /// Pages are undone from the bottom up.
    case undoesUpwards
    /// Each attempt has a key of its own.
    case newKeys
    /// A page that was popped while it was performed shows the next one.
    case showsWhatWasLeft
    /// The flow is finished though a page is being performed.
    case finishesEarly
    /// A message that was taken isn't noted.
    case forgetsTaken
    /// What is taken is noted by a commit of its own, after that of the change.
    case takesLate
    /// A message is dropped when it leaves.
    case dropsOutgoing
    /// The time of a message counts from the life's begin, by the monotonic clock.
    case countsByUptime
    /// A message is never forgotten by its receiver.
    case remembersAll
    /// The store takes commits from whoever has read the record.
    case trustsAnyOwner
    /// A change is answered before it's on disk.
    case answersEarly
    /// A failure of what was skipped meanwhile counts for what is worked on by then.
    case failsWhatWasSkipped
    /// The work of a flow begins before the commit that says so.
    case beginsEarly
}

/// Runs worlds of durable flows.
package typealias FlowSimulation = Simulation<FlowWorld>
