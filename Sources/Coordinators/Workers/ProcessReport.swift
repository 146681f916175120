import Processes
import WireProtocol

/// What a process tells those above it of its own workers, so that a path never lives twice: a parent restarts a dead worker only
/// when that worker's descendants are gone too.
struct ProcessReport: Sendable {
    let process: ProcessIdentity
    let lives: Bool

    init(process: ProcessIdentity, lives: Bool) {
        self.process = process
        self.lives = lives
    }

    init?(_ operation: String, _ payload: JSONValue) {
        guard operation == Self.started || operation == Self.ended,
            case .object(let fields) = payload,
            case .integer(let processID) = fields["pid"],
            case .integer(let startTime) = fields["start_time"],
            let pid = Int32(exactly: processID)
        else { return nil }
        process = ProcessIdentity(processID: pid, startTime: UInt64(bitPattern: startTime))
        lives = operation == Self.started
    }

    var operation: String { lives ? Self.started : Self.ended }
    var payload: JSONValue {
        ["pid": .integer(Int64(process.processID)), "start_time": .integer(Int64(bitPattern: process.startTime))]
    }

    private static let started = "process-started"
    private static let ended = "process-ended"
}
