public import Coordinators

extension Life {
    /// Makes a child do something from where it is.
    public struct Do: ResponderMessage {
        public typealias Reply = String
        public var action: Action
        public init(_ action: Action) { self.action = action }
    }

    public enum Action: Codable, Sendable {
        /// The greeting that its start hook has seen.
        case greeting
        /// The number of times that this incarnation was asked to count.
        case count
        /// Has the root repeat a text.
        case echo(String)
        /// Writes into the journal.
        case note(String)
        /// Takes a time.
        case work(milliseconds: Int)
        /// Writes that it waits, and waits for a line of the journal.
        case wait(line: String)
        /// Waits at the root's gate, and writes down how that ended.
        case passGate
        case passGateAndFail
        case startChild(String, inWorker: Bool)
        case startSparedChild(String, spares: Int)
        /// Starts a child whose lives overlap when it's replaced.
        case startOverlappingChild(String)
        case startChildren(Int)
        case stopChild(String)
        /// Its children's keys, in start order.
        case children
        /// The number of actors with that greeting in its process.
        case instances(String)
        case finish(String)
        case finishTwice(String, String)
        case fail
        case hang
        /// Leaves a task behind that goes on asking, and writes down how that ends.
        case outlive
        /// Takes memory, and keeps it.
        case grow(megabytes: Int)
        case show(Int)
        case pages
    }

    /// The behaviour of a child when it's started.
    public enum Opening: String, Codable, Sendable {
        /// The start is refused as long as there is a file with `.refuses` behind the journal's name.
        case refusesWhenTold
        /// The start hangs as long as there is a file with `.hangs` behind the journal's name.
        case hangsWhenTold
        case plain, refuses, refusesOpaquely, hangs, passesGate, asksWhetherItIsKnown, finishes
    }
}
