public import Coordinators
import Glibc

extension Fixture {
    /// Makes a coordinator do something from where it is.
    public struct Do: ResponderMessage {
        public typealias Reply = String
        public var action: Action
        public init(_ action: Action) { self.action = action }
    }

    public enum Action: Codable, Sendable {
        case echo(String)
        case unhandled
        case sendUnhandled
        /// Waits for a file, asks a hundred times what nobody answers, and writes another file with `.done` behind its name.
        case unhandledAfter(String)
        case waitAbove(milliseconds: Int)
        /// Writes a file with `.begun` behind its name, and waits for the file itself.
        case waitFor(String)
        /// Does the same, and then has a child ask the root for an echo.
        case waitForThenAskBelow(String, String)
        /// Asks the root, within six hundred seconds, how many seconds the root has to answer; in a task of its own, or not.
        case remaining
        case remainingOfTask
        case sendNotes(Int)
        /// Reads a stream of as many numbers; the answer is all of them.
        case count(Int)
        case askNotes(Int)
        /// Asks the root to note one number after the other for as long as the process lives, in a task that belongs to no handler.
        case noteForEver
        /// Subscribes to the events of the coordinator at a path, and ends the subscription, again and again in as many such tasks.
        case subscribeForEver(String, tasks: Int)
        /// The number of those subscriptions, and the errors of those that have failed.
        case subscriptions
        /// Has such a task ask the root for one echo after the other, until one takes as long as one that was held; the answer is the last.
        case echoUntilHeld
        case refuse(asCodable: Bool)
        case add(Int)
        case configuration
        case startGrandchild(String, inWorker: Bool)
        case stopGrandchild(String)
        /// Ends by SIGTERM when the program likes.
        case startProgram(String, [String])
        case finish(String)
        case fail
        case exit(Int32)
        case hang
        case ignoreCancellation
        case workHard(milliseconds: Int)
        /// Occupies every thread of the executor without yielding, computing or blocked, and answers at once.
        case occupyExecutor(milliseconds: Int, blocks: Bool)
        /// Blocks the coordinator's thread, so that no other message is handled.
        case block(milliseconds: Int)
    }

    public struct StartChild: ResponderMessage {
        public typealias Reply = String
        public var key: String
        public var inWorker: Bool
        public var greeting: String
        public var restart: RestartType
        public var drainSeconds: Int?
        public var hang: HangResponse
        public init(
            _ key: String,
            inWorker: Bool,
            greeting: String = "hello",
            restart: RestartType = .permanent,
            drainSeconds: Int? = nil,
            hang: HangResponse = .report
        ) {
            self.drainSeconds = drainSeconds
            self.hang = hang
            self.key = key
            self.inWorker = inWorker
            self.greeting = greeting
            self.restart = restart
        }
    }

    public struct StartProgram: ResponderMessage {
        public var key: String
        public var command: [String]
        public init(_ key: String, _ command: [String]) { (self.key, self.command) = (key, command) }
    }

    public struct StopChild: ResponderMessage {
        public var key: String
        public init(_ key: String) { self.key = key }
    }

    public struct RunChild: ResponderMessage {
        public typealias Reply = String
        public var key: String
        public var inWorker: Bool
        public var greeting: String
        public var finishesAtOnce: Bool
        public init(_ key: String, inWorker: Bool, greeting: String, finishesAtOnce: Bool) {
            self.key = key
            self.inWorker = inWorker
            self.greeting = greeting
            self.finishesAtOnce = finishesAtOnce
        }
    }

    public struct StartBroken: ResponderMessage {
        public var key: String
        public var inWorker: Bool
        public var how: String
        public init(_ key: String, inWorker: Bool, how: String) { (self.key, self.inWorker, self.how) = (key, inWorker, how) }
    }

    /// Asks for the changes that the root's lifecycle rows have got.
    public struct Lifecycle: ResponderMessage {
        public typealias Reply = [String]
        public init() {}
    }

    /// Asks for the messages that the root's `unhandled` hook has got.
    public struct Unhandled: ResponderMessage {
        public typealias Reply = [String]
        public init() {}
    }

    /// Occupies every thread of the executor without yielding, computing or blocked.
    static func occupyExecutor(_ milliseconds: Int, blocks: Bool) {
        let end = ContinuousClock.now + .milliseconds(milliseconds)
        // More tasks than threads, which begin where a thread is free.
        for _ in 0..<2 * max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 4) {
            Task.detached {
                while ContinuousClock.now < end { if blocks { block(.milliseconds(1)) } }
            }
        }
    }
}
