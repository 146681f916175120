package import SimulationSupport
import Supervision

/// Senders, the process between, and receivers, and all that is done to them while acknowledged messages are under way.
package struct AcknowledgementScenario: SeededScenario {
    /// An action on the world, after which it goes on for a while.
    package struct Step: NumberedStep {
        /// The step's number in the whole scenario, which it keeps when others are left out.
        package var number: Int
        /// The action.
        package var action: Action
    }

    /// An action on the world.
    package enum Action: Sendable, Hashable {
        /// A sender sends so many messages to a receiver.
        case send(sender: Int, receiver: Int, count: Int)
        /// A sender waits no more for its oldest open message.
        case giveUp(sender: Int)
        /// The link between a sender and the process between is lost; both live.
        case loseSender(Int)
        /// The link between a receiver and the process between is lost; both live.
        case loseReceiver(Int)
        /// The process of a receiver is killed, and its next life begins.
        case killReceiver(Int)
        /// A receiver's next life begins beside the present one, and takes its place a while later; the former one finishes what it has taken.
        case replace(receiver: Int)
        /// The link between such a former life and the process between is lost; both live.
        case loseFormer(receiver: Int)
        /// The process of such a former life is killed.
        case killFormer(receiver: Int)
        /// The process between is killed, and the next one adopts senders and receivers.
        case killRoot
        /// The world goes on.
        case goOn
    }

    static let senders = 2
    static let receivers = 2

    /// The seed of all random numbers.
    package var seed: UInt64
    /// The steps, in order.
    package var steps: [Step]
    /// The number of events after which the process between is killed once more; `nil`: only the steps say when.
    package var rootDeath: Int?

    /// Creates the scenario of a seed.
    package init(seed: UInt64) {
        var chance = SplitMix64(seed: seed)
        self.seed = seed
        steps = []
        for number in 0..<Int.random(in: 1...20, using: &chance) {
            let sender = Int.random(in: 0..<Self.senders, using: &chance)
            let receiver = Int.random(in: 0..<Self.receivers, using: &chance)
            let action: Action =
                switch Int.random(in: 0..<25, using: &chance) {
                case 0..<8: .send(sender: sender, receiver: receiver, count: Int.random(in: 1...4, using: &chance))
                case 8: .giveUp(sender: sender)
                case 9..<12: .loseSender(sender)
                case 12..<15: .loseReceiver(receiver)
                case 15..<17: .killReceiver(receiver)
                case 17: .killRoot
                case 18..<21: .replace(receiver: receiver)
                case 21: .loseFormer(receiver: receiver)
                case 22: .killFormer(receiver: receiver)
                default: .goOn
                }
            steps.append(Step(number: number, action: action))
        }
    }
}

/// An invariant of acknowledged messages.
package enum AcknowledgementInvariant: String, Sendable, Hashable, CaseIterable {
    /// A message is handled at most once, in whatever life.
    case once
    /// A message that was acknowledged has been handled.
    case acknowledged
    /// A message whose sender was told that it wasn't handled never is.
    case notHandled
    /// The messages of a sender to a life of a receiver are handled in their order.
    case order
    /// The sender of each message learns its end.
    case ends
    /// A receiver forgets the messages of which their senders have the ends.
    case forgotten
}

/// An invariant of acknowledged messages that was broken.
package typealias AcknowledgementViolation = BrokenInvariant<AcknowledgementInvariant>

extension AcknowledgementInvariant: WorldInvariant {
    /// The names of modules and types that descriptions are told without.
    package static let noise = ["AcknowledgementSimulation.", "Acknowledgement.", "Swift."]
}

/// A mistake that the delivery of acknowledged messages could make.
package enum AcknowledgementFault: String, Sendable, CaseIterable {
    /// A message that comes again is handled again.
    case handlesTwice
    /// The end of a message is forgotten before its sender has it.
    case forgetsEnds
    /// A message that comes again by another link doesn't say so.
    case hidesTransmissions
    /// A message is acknowledged when it has arrived.
    case acknowledgesEarly
    /// What a link gives back is sent after what came later.
    case sendsBackwards
    /// What a lost link had taken isn't sent again.
    case forgetsMessages
    /// A message that may have been handled is told to be untouched.
    case promisesTooMuch
    /// The numbers of messages that have ended stay open.
    case neverSettles
    /// A life that has begun beside its predecessor is taken for the one that has got the messages since its birth.
    case countsFromBirth
    /// The next process between doesn't know when a life that it adopts has taken its place.
    case forgetsPlaces
}

/// Runs worlds of acknowledged messages.
package typealias AcknowledgementSimulation = Simulation<AcknowledgementWorld>
