public import Coordinators
import Glibc

/// The messages of the tests to the fixture's coordinators.
public enum Fixture {
    public struct Place: Codable, Sendable, Hashable {
        public var path: String
        public var pid: Int32
        public var incarnation: UInt32
        public var fence: UInt64?

        static func here(_ context: CoordinatorContext<some Coordinator>) -> Place {
            Place(path: context.path.description, pid: getpid(), incarnation: context.incarnation, fence: context.fence)
        }
    }

    public struct WhereAmI: ResponderMessage {
        public typealias Reply = Place
        public init() {}
    }

    /// Answered by the root alone.
    public struct Echo: ResponderMessage {
        public typealias Reply = String
        public var text: String
        public init(_ text: String) { self.text = text }
    }

    /// Asks for the whole seconds that remain until the deadline.
    public struct Remaining: ResponderMessage {
        public typealias Reply = Int
        public init() {}
    }

    /// Asks for the number of echoes that the root has answered.
    public struct Echoes: ResponderMessage {
        public typealias Reply = Int
        public init() {}
    }

    /// Makes the root ask a child of its own, which asks the root back.
    public struct AskChild: ResponderMessage {
        public typealias Reply = String
        public var key: String
        public var text: String
        public init(_ key: String, _ text: String) { (self.key, self.text) = (key, text) }
    }

    /// A number that the root notes down, in order of arrival.
    public struct Note: ResponderMessage {
        public var number: Int
        public init(_ number: Int) { self.number = number }
    }

    public struct Notes: ResponderMessage {
        public typealias Reply = [Int]
        public init() {}
    }

    /// Asks for the numbers below a limit, one after the other.
    public struct Count: ResponderMessage {
        public typealias Reply = Int
        public var limit: Int
        public init(_ limit: Int) { self.limit = limit }
    }

    /// Climbs through an interceptor that adds 1 on the way up and 100 on the way down.
    public struct Add: ResponderMessage {
        public typealias Reply = Int
        public var amount: Int
        public init(_ amount: Int) { self.amount = amount }
    }

    /// Asks for the messages that an interceptor has got.
    public struct Seen: ResponderMessage {
        public typealias Reply = [String]
        public init() {}
    }

    /// Ends when it's cancelled.
    public struct Wait: ResponderMessage {
        public init() {}
    }

    /// Answered at once, but for each that completes a number of them, which keeps the root waiting.
    public struct Stall: ResponderMessage {
        public var every: Int
        public var milliseconds: Int
        public init(every: Int, milliseconds: Int) { (self.every, self.milliseconds) = (every, milliseconds) }
    }

    public struct CancelledWaits: ResponderMessage {
        public typealias Reply = Int
        public init() {}
    }

    public struct Refuse: ResponderMessage {
        public var asCodable: Bool
        public init(asCodable: Bool) { self.asCodable = asCodable }
    }

    /// Makes the coordinator that gets it fail.
    public struct Fail: ResponderMessage {
        public init() {}
    }

    /// The context of a message in its handler.
    public struct Origin: Codable, Sendable, Hashable {
        public var sender: String
        /// The time that is left until the asker's deadline; `nil`: no deadline.
        public var remainingMilliseconds: Int?
        public var trace: String?

        public init(_ context: MessageContext) {
            sender = context.sender.description
            remainingMilliseconds = context.remainingTime.map { Int($0 / .milliseconds(1)) }
            trace = context.trace?.traceparent
        }
    }

    public struct NobodyAnswersThis: ResponderMessage {
        public init() {}
    }

    public struct Refusal: Error, Codable, Hashable {
        public var reason: String
        public init(_ reason: String) { self.reason = reason }

        /// The reason of an error, whether it crossed a process or not.
        static func reason(of error: any Error) -> String {
            (error as? Refusal)?.reason ?? (error as? RemoteError)?.description ?? "\(error)"
        }
    }

    /// An error that can't cross a process's border.
    public struct LocalRefusal: Error, CustomStringConvertible {
        public let description = "won't say why"
        public init() {}
    }
}

extension Fixture {
    /// The case of a change, in a word.
    public static func word(for change: LifecycleChange) -> String {
        switch change {
        case .started: "started"
        case .stopped: "stopped"
        case .crashed: "crashed"
        case .restarted: "restarted"
        case .startFailed: "startFailed"
        case .gaveUp: "gaveUp"
        case .paused: "paused"
        case .resumed: "resumed"
        }
    }
}
