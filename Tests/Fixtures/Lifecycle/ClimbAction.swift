public import Coordinators

extension Climb {
    /// Makes a coordinator below the root ask from where it is.
    public struct Do: ResponderMessage {
        public typealias Reply = String
        public var action: Action
        public init(_ action: Action) { self.action = action }
    }

    public enum Action: Codable, Sendable {
        case startLeaf(String, inWorker: Bool)
        case own
        case add(Int, Add.Manner)
        case both
        case refuse(isCodable: Bool)
        case nobody
        case sendNobody
        /// Takes part of what the root feeds it; `nil`: everything.
        case feed(Int, Feed.End, takes: Int?)
        /// The first of what the root feeds.
        case first(Int)
        case origin(milliseconds: Int)
        /// The trace that the root has seen.
        case trace
        /// Asks the nearest once the root's gate is open.
        case nearestAfterGate(milliseconds: Int)
        /// Asks the root many times at once, and adds up on coming back.
        case addUp(Int)
        /// Asks for the messages that the interceptors here have got.
        case seen
    }
}
