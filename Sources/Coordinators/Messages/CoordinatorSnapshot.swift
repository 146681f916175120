import ConcurrencySupport
public import Supervision
import Synchronization
package import WireProtocol

/// The state of a coordinator and its subtree at one moment.
public struct CoordinatorSnapshot: Sendable, Hashable {
    /// The process that runs the coordinator.
    public enum Host: String, Sendable, Hashable, Codable {
        /// The process of the parent.
        case inProcess = "in_process"
        /// A worker process of its own.
        case worker
        /// A process of its own that runs a plain program.
        case program
    }

    /// The messages of a coordinator.
    public struct Mailbox: Sendable, Hashable {
        /// The number of messages that wait for this coordinator, in all ``places`` together.
        ///
        /// One whose asker has given up doesn't count.
        public var waiting: Int
        /// The number of messages whose handlers have begun and not ended.
        ///
        /// An ask of a row that doesn't await, of an idle coordinator in its asker's process, isn't counted while it's handled.
        public var running: Int
        /// The time for which the oldest waiting message has waited, since it was sent or has arrived in the coordinator's process; `nil`
        /// when none waits.
        public var oldestWaiting: Duration?
        /// The number of messages that this incarnation has handled, those included whose handlers have thrown.
        public var handled: UInt64
        /// The number of handlers that run on though their messages were cancelled longer than ``Coordinator/cancellationGrace`` ago.
        public var stuck: Int
        /// The places in which messages wait at present, and for what; at most 64 of them.
        public var places: [WaitingPlace] = []

        /// Creates the description of a mailbox.
        public init(waiting: Int = 0, running: Int = 0, oldestWaiting: Duration? = nil, handled: UInt64 = 0, stuck: Int = 0) {
            (self.waiting, self.running, self.oldestWaiting, self.handled) = (waiting, running, oldestWaiting, handled)
            self.stuck = stuck
        }
    }

    /// The flows of the store that a coordinator provides.
    public struct Flows: Sendable, Hashable {
        /// The number of flows that go on, or wait for messages.
        public var open: Int
        /// The number of flows whose pages are undone.
        public var unwinding: Int
        /// The number of flows that don't go on before an operator says how.
        public var parked: Int
        /// The number of flows that have something to do now, and are at it, or will be.
        public var due: Int
        /// The time for which the first of them has had it; `nil` when none has.
        public var oldestDue: Duration?
        /// The time for which the first of their messages that haven't come to their ends is under way, or should be; `nil` when there is none.
        public var outboxAge: Duration?
        /// The time that one of a hundred of the latest commits exceeds, of the last 256; `nil` before the first.
        public var commitP99: Duration?

        /// Creates the numbers.
        public init(
            open: Int = 0,
            unwinding: Int = 0,
            parked: Int = 0,
            due: Int = 0,
            oldestDue: Duration? = nil,
            outboxAge: Duration? = nil,
            commitP99: Duration? = nil
        ) {
            (self.open, self.unwinding, self.parked, self.due) = (open, unwinding, parked, due)
            (self.oldestDue, self.outboxAge, self.commitP99) = (oldestDue, outboxAge, commitP99)
        }
    }

    /// The result of a program's health checks.
    public struct Health: Sendable, Hashable, Codable {
        /// Whether the last check has succeeded.
        public var isHealthy: Bool
        /// The number of checks in a row that have failed.
        public var failures: Int
        /// The failure of the last check.
        public var problem: String?
        /// Whether as many checks in a row have failed as ``HealthCheck/retries`` says: the program is unhealthy until a check succeeds.
        public var isUnhealthy: Bool

        private enum CodingKeys: String, CodingKey { case isHealthy, failures, problem, isUnhealthy }

        /// Creates the result.
        public init(isHealthy: Bool, failures: Int = 0, problem: String? = nil, isUnhealthy: Bool = false) {
            (self.isHealthy, self.failures, self.problem, self.isUnhealthy) = (isHealthy, failures, problem, isUnhealthy)
        }
    }

    /// What is known of a program beside its process.
    struct Condition: Sendable, Hashable {
        var status: String?
        var health: Health?
        /// Whether the program has said that it stops.
        var isStopping = false
    }

    /// The coordinator's place in the tree.
    public var path: CoordinatorPath
    /// The coordinator's type, or the program's name.
    public var type: String
    /// The state of the coordinator.
    public var state: CoordinatorState
    /// The process that runs the coordinator: see ``Placement`` for the choice.
    public var host: Host
    /// The number of the process that hosts the coordinator.
    public var processID: Int32?
    /// The start time of that process, in clock ticks since boot: together with the number it identifies the process.
    public var processStartTime: UInt64?
    /// The number of the current incarnation, counted from 1.
    public var incarnation: UInt32
    /// The number of restarts by supervision after failures; restarts by an operator or by recycling aren't counted.
    public var restarts = 0
    /// The number of incarnations that were killed, or abandoned, because they didn't stop within their time.
    public var forcedKills = 0
    /// The number of restarts in a row, from 1, while the coordinator waits for its next start.
    public var restartAttempt: Int?
    /// The time until the next start, while the coordinator waits for it.
    public var nextStart: Duration?
    /// The time for which the coordinator has been stopping.
    public var stopping: Duration?
    /// The time that the coordinator was given to stop, while it's stopping; `nil`: any.
    public var stopTimeout: Duration?
    /// The time for which the coordinator has been ready.
    public var uptime: Duration?
    /// The reason why the previous incarnation ended.
    public var lastExit: ExitReason?
    /// Whether the coordinator's process didn't answer in time, so that its children are unknown.
    public var isUnresponsive = false
    /// The time for which the executor of the worker's first coordinator has left a ping unanswered.
    ///
    /// One of the coordinator's rows is busy or blocked then, or all threads of the process are. `nil` when it answers, and of a coordinator that isn't a worker's first. A silence of less than three seconds, or three tenths of ``CoordinatorRuntime/Options/heartbeatTimeout`` if that is less, isn't shown.
    public var executorSilence: Duration?
    /// The messages of the coordinator; `nil` when they aren't known: of a program, of a coordinator that isn't running, and of one whose
    /// process doesn't answer, or doesn't tell.
    public var mailbox: Mailbox?
    /// The durable flows of the store that the coordinator provides; `nil` when it provides none, or the store doesn't answer.
    public var flows: Flows?
    /// The state that a program has sent as `STATUS=` by sd_notify(3), or since when the child's start hangs, because a file system doesn't
    /// answer.
    public var statusText: String?
    /// The health of a program by its ``HealthCheck``; `nil` before the first check, and without one.
    public var health: Health?
    /// The coordinator's children, in start order.
    public var children: [CoordinatorSnapshot] = []
}

extension CoordinatorSnapshot {
    /// The state as all front-ends show it: with what is known beside supervision's own state.
    package var shownState: ShownState {
        if isUnresponsive { return .unresponsive }
        return switch state {
        case .inactive: .inactive
        case .starting: .starting
        case .active: health?.isUnhealthy == true ? .unhealthy : .active
        case .paused: .paused
        case .stopping: .stopping
        case .restarting: .restarting
        case .failing: .failing
        case .failed: .failed
        }
    }

    /// The snapshot of the child when it's gone.
    var ended: CoordinatorSnapshot {
        var ended = self
        ended.state = .inactive
        (ended.processID, ended.processStartTime, ended.uptime, ended.mailbox, ended.children) = (nil, nil, nil, nil, [])
        // The exit that was the last one then isn't any more.
        (ended.restartAttempt, ended.nextStart, ended.stopping, ended.lastExit, ended.executorSilence) = (nil, nil, nil, nil, nil)
        (ended.statusText, ended.health, ended.stopTimeout, ended.flows) = (nil, nil, nil, nil)
        return ended
    }
}

// MARK: - Coding

/// Times are coded as whole milliseconds, in JSON and between processes.
extension CoordinatorSnapshot: Codable {
    private enum CodingKeys: String, CodingKey {
        case path, type, state, host, processID, processStartTime, incarnation, restarts, forcedKills, restartAttempt, lastExit
        case isUnresponsive, mailbox, flows, statusText, health, children
        case nextStart = "nextStartMilliseconds"
        case stopping = "stoppingMilliseconds"
        case stopTimeout = "stopTimeoutMilliseconds"
        case uptime = "uptimeMilliseconds"
        case executorSilence = "executorSilenceMilliseconds"
    }

    /// Decodes a snapshot; a worker of another build may leave fields out, and know other states and exit reasons.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            path: try container.decode(CoordinatorPath.self, forKey: .path),
            type: try container.decode(String.self, forKey: .type),
            state: CoordinatorState(rawValue: try container.decode(String.self, forKey: .state)) ?? .active,
            host: Host(rawValue: try container.decodeIfPresent(String.self, forKey: .host) ?? "") ?? .inProcess,
            processID: try container.decodeIfPresent(Int32.self, forKey: .processID),
            processStartTime: try container.decodeIfPresent(UInt64.self, forKey: .processStartTime),
            incarnation: try container.decode(UInt32.self, forKey: .incarnation),
            restarts: try container.decodeCount(forKey: .restarts) ?? 0,
            forcedKills: try container.decodeCount(forKey: .forcedKills) ?? 0,
            restartAttempt: try container.decodeCount(forKey: .restartAttempt),
            nextStart: try container.decodeMilliseconds(forKey: .nextStart),
            stopping: try container.decodeMilliseconds(forKey: .stopping),
            stopTimeout: try container.decodeMilliseconds(forKey: .stopTimeout),
            uptime: try container.decodeMilliseconds(forKey: .uptime),
            lastExit: container.contains(.lastExit) ? (try? container.decode(ExitReason.self, forKey: .lastExit)) ?? .unknown : nil,
            isUnresponsive: try container.decodeIfPresent(Bool.self, forKey: .isUnresponsive) ?? false,
            executorSilence: try container.decodeMilliseconds(forKey: .executorSilence),
            mailbox: try container.decodeIfPresent(Mailbox.self, forKey: .mailbox),
            flows: try container.decodeIfPresent(Flows.self, forKey: .flows),
            statusText: try container.decodeIfPresent(String.self, forKey: .statusText),
            health: try container.decodeIfPresent(Health.self, forKey: .health),
            children: try container.decodeIfPresent([CoordinatorSnapshot].self, forKey: .children) ?? []
        )
    }

    /// Encodes the snapshot.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(path, forKey: .path)
        try container.encode(type, forKey: .type)
        try container.encode(state, forKey: .state)
        try container.encode(host, forKey: .host)
        try container.encodeIfPresent(processID, forKey: .processID)
        try container.encodeIfPresent(processStartTime, forKey: .processStartTime)
        try container.encode(incarnation, forKey: .incarnation)
        try container.encode(restarts, forKey: .restarts)
        if forcedKills != 0 { try container.encode(forcedKills, forKey: .forcedKills) }
        try container.encodeIfPresent(restartAttempt, forKey: .restartAttempt)
        try container.encodeIfPresent(nextStart?.wholeMilliseconds, forKey: .nextStart)
        try container.encodeIfPresent(stopping?.wholeMilliseconds, forKey: .stopping)
        try container.encodeIfPresent(stopTimeout?.wholeMilliseconds, forKey: .stopTimeout)
        try container.encodeIfPresent(uptime?.wholeMilliseconds, forKey: .uptime)
        try container.encodeIfPresent(lastExit, forKey: .lastExit)
        try container.encode(isUnresponsive, forKey: .isUnresponsive)
        try container.encodeIfPresent(executorSilence?.wholeMilliseconds, forKey: .executorSilence)
        try container.encodeIfPresent(mailbox, forKey: .mailbox)
        try container.encodeIfPresent(flows, forKey: .flows)
        try container.encodeIfPresent(statusText, forKey: .statusText)
        try container.encodeIfPresent(health, forKey: .health)
        try container.encode(children, forKey: .children)
    }
}

extension CoordinatorSnapshot.Health {
    /// Decodes the result; a worker of another build may leave fields out.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            isHealthy: try container.decode(Bool.self, forKey: .isHealthy),
            failures: try container.decodeCount(forKey: .failures) ?? 0,
            problem: try container.decodeIfPresent(String.self, forKey: .problem),
            isUnhealthy: try container.decodeIfPresent(Bool.self, forKey: .isUnhealthy) ?? false
        )
    }
}

extension CoordinatorSnapshot.Flows: Codable {
    private enum CodingKeys: String, CodingKey {
        case open, unwinding, parked, due
        case oldestDue = "oldestDueMilliseconds"
        case outboxAge = "outboxAgeMilliseconds"
        case commitP99 = "commitP99Microseconds"
    }

    /// Decodes the numbers; a worker of another build may leave some out.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func count(_ key: CodingKeys) throws -> Int { try container.decodeCount(forKey: key) ?? 0 }
        self.init(
            open: try count(.open),
            unwinding: try count(.unwinding),
            parked: try count(.parked),
            due: try count(.due),
            oldestDue: try container.decodeMilliseconds(forKey: .oldestDue),
            outboxAge: try container.decodeMilliseconds(forKey: .outboxAge),
            commitP99: try container.decodeIfPresent(Int64.self, forKey: .commitP99).map { Duration.microseconds($0).bounded }
        )
    }

    /// Encodes the numbers.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(open, forKey: .open)
        try container.encode(unwinding, forKey: .unwinding)
        try container.encode(parked, forKey: .parked)
        try container.encode(due, forKey: .due)
        try container.encodeIfPresent(oldestDue?.wholeMilliseconds, forKey: .oldestDue)
        try container.encodeIfPresent(outboxAge?.wholeMilliseconds, forKey: .outboxAge)
        try container.encodeIfPresent(commitP99.map { $0.wholeMicroseconds }, forKey: .commitP99)
    }
}

extension CoordinatorSnapshot.Mailbox: Codable {
    private enum CodingKeys: String, CodingKey {
        case waiting, running, handled, stuck, places
        case oldestWaiting = "oldestWaitingMilliseconds"
    }

    /// Decodes the description of a mailbox; a worker of another build may know other places, or none.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            waiting: try container.decode(Int.self, forKey: .waiting).bounded,
            running: try container.decode(Int.self, forKey: .running).bounded,
            oldestWaiting: try container.decodeMilliseconds(forKey: .oldestWaiting),
            handled: try container.decode(UInt64.self, forKey: .handled),
            stuck: try container.decodeCount(forKey: .stuck) ?? 0
        )
        let told = try container.decodeIfPresent([CoordinatorSnapshot.WaitingPlace.Told].self, forKey: .places) ?? []
        places = Array(told.lazy.compactMap(\.place).prefix(Self.placesLimit))
    }

    /// Encodes the description.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(waiting, forKey: .waiting)
        try container.encode(running, forKey: .running)
        try container.encodeIfPresent(oldestWaiting?.wholeMilliseconds, forKey: .oldestWaiting)
        try container.encode(handled, forKey: .handled)
        if stuck != 0 { try container.encode(stuck, forKey: .stuck) }
        if !places.isEmpty { try container.encode(places.map { CoordinatorSnapshot.WaitingPlace.Told($0) }, forKey: .places) }
    }

    fileprivate static let placesLimit = 64

    /// Describes what waits in one place alone; `nil` when nothing does.
    init?(_ place: CoordinatorSnapshot.WaitingPlace?) {
        guard let place else { return nil }
        self.init()
        add(place)
    }

    /// Adds messages that wait in further places.
    mutating func add(_ added: some Sequence<CoordinatorSnapshot.WaitingPlace>) {
        for place in added { add(place) }
    }

    /// Adds messages that wait in a further place, if there are any.
    mutating func add(_ place: CoordinatorSnapshot.WaitingPlace?) {
        guard let place else { return }
        if places.count < Self.placesLimit { places.append(place) }
        guard place.reason != .parent else { return }
        waiting = waiting.addingSaturating(place.waiting)
        oldestWaiting = max(oldestWaiting ?? .zero, place.oldestWaiting)
    }
}

extension CoordinatorSnapshot.WaitingPlace {
    /// The place as it's told in JSON, whose reason may be one of a later version.
    fileprivate struct Told: Codable {
        let reason: String
        let key: String?
        let waiting: Int
        let oldestWaitingMilliseconds: Int64

        init(_ place: CoordinatorSnapshot.WaitingPlace) {
            (reason, key, waiting) = (place.reason.rawValue, place.key, place.waiting)
            oldestWaitingMilliseconds = place.oldestWaiting.wholeMilliseconds
        }

        var place: CoordinatorSnapshot.WaitingPlace? {
            CoordinatorSnapshot.WaitingPlace.Reason(rawValue: reason).map {
                let oldest = Duration.milliseconds(oldestWaitingMilliseconds).bounded
                return CoordinatorSnapshot.WaitingPlace($0, key: key, waiting: waiting.bounded, oldestWaiting: oldest)
            }
        }
    }
}

// A worker's numbers may be any: they are bounded where they're read, so that what shows them can add them up.

extension KeyedDecodingContainer {
    fileprivate func decodeCount(forKey key: Key) throws -> Int? { try decodeIfPresent(Int.self, forKey: key)?.bounded }

    fileprivate func decodeMilliseconds(forKey key: Key) throws -> Duration? {
        try decodeIfPresent(Int64.self, forKey: key).map { Duration.milliseconds($0).bounded }
    }
}

extension Int {
    /// The number as one of messages, flows or restarts.
    fileprivate var bounded: Int { Swift.min(Swift.max(self, 0), Int(Int32.max)) }
}

extension Duration {
    /// The duration as one of a life: at most a hundred years.
    fileprivate var bounded: Duration { min(max(self, .zero), .seconds(100 * 365 * 86_400)) }
}

// MARK: - The state of a coordinator

/// The state of a coordinator, as its parent sees it.
///
/// More cases may be added.
@nonexhaustive
public enum CoordinatorState: String, Sendable, Hashable, Codable {
    /// The child isn't running: it was stopped, or has ended as it should.
    case inactive
    /// The child's `start` hook runs, or its process is being started.
    case starting
    /// The child is ready.
    case active
    /// The child is ready, and messages to it wait until it's resumed.
    case paused
    /// The child is ending.
    case stopping
    /// The child has failed and is started again, at once or after a delay.
    case restarting
    /// The child has failed three times in a row or more, hasn't lived for long since, and is started again after a delay.
    case failing
    /// The child has failed more often than the policy allows, or for good.
    case failed
}

// MARK: - Changes of a child

/// A change of a child.
///
/// More cases may be added.
@nonexhaustive
public enum LifecycleChange: Sendable, Hashable, Codable {
    /// The child is ready, and the parent hasn't started it itself.
    case started
    /// The child has ended and isn't started again by itself.
    case stopped(ExitReason)
    /// The child has ended unexpectedly; `restarted` follows, or `gaveUp`, or, if the child is temporary, `stopped`.
    case crashed(ExitReason)
    /// The child is ready again, as another incarnation.
    case restarted
    /// The child has been paused: messages to it wait.
    case paused
    /// The child has been resumed.
    case resumed
    /// The child could not be started.
    case startFailed(ExitReason)
    /// The child failed more often than its parent's policy allows, or for good.
    case gaveUp(ExitReason)
}

// MARK: - Numbers of live objects

/// The numbers of live objects in one process: after everything has been stopped they are what they were before it was started.
public struct RuntimeCounters: Sendable, Hashable, Codable {
    /// Coordinators in memory: one that has ended counts until the last task with a reference to it has ended, a moment later.
    public var coordinators: Int
    /// Links to other processes.
    public var links: Int
    /// Asks that wait for their answer across a link.
    public var openAsks: Int
    /// Delegates, event streams and subscriptions.
    public var observers: Int
    /// Processes that wait to become a child's next incarnation.
    public var spares: Int
}

extension RuntimeCounters {
    /// Decodes the counters; those that a worker of an older build doesn't have are 0.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func count(_ key: CodingKeys) throws -> Int { try container.decodeIfPresent(Int.self, forKey: key) ?? 0 }
        self.init(
            coordinators: try count(.coordinators),
            links: try count(.links),
            openAsks: try count(.openAsks),
            observers: try count(.observers),
            spares: try count(.spares)
        )
    }
}

/// The numbers of live objects in a runtime.
final class LiveCounts: Sendable {
    let coordinators = Atomic<Int>(0)
    let links = Atomic<Int>(0)
    let openAsks = Atomic<Int>(0)
    let observers = Atomic<Int>(0)
    let spares = Atomic<Int>(0)

    var counters: RuntimeCounters {
        RuntimeCounters(
            coordinators: coordinators.load(ordering: .relaxed),
            links: links.load(ordering: .relaxed),
            openAsks: openAsks.load(ordering: .relaxed),
            observers: observers.load(ordering: .relaxed),
            spares: spares.load(ordering: .relaxed)
        )
    }
}

/// The reasons why a coordinator is paused, which are kept apart.
///
/// Resuming a parent doesn't resume a child that was paused by name.
struct PauseReasons: OptionSet, Sendable, Hashable {
    let rawValue: UInt8

    /// The coordinator was paused by name.
    static let explicit = PauseReasons(rawValue: 1 << 0)
    /// An ancestor was paused.
    static let cascade = PauseReasons(rawValue: 1 << 1)

    /// The byte that represents a single reason in a frame.
    var wire: UInt8 { self == .explicit ? 0 : 1 }

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init(wire: UInt8) { self = wire == 0 ? .explicit : .cascade }
}

/// The answer to a child's request to be dismissed.
public enum DismissalDecision: Sendable, Hashable {
    /// The child is stopped and removed.
    case dismiss
    /// The child stays.
    case refuse
    /// This coordinator asks its own parent to be dismissed, together with the child.
    case forward
}

/// The end of one life of a coordinator, or the report that there is none.
public struct Termination: Sendable, Hashable, Codable {
    /// The path of the coordinator.
    public let path: CoordinatorPath
    /// The incarnation that ended; 0 when there was none, or it isn't known.
    public let incarnation: UInt32
    /// The reason of the end; `unknown` when no process is left that recorded it.
    public let reason: ExitReason
}

/// The way in which a coordinator follows a change of its configuration.
public enum Reconfiguration: String, Codable, Sendable, Hashable {
    /// The coordinator has taken the configuration and lives on.
    case taken
    /// The coordinator is restarted with the configuration.
    case restart
}
