import ConcurrencySupport
import Supervision

/// Times are coded as whole milliseconds, in JSON and between processes.
extension CoordinatorSnapshot: Codable {
    private enum CodingKeys: String, CodingKey {
        case path, type, state, host, processID, processStartTime, incarnation, restarts, forcedKills, restartAttempt, lastExit
        case isUnresponsive, mailbox, statusText, health, children
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
            restarts: try container.decodeIfPresent(Int.self, forKey: .restarts) ?? 0,
            forcedKills: try container.decodeIfPresent(Int.self, forKey: .forcedKills) ?? 0,
            restartAttempt: try container.decodeIfPresent(Int.self, forKey: .restartAttempt),
            nextStart: try container.decodeMilliseconds(forKey: .nextStart),
            stopping: try container.decodeMilliseconds(forKey: .stopping),
            stopTimeout: try container.decodeMilliseconds(forKey: .stopTimeout),
            uptime: try container.decodeMilliseconds(forKey: .uptime),
            lastExit: container.contains(.lastExit) ? (try? container.decode(ExitReason.self, forKey: .lastExit)) ?? .unknown : nil,
            isUnresponsive: try container.decodeIfPresent(Bool.self, forKey: .isUnresponsive) ?? false,
            executorSilence: try container.decodeMilliseconds(forKey: .executorSilence),
            mailbox: try container.decodeIfPresent(Mailbox.self, forKey: .mailbox),
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
            failures: try container.decodeIfPresent(Int.self, forKey: .failures) ?? 0,
            problem: try container.decodeIfPresent(String.self, forKey: .problem),
            isUnhealthy: try container.decodeIfPresent(Bool.self, forKey: .isUnhealthy) ?? false
        )
    }
}

extension CoordinatorSnapshot.Mailbox: Codable {
    private enum CodingKeys: String, CodingKey {
        case waiting, running, handled, stuck
        case oldestWaiting = "oldestWaitingMilliseconds"
    }

    /// Decodes the description of a mailbox.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            waiting: try container.decode(Int.self, forKey: .waiting),
            running: try container.decode(Int.self, forKey: .running),
            oldestWaiting: try container.decodeMilliseconds(forKey: .oldestWaiting),
            handled: try container.decode(UInt64.self, forKey: .handled),
            stuck: try container.decodeIfPresent(Int.self, forKey: .stuck) ?? 0
        )
    }

    /// Encodes the description.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(waiting, forKey: .waiting)
        try container.encode(running, forKey: .running)
        try container.encodeIfPresent(oldestWaiting?.wholeMilliseconds, forKey: .oldestWaiting)
        try container.encode(handled, forKey: .handled)
        if stuck != 0 { try container.encode(stuck, forKey: .stuck) }
    }
}

extension KeyedDecodingContainer {
    fileprivate func decodeMilliseconds(forKey key: Key) throws -> Duration? {
        try decodeIfPresent(Int64.self, forKey: key).map { .milliseconds($0) }
    }
}
