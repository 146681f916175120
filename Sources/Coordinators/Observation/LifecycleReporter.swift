import ConcurrencySupport
import Glibc

/// A change of a child somewhere in the tree, as the root's process learns of it.
package struct LifecycleRecord: Sendable, Hashable, Codable {
    /// The kinds of changes.
    package enum Kind: Sendable, Hashable, Codable {
        /// The child has changed.
        case lifecycle(LifecycleChange)
        /// The child waits for its next start.
        case restarting(attempt: Int, delay: Duration)
        /// The child's process, which a killed root has left, was taken over.
        case adopted
        /// The child's executor runs nothing.
        case silent(Duration)
        /// A handler of the child runs on past its cancellation, in these words.
        case stuck(String)
        /// The durable flow of the child is parked, with this error: it doesn't go on before an operator says how.
        case parked(String)
        /// The link of the child's process was closed, because the process has broken this rule; of the root, that of another node.
        case brokeRule(String)
        /// The health check of the child, a program, has failed too often, with this problem; `nil`: it succeeds, for the first time in this
        /// life or again.
        case health(problem: String?)
    }

    package var path: CoordinatorPath
    /// The number of the child's life; 0: it isn't known.
    package var incarnation: UInt32
    /// The child's process, if it's known and has one of its own.
    package var processID: Int32?
    package var kind: Kind
    /// The time of the change, in microseconds since 1970.
    package var time: Int64

    init(_ kind: Kind, of path: CoordinatorPath, _ incarnation: UInt32, _ processID: Int32?) {
        (self.path, self.incarnation, self.processID, self.kind) = (path, incarnation, processID, kind)
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        time = Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
    }
}

/// The changes of children in a process and below it, on their way to the root's process.
///
/// Starts and ends of coordinators in their parent's process aren't among them: there may be a hundred thousand in a second, and their
/// parents know of them. All other changes of coordinators are, and all of processes.
final class LifecycleReporter: Sendable {
    private let observer: (@Sendable ([LifecycleRecord], Int) -> Void)?
    private let upward: UpwardReports<LifecycleReport>?

    /// - Parameter observer: The function in the root's process that gets changes, and the number of those that were left out before them.
    init(_ observer: (@Sendable ([LifecycleRecord], Int) -> Void)?, uplink: Uplink?) {
        self.observer = observer
        upward = uplink.map { UpwardReports($0, isPrompt: true) }
    }

    var areWanted: Bool { observer != nil || upward != nil }

    func add(_ change: LifecycleRecord) { add(LifecycleReport(changes: [change])) }

    /// Adds the changes of a process below, except those of its own coordinator, whose parent knows them.
    func add(_ report: LifecycleReport, below path: CoordinatorPath) {
        var report = report
        report.changes = report.changes.filter { $0.path != path }.map(\.shortened)
        add(report)
    }

    private func add(_ report: LifecycleReport) {
        observer?(report.changes, report.missed)
        upward?.add(report)
    }

    /// Sends the collected changes up, and returns when the link has them.
    func flush() async { await upward?.flushToEnd() }
}

/// The changes that a process reports at a time.
struct LifecycleReport: UpwardReport {
    /// The number of changes that are reported at a time; further ones are only counted.
    static let limit = 256
    static let notification = "coordinators.lives"

    var changes: [LifecycleRecord]
    private(set) var missed = 0

    init() { changes = [] }

    init(changes: [LifecycleRecord]) { self.changes = changes }

    var isEmpty: Bool { changes.isEmpty && missed == 0 }

    func subjectOutside(of path: CoordinatorPath) -> String? { Self.subjectOutside(of: path, among: changes.lazy.map(\.path)) }

    mutating func add(_ other: LifecycleReport) {
        let taken = other.changes.prefix(Self.limit - changes.count)
        changes += taken.map(\.shortened)
        missed = missed.addingSaturating(max(0, other.missed)).addingSaturating(other.changes.count - taken.count)
    }
}

extension LifecycleReport {
    private enum CodingKeys: String, CodingKey { case changes, missed }

    /// A change of which a newer build has sent a kind that this one doesn't know is none.
    private struct Lenient: Decodable {
        let change: LifecycleRecord?

        init(from decoder: any Decoder) throws { change = try? LifecycleRecord(from: decoder) }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        changes = try container.decode([Lenient].self, forKey: .changes).prefix(Self.limit).compactMap(\.change)
        missed = try container.decodeIfPresent(Int.self, forKey: .missed) ?? 0
    }
}
