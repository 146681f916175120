/// The state of a child between its first start and its removal.
package enum ChildState: Sendable, Hashable {
    /// The child's start is under way. Can transition to: running, stopping, waiting, stopped; removed.
    case starting(Incarnation)

    /// The child has been ready since that time. Can transition to: starting, stopping, waiting, stopped; removed.
    case running(Incarnation, since: Duration)

    /// The child has been asked to stop and has not ended yet. Can transition to: starting, waiting, stopped; removed.
    case stopping(Incarnation, then: Follow)

    /// The child failed and is started again at that time, or when its turn among its siblings has come. Can transition to: starting,
    /// stopped; removed.
    case waiting(nextAttempt: Duration, attempt: Int)

    /// The child is not alive, and only a request or a restart together with its siblings starts it. Can transition to: starting, waiting;
    /// removed.
    case stopped

    /// The step that follows once a child's stop has ended.
    package enum Follow: Sendable, Hashable {
        /// The specification is kept (a temporary child's is not).
        case stop
        /// The specification is forgotten.
        case remove
        /// The child is started again at once.
        case start
        /// The child is started again in its turn: a sibling's failure was the cause of the stop.
        case restartWithSiblings
    }

    /// The state without its data, for counting.
    package enum Kind: Int, Sendable, Hashable, CaseIterable {
        /// See ``ChildState/starting(_:)``.
        case starting
        /// See ``ChildState/running(_:since:)``.
        case running
        /// See ``ChildState/stopping(_:then:)``.
        case stopping
        /// See ``ChildState/waiting(nextAttempt:attempt:)``.
        case waiting
        /// See ``ChildState/stopped``.
        case stopped
    }

    /// The state without its data.
    package var kind: Kind {
        switch self {
        case .starting: .starting
        case .running: .running
        case .stopping: .stopping
        case .waiting: .waiting
        case .stopped: .stopped
        }
    }

    /// The incarnation that has begun and not ended; nil if there is none.
    package var incarnation: Incarnation? {
        switch self {
        case .starting(let incarnation), .running(let incarnation, _), .stopping(let incarnation, _): incarnation
        case .waiting, .stopped: nil
        }
    }
}
