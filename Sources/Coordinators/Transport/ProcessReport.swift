import Processes
import WireProtocol

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
    /// worker's: what is below it bears the worker's own anyway.
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
    mutating func take(_ report: ProcessReport) -> Bool {
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
