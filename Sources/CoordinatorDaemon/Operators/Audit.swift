import ConcurrencySupport
import Control
import Coordinators
import Glibc
import Logging
import Processes

/// The record of what operators request: in the log, and changes of the tree as events too.
final class Audit: Sendable {
    private let events: EventLog
    private let logger: Logger
    private let users = UserNames()
    /// Refusals cost an operator nothing, and would leave no room for others in the log and the events.
    private let refusals = Violations(Violations.Limit(), .monotonic)

    init(_ events: EventLog, logger: Logger) {
        self.events = events
        self.logger = logger
    }

    /// Carries a request out and records it before and after, unless it only looks.
    func recording<Value>(
        _ operation: ControlOperation,
        from requester: Requester,
        _ body: () async throws(ControlError) -> Value
    ) async throws(ControlError) -> Value {
        guard operation.isRecorded else { return try await body() }
        let peer = Peer(requester, user: requester.passage == nil ? users.name(of: requester.userID) : requester.passage?.origin.user)
        let began = ContinuousClock.now
        log("an operator has asked", operation, peer)
        do throws(ControlError) {
            let value = try await body()
            end(operation, peer, requester, "ok", nil, ContinuousClock.now - began)
            return value
        } catch {
            end(operation, peer, requester, error.code.name, error, ContinuousClock.now - began)
            throw error
        }
    }

    /// Records a request that the requester's role doesn't allow.
    func refused(_ operation: ControlOperation, from requester: Requester, _ error: ControlError) {
        let peer = Peer(requester, user: requester.passage == nil ? users.name(of: requester.userID) : requester.passage?.origin.user)
        let sender = requester.passage.map { "node \($0.node)" } ?? "user \(requester.userID)"
        refusals.report(by: sender) { [self] others in
            let outcome: Logger.Metadata = ["error": "\(error.message)"]
            log("an operator's request was refused", operation, peer, outcome.counting(others), level: .warning)
            append(operation, peer, requester, error.code.name, error.message.counting(others), .zero)
        }
    }

    /// Records that an operator on another node looks at this one as a whole: it's more than what is about a subtree of the cluster.
    func noteLook(_ operation: ControlOperation, from requester: Requester) {
        guard let passage = requester.passage, operation.isNodeQuestion else { return }
        log("an operator on another node looks at this one", operation, Peer(requester, user: passage.origin.user), level: .info)
    }

    /// Returns what another node is told of a requester on this machine.
    ///
    /// - Parameter epoch: The epoch of the owner for which the request is meant.
    func origin(of requester: Requester, epoch: UInt64) -> RequestOrigin {
        let peer = Peer(requester, user: users.name(of: requester.userID))
        return RequestOrigin(
            processID: requester.processID,
            userID: requester.userID,
            user: peer.user,
            command: peer.command,
            epoch: epoch
        )
    }

    private func end(
        _ operation: ControlOperation,
        _ peer: Peer,
        _ requester: Requester,
        _ outcome: String,
        _ error: ControlError?,
        _ duration: Duration
    ) {
        var metadata: Logger.Metadata = ["outcome": "\(outcome)", "duration": "\(duration.wholeMilliseconds)ms"]
        if let error { metadata["error"] = "\(error.message.cut(to: 1024))" }
        log("an operator's request has ended", operation, peer, metadata)
        // Messages may be frequent, and the ring would hold nothing else.
        guard !operation.isMessage else { return }
        // All who may look at the tree see the events.
        append(operation, peer, requester, outcome, error?.withoutQuotation.message, duration)
    }

    private func append(
        _ operation: ControlOperation,
        _ peer: Peer,
        _ requester: Requester,
        _ outcome: String,
        _ error: String?,
        _ duration: Duration
    ) {
        let request = ControlEvent.Request(
            operation: operation.name,
            uid: requester.userID,
            user: peer.user,
            pid: requester.processID,
            command: peer.command,
            node: requester.passage?.node,
            id: requester.requestID,
            outcome: outcome,
            durationMilliseconds: duration.wholeMilliseconds
        )
        events.append(ControlEvent(kind: .operator, path: operation.path, reason: error, request: request))
    }

    private func log(
        _ message: Logger.Message,
        _ operation: ControlOperation,
        _ peer: Peer,
        _ outcome: Logger.Metadata = [:],
        level: Logger.Level? = nil
    ) {
        var metadata = peer.metadata.merging(outcome) { $1 }
        metadata["operation"] = "\(operation.name)"
        if let path = operation.path { metadata["coordinator.path"] = "\(path)" }
        logger.log(level: level ?? (operation.isMessage ? .info : .notice), message, metadata: metadata)
    }

    /// The requesting process, as it is when the request arrives.
    private struct Peer {
        let user: String?
        let command: String?
        let metadata: Logger.Metadata

        init(_ requester: Requester, user: String?) {
            self.user = user
            command = if let passage = requester.passage { passage.origin.command } else { Self.command(of: requester.processID) }
            var metadata: Logger.Metadata = ["operator.uid": "\(requester.userID)", "operator.pid": "\(requester.processID)"]
            if let user { metadata["operator.user"] = "\(user)" }
            if let command { metadata["operator.command"] = "\(command)" }
            if let passage = requester.passage { metadata["operator.node"] = "\(passage.node)" }
            if let id = requester.requestID { metadata["request.id"] = "\(id)" }
            self.metadata = metadata
        }

        /// Returns the name of the program: its arguments may have secrets.
        private static func command(of processID: Int32) -> String? {
            let file = open("/proc/\(processID)/comm", O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { return nil }
            defer { close(file) }
            var buffer = [UInt8](repeating: 0, count: 64)
            let count = read(file, &buffer, buffer.count)
            guard count > 0 else { return nil }
            let name = buffer[..<count].prefix { $0 != UInt8(ascii: "\n") }
            // Whatever the process has named itself: the log's lines must stay lines.
            return String(decoding: name.map { $0 < 0x20 || $0 == 0x7F ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
        }
    }
}
