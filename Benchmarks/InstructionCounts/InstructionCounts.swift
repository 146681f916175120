import Coordinators
import Glibc

/// Does one thing so many times, for `Benchmarks/guard`, which counts the instructions.
///
///     InstructionCounts ask-direct 1000
///
/// Without arguments it prints the things that it can do.
@main
struct InstructionCounts {
    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        guard let name = arguments.first else { return print(Subject.allCases.map(\.rawValue).joined(separator: "\n")) }
        guard let subject = Subject(rawValue: name), arguments.count == 2, let count = arguments.last.flatMap({ Int($0) }) else {
            print("usage: InstructionCounts [SUBJECT COUNT]")
            exit(64)
        }
        do {
            try await subject.run(count)
        } catch {
            print("\(name): \(error)")
            exit(1)
        }
    }
}

/// What is done: a step of the message path, or all of it in one process.
enum Subject: String, CaseIterable {
    /// A message becomes a payload, in the codec between processes of one build.
    case encode
    /// A payload becomes a message.
    case decode
    /// A payload becomes an ask's frame in a batch.
    case encodeFrame = "encode-frame"
    /// An ask's frame is taken out of a batch.
    case decodeFrame = "decode-frame"
    /// A one-way message enters a mailbox, begins, and ends.
    case mailbox
    /// An ask of a row that doesn't await, from the coordinator below.
    case askDirect = "ask-direct"
    /// The same ask from three coordinators further down, which it climbs over.
    case askClimbing = "ask-climbing"
    /// An ask of a row that awaits, and gets a task of its own.
    case askQueued = "ask-queued"
    /// An ask of a row that doesn't await, within an instrument that does nothing.
    case askInstrumented = "ask-instrumented"
    /// An ask of a row that awaits, within an instrument that does nothing.
    case askQueuedInstrumented = "ask-queued-instrumented"
    /// An ask of a row that doesn't await, in a tree that exports traces, none of which is sampled.
    case askSampledOut = "ask-sampled-out"
    /// An ask of a row that doesn't await, in a tree that counts the times of asks.
    case askMeasured = "ask-measured"
    /// An ask of a row that doesn't await, in a tree that records each trace, and counts the times of asks.
    case askTraced = "ask-traced"

    /// Runs apart from the main actor, from which calls of other actors are slow.
    @concurrent
    func run(_ count: Int) async throws {
        switch self {
        case .encode: try Coding.encode(count)
        case .decode: try Coding.decode(count)
        case .encodeFrame: Coding.encodeFrames(count)
        case .decodeFrame: try Coding.decodeFrames(count)
        case .mailbox: try await Tree.run(.send, count, levels: 1)
        case .askDirect: try await Tree.run(.ask, count, levels: 1)
        case .askClimbing: try await Tree.run(.ask, count, levels: 4)
        case .askQueued: try await Tree.run(.askAwaiting, count, levels: 1)
        case .askInstrumented: try await Tree.run(.ask, count, levels: 1, [PassThrough()])
        case .askQueuedInstrumented: try await Tree.run(.askAwaiting, count, levels: 1, [PassThrough()])
        case .askSampledOut: try await Tree.run(.ask, count, levels: 1, records: TelemetryConfiguration(sampling: 0, measures: false))
        case .askMeasured: try await Tree.run(.ask, count, levels: 1, records: TelemetryConfiguration(sampling: nil, measures: true))
        case .askTraced: try await Tree.run(.ask, count, levels: 1, records: TelemetryConfiguration(sampling: 1, measures: true))
        }
    }
}
