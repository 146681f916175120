import ConcurrencySupport
import Processes
import WireProtocol
import WorkerLifecycle

/// The reports about the processes below this one, which the processes above have to know whatever link or parent they are told on.
extension Uplink {
    /// The processes below, as they are told to the parents.
    struct Reports: Sendable {
        /// The processes that live.
        private var living: Set<ProcessFamily> = []
        /// The ends that could not be told yet.
        private var ended: [ProcessFamily] = []
        /// Whether the present parent knows none of the living ones.
        private var isParentNew = false

        mutating func repeatAll() { isParentNew = true }

        mutating func remember(_ report: ProcessReport) {
            if report.lives { living.insert(report.family) } else { living.remove(report.family) }
        }

        mutating func keep(_ family: ProcessFamily) { ended.append(family) }

        /// Returns the reports that a new link begins with.
        mutating func takeDue() -> [ProcessReport] {
            defer { (ended, isParentNew) = ([], false) }
            let ends = ended.map { ProcessReport($0, lives: false) }
            return isParentNew ? living.map { ProcessReport($0, lives: true) } + ends : ends
        }
    }

    /// The time that the processes above may take to note a report.
    private static let reportTime = Duration.seconds(5)

    /// Reports a process below to the processes above.
    ///
    /// A beginning returns when they have taken note of it, and waits for the next link if there is none. An end that can't be told now is told
    /// on the next link.
    func report(_ report: ProcessReport) async throws {
        state.withLock { $0.reports.remember(report) }
        guard report.lives else { return await reportEnd(report, to: state.withLock { $0.peer }) }
        var former: Peer?
        while let peer = await linkedPeer(after: former) {
            do {
                _ = try await peer.inspect(report.operation, "", report.payload, timeout: Self.reportTime)
                return
            } catch let error as CoordinatorError where error.code == .peerLost {
                former = peer
            }
        }
        throw CoordinatorError(.peerLost, "the parent of \(ticket.path) can't be reached", maybeExecuted: false)
    }

    private func reportEnd(_ report: ProcessReport, to peer: Peer?) async {
        do {
            guard let peer else { throw CoordinatorError(.peerLost, "there is no link") }
            _ = try await peer.inspect(report.operation, "", report.payload, timeout: Self.reportTime)
        } catch {
            state.withLock { $0.reports.keep(report.family) }
        }
    }

    /// Tells a parent on a new link what it may not know.
    func sendReports(to peer: Peer) {
        let due = state.withLock { $0.reports.takeDue() }
        if due.isEmpty { return }
        tasks.add { [self] in
            for report in due {
                if report.lives {
                    _ = try? await peer.inspect(report.operation, "", report.payload, timeout: Self.reportTime)
                } else {
                    await reportEnd(report, to: peer)
                }
            }
        }
    }

    /// Returns the peer on the link in use, after waiting for it while there is none; `nil` when there never will be one.
    private func linkedPeer(after former: Peer?) async -> Peer? {
        while true {
            let (peer, next) = state.withLock { state -> (Peer?, OneShot<Void>?) in
                if let peer = state.peer, peer !== former { return (peer, nil) }
                if !state.machine.mayBeLinked { return (nil, nil) }
                let next = state.waiting.nextLink ?? OneShot()
                state.waiting.nextLink = next
                return (nil, next)
            }
            guard let next else { return peer }
            await next.value
        }
    }

    /// Resumes the callers that wait for a link, when there is one in use or there never will be.
    func settleNextLink() {
        let next = state.withLock { state -> OneShot<Void>? in
            guard state.peer != nil || !state.machine.mayBeLinked else { return nil }
            defer { state.waiting.nextLink = nil }
            return state.waiting.nextLink
        }
        next?.settle(())
    }
}

// MARK: - The report of one process

/// The report of a process to the processes above it about its own workers and programs, so that a path never lives twice: a parent
/// restarts a dead worker only when all its descendants are gone too.
struct ProcessReport: Sendable {
    let family: ProcessFamily
    let lives: Bool

    init(_ family: ProcessFamily, lives: Bool) {
        self.family = family
        self.lives = lives
    }

    init?(_ operation: String, _ payload: JSONValue) {
        guard operation == Self.started || operation == Self.ended,
            case .object(let fields) = payload,
            case .integer(let processID) = fields["pid"],
            case .integer(let startTime) = fields["start_time"],
            let pid = Int32(exactly: processID)
        else { return nil }
        var entry = ""
        // Only a mark as a spawn makes it is accepted; the mark of a whole runtime has dots, and a worker may not report it.
        if case .string(let text) = fields["mark"], text.utf8.count <= 32, text.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) {
            entry = text
        }
        family = ProcessFamily(leader: ProcessIdentity(processID: pid, startTime: UInt64(bitPattern: startTime)), entry: entry)
        lives = operation == Self.started
    }

    var operation: String { lives ? Self.started : Self.ended }
    var payload: JSONValue {
        [
            "pid": .integer(Int64(family.leader.processID)),
            "start_time": .integer(Int64(bitPattern: family.leader.startTime)),
            "mark": .string(family.entry),
        ]
    }

    /// Returns the report as it's believed of a worker that runs as another user than this process; `nil`: it isn't.
    ///
    /// Such a worker is believed about the processes that its user could end itself. It has no say about marks, since it might name another
    /// worker's, nor about the other members of a group or session, which may be another user's: root's su(1) is in the session of a login.
    /// So the family has no entry, and is its leader alone. What is below the worker bears the worker's own mark anyway.
    func limited(to user: UInt32) -> ProcessReport? {
        guard !lives || family.leader.wasStarted(by: user) else { return nil }
        return ProcessReport(ProcessFamily(leader: family.leader, entry: ""), lives: lives)
    }

    private static let started = "process-started"
    private static let ended = "process-ended"
}

/// The processes below a worker, as it has reported them.
struct ReportedProcesses: Sendable {
    /// The number of processes that a worker may report: more than the kernel allows by default.
    private static let limit = 65_536

    private var living: [ProcessIdentity: ProcessFamily] = [:]
    /// The processes whose end was reported before their beginning; the two reports can take different ways.
    private var endedEarly: Set<ProcessIdentity> = []

    var families: [ProcessFamily] { Array(living.values) }

    func contains(_ process: ProcessIdentity) -> Bool { living[process] != nil }

    /// Takes a report.
    ///
    /// - Returns: False when a worker reports more processes than there can be.
    mutating func merge(_ report: ProcessReport) -> Bool {
        let process = report.family.leader
        guard living[process] != nil || endedEarly.contains(process) || living.count + endedEarly.count < Self.limit else { return false }
        if report.lives {
            if endedEarly.remove(process) == nil { living[process] = report.family }
        } else if living.removeValue(forKey: process) == nil {
            endedEarly.insert(process)
        }
        return true
    }
}

/// A worker's request, on behalf of its coordinator, to be dismissed.
struct DismissalRequest {
    static let operation = "requestDismissal"

    let timeout: Duration

    init(timeout: Duration) { self.timeout = timeout }

    init?(_ operation: String, _ payload: JSONValue) {
        guard operation == Self.operation, case .integer(let milliseconds) = payload["timeoutMilliseconds"] else { return nil }
        timeout = .milliseconds(min(max(milliseconds, 0), Int64(UInt32.max)))
    }

    var payload: JSONValue { ["timeoutMilliseconds": .integer(Int64(timeout.millisecondsClamped))] }
}

/// A worker's notice, on behalf of its coordinator, that it has had nothing to do for its idle time-out.
enum IdleNotice {
    static let operation = "becameIdle"
}
