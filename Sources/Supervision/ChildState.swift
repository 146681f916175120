/// Where a child is between its first start and its removal.
public enum ChildState: Sendable, Hashable {
    /// Its start is under way. Can transition to: running, stopping, waiting, stopped; removed.
    case starting(Incarnation)

    /// It is ready, since then. Can transition to: starting, stopping, waiting, stopped; removed.
    case running(Incarnation, since: Duration)

    /// It has been told to stop and has not ended yet. Can transition to: starting, waiting, stopped; removed.
    case stopping(Incarnation, then: Follow)

    /// It failed and is started again then, or when its turn among its siblings has come. Can transition to: starting, stopped; removed.
    case waiting(nextAttempt: Duration, attempt: Int)

    /// It is not alive, and only a request brings it back. Can transition to: starting; removed.
    case stopped

    /// What happens to a child once its stop has ended.
    public enum Follow: Sendable, Hashable {
        /// Its specification is kept (a temporary child's is not).
        case stop
        /// Its specification is forgotten.
        case remove
        /// It is started again at once.
        case start
        /// It is started again in its turn: a sibling's failure has stopped it.
        case restartWithSiblings
    }

    /// The state without its data, for counting.
    public enum Kind: Int, Sendable, Hashable, CaseIterable {
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
    public var kind: Kind {
        switch self {
        case .starting: .starting
        case .running: .running
        case .stopping: .stopping
        case .waiting: .waiting
        case .stopped: .stopped
        }
    }

    /// The life that has begun and not ended, if there is one.
    public var incarnation: Incarnation? {
        switch self {
        case .starting(let incarnation), .running(let incarnation, _), .stopping(let incarnation, _): incarnation
        case .waiting, .stopped: nil
        }
    }
}
