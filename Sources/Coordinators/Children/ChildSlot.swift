import ConcurrencySupport
import WireProtocol

/// A key's place among a coordinator's children: it stays while incarnations come and go.
struct ChildSlot {
    enum Phase {
        /// An incarnation is being started, or has ended and will be: messages wait. `nextAttempt`: when, if not at once.
        case pending(nextAttempt: MonotonicTime?)
        /// What has waited is being delivered, before anything new.
        case flushing(any ChildHost)
        /// Messages go to the host.
        case active(any ChildHost)
        /// It lives no more, and only a request brings it back.
        case down(isFailed: Bool)
    }

    struct Parked {
        let envelope: Envelope
        let rest: ArraySlice<Substring>
        let isDirect: Bool
    }

    typealias Start = OneShot<Result<Void, any Error>>
    typealias End = OneShot<Result<Answer, any Error>>

    var definition: ChildDefinition
    /// Counts those who have had the key, so that a late clean-up can't touch a successor.
    var tenure: UInt64 = 0
    var phase = Phase.pending(nextAttempt: nil)
    /// Also while it starts and while it stops.
    var host: (any ChildHost)?
    var incarnation: Incarnation = 0
    var restarts = 0
    var readySince: MonotonicTime?
    var lastExit: ExitReason?
    var lastError: (any Error)?
    var output: Answer?
    /// Whether the parent itself has asked for the change under way, and so learns by return instead of by event.
    var isStartedByParent = false
    var isStoppedByParent = false
    /// An exit that was told before the start was.
    var earlyExit: ExitReason?
    var isStartTold = false
    var parked: [Parked] = []
    /// How many of those, the first ones, have come back from a link that has ended: they are older than all that came after.
    var returned = 0
    /// One thread delivers what has waited; newer messages can't overtake it.
    var isFlushing = false
    /// Kept through restarts.
    var pauseReasons: PauseReasons = []
    /// Pauses and resumes of one child come one after the other.
    var pauses: AsyncLock?
    var observers = ChildObservers()
    /// Who waits for the child to be ready.
    var starts: [Start] = []
    /// Who waits for the child's end for good.
    var ends: [End] = []
    /// Who watches the present life.
    var watchers: [Envelope] = []
    /// Processes that wait to become the next life.
    var spares: SparePool?
    /// Who waits for the end of the life that was told to stop, whatever comes after it.
    var stops: [Stop] = []

    /// Somebody who waits for the end of a life that was told to stop.
    struct Stop {
        /// What is still to be reported of an earlier life is no answer.
        let incarnation: Incarnation
        let end: OneShot<Void>
    }

    /// What somebody who waits for the end is told.
    struct Outcome {
        let end: End
        let result: Result<Answer, any Error>

        func tell() { end.settle(result) }
    }

    /// Those who wait for the end, with what they are to be told; none of them waits any more.
    mutating func takeEnds(otherwise error: CoordinatorError) -> [Outcome] {
        let result: Result<Answer, any Error> = output.map { .success($0) } ?? .failure(lastError ?? error)
        defer { ends = [] }
        return ends.map { Outcome(end: $0, result: result) }
    }

    init(_ definition: ChildDefinition) { self.definition = definition }

    /// What the operator is shown.
    func state(_ machine: ChildState?) -> CoordinatorSnapshot.State {
        switch machine {
        case .starting: restarts > 0 ? .restarting : .starting
        case .running: pauseReasons.isEmpty ? .active : .paused
        case .stopping: .stopping
        case .waiting: .restarting
        case .stopped, nil:
            if case .down(isFailed: true) = phase { .failed } else { .inactive }
        }
    }
}
