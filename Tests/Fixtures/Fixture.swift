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
        public init(_ key: String, _ text: String) {
            self.key = key
            self.text = text
        }
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

    /// Takes a minute, unless it's cancelled.
    public struct Wait: ResponderMessage {
        public init() {}
    }

    /// Answered at once, but for each that completes a number of them, which keeps the root waiting.
    public struct Stall: ResponderMessage {
        public var every: Int
        public var milliseconds: Int
        public init(every: Int, milliseconds: Int) {
            self.every = every
            self.milliseconds = milliseconds
        }
    }

    public struct CancelledWaits: ResponderMessage {
        public typealias Reply = Int
        public init() {}
    }

    public struct Refuse: ResponderMessage {
        public var asCodable: Bool
        public init(asCodable: Bool) { self.asCodable = asCodable }
    }

    public struct NobodyAnswersThis: ResponderMessage {
        public init() {}
    }

    public struct Refusal: Error, Codable, Hashable {
        public var reason: String
        public init(_ reason: String) { self.reason = reason }
    }

    public struct LocalRefusal: Error {
        public init() {}
    }
}
