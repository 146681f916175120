import ConcurrencySupport
import FoundationEssentials

/// A watch that goes on from connection to connection, and from member to member.
final class EtcdWatch: WatchReader {
    private struct Connection {
        let lines: EtcdLines
        let endpoint: EtcdEndpoints.Endpoint
    }

    private enum Step: Sendable {
        case line([UInt8])
        /// The member has ended the stream.
        case end
        /// Nothing has come for long.
        case silence
        /// Another request to the same member has failed.
        case cut
        case fault(EtcdFault)
    }

    /// The number of watches in a row, at a revision before those that were seen, after which the store counts as another one: a member that lags
    /// behind the others has caught up by then.
    private static let mostVainBegins = 3

    private let client: EtcdClient
    private let keys: EtcdKeys
    private let range: StoreRange
    private let openLimit: Duration
    private let idleLimit: Duration
    private let mostLookedThrough: UInt64
    /// The revision of the last change that was delivered, or of those of other programs' keys after it.
    private var seen: StoreRevision
    /// The revision that the store had when it began the present watch.
    private var present: StoreRevision
    /// The number of watches in a row that have begun at a revision before those that were seen.
    private var vainBegins = 0
    private var connection: Connection?
    private var pause = Duration.zero
    private var isInterrupted = false
    private var isOver = false

    init(
        client: EtcdClient,
        keys: EtcdKeys,
        range: StoreRange,
        after revision: StoreRevision,
        openLimit: Duration,
        idleLimit: Duration,
        mostLookedThrough: UInt64
    ) {
        self.mostLookedThrough = mostLookedThrough
        (self.client, self.keys, self.range, seen, present) = (client, keys, range, revision, revision)
        (self.openLimit, self.idleLimit) = (openLimit, idleLimit)
    }

    func next() async -> StoreEvent? {
        while !isOver, !Task.isCancelled, !client.isClosed {
            guard let connection else {
                if let interruption = await connect() { return interruption }
                continue
            }
            switch await step(connection) {
            case .line(let bytes): if let event = read(bytes) { return event }
            case .silence:
                self.connection = nil
                // The next watch would have etcd look through all that other programs have written since, again and again. A listing costs
                // what the cluster itself has.
                if present.rawValue > seen.rawValue, present.rawValue - seen.rawValue > mostLookedThrough {
                    isOver = true
                    return .outdated
                }
            case .cut: self.connection = nil
            case .end: if let event = lose(.refused(code: 14, message: "the watch was closed")) { return event }
            case .fault(let fault):
                if fault.isOfTheMember { client.endpoints.fail(connection.endpoint) }
                if let event = lose(fault) { return event }
            }
        }
        return nil
    }

    private func connect() async -> StoreEvent? {
        if pause > .zero { try? await TimeSource.monotonic.sleep(until: .now + pause) }
        let form = keys.form(of: range)
        let creation = EtcdForms.Watch.Creation(
            key: form.key,
            end: form.end,
            start: EtcdNumber(Int64(clamping: seen.rawValue).addingSaturating(1))
        )
        do throws(EtcdFault) {
            let limit = ContinuousClock.now + openLimit
            let (lines, endpoint) = try await client.stream("watch", EtcdForms.Watch(creation: creation), before: limit)
            connection = Connection(lines: lines, endpoint: endpoint)
            return nil
        } catch {
            return lose(error)
        }
    }

    /// Waits for the first thing that happens.
    private func step(_ connection: Connection) async -> Step {
        let idleLimit = idleLimit
        return await withTaskGroup(of: Step.self) { group in
            group.addTask {
                do {
                    return try await connection.lines.next().map(Step.line) ?? .end
                } catch {
                    return .fault(EtcdFault(error))
                }
            }
            group.addTask {
                try? await TimeSource.monotonic.sleep(until: .now + idleLimit)
                return .silence
            }
            group.addTask {
                _ = await connection.endpoint.failure.valueUnlessCancelled()
                return .cut
            }
            defer { group.cancelAll() }
            return await group.next() ?? .cut
        }
    }

    private func read(_ bytes: [UInt8]) -> StoreEvent? {
        guard let answer = try? JSONDecoder().decode(EtcdForms.Result<EtcdForms.WatchMessage>.self, from: Data(bytes)) else {
            if let connection { client.endpoints.fail(connection.endpoint) }
            return lose(.unintelligible("an event that can't be read"))
        }
        guard let message = answer.result else {
            return lose(.refused(code: answer.error?.code ?? 14, message: answer.error?.message ?? "the watch has failed"))
        }
        if let compacted = message.compacted, compacted.value > 0 {
            (isOver, connection) = (true, nil)
            return .outdated
        }
        if message.canceled == true {
            let fault = EtcdFault.refused(code: 14, message: message.reason ?? "the watch was cancelled")
            // etcd 3.4 before 3.4.22 and 3.5 before 3.5.6 say only that the permission is denied when the token of a watch has expired.
            if fault.isOfTheToken || fault.isWithoutPermission { client.forgetToken() }
            if !fault.isOfTheToken, let connection { client.endpoints.fail(connection.endpoint) }
            return lose(fault)
        }
        if message.created == true, let revision = message.header?.revision?.value {
            present = StoreRevision(revision)
            if present < seen { return beginAgain() }
        }
        (pause, isInterrupted, vainBegins) = (.zero, false, 0)
        guard let events = message.events, !events.isEmpty else { return nil }
        for event in events { if let number = event.kv?.modified?.value { seen = max(seen, StoreRevision(number)) } }
        let changes = events.compactMap(keys.change)
        return changes.isEmpty ? nil : .changed(changes)
    }

    /// Gives up a watch that would wait for revisions after those that were seen: the member lags behind, or etcd was restored from a backup.
    private func beginAgain() -> StoreEvent? {
        connection = nil
        lengthenPause()
        vainBegins += 1
        isOver = vainBegins >= Self.mostVainBegins
        return isOver ? .outdated : nil
    }

    private func lengthenPause() { pause = min(max(pause * 2, .milliseconds(20)), .milliseconds(500)) }

    /// Gives the connection up, and tells that once.
    private func lose(_ fault: EtcdFault) -> StoreEvent? {
        connection = nil
        lengthenPause()
        guard !isInterrupted, !Task.isCancelled, !client.isClosed else { return nil }
        isInterrupted = true
        return .interrupted(fault.error("watch \(range)"))
    }
}
