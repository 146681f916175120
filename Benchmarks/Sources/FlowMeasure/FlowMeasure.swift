import CMalloc
import Coordinators
import CoordinatorsSQLite
import Glibc
import Synchronization

/// Measures durable flows, or raw transactions on the same kind of store, in a file of its own in a directory that lies on a disk.
///
/// It prints a line for each figure, with its name and its value. Times are in nanoseconds, sizes in bytes.
@main
struct FlowMeasure {
    static func main() async throws {
        guard CommandLine.arguments.count == 3 else {
            print("usage: FlowMeasure raw|flows|open DIRECTORY")
            exit(64)
        }
        var template = Array("\(CommandLine.arguments[2])/flows-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { fatalError("no directory can be made in \(CommandLine.arguments[2])") }
        let directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer {
            for name in ["raw", "flows", "open"] {
                for suffix in ["", "-wal", "-journal", "-shm"] { unlink("\(directory)/\(name).sqlite\(suffix)") }
            }
            rmdir(directory)
        }
        switch CommandLine.arguments[1] {
        case "raw": try raw(directory)
        case "flows": try await flows(directory)
        default: try await open(directory)
        }
    }

    /// The bytes of a row like those of the flows below, half of whose pages are done.
    private static let record = [UInt8](repeating: 0x61, count: 570)

    private static func tell(_ name: String, _ value: Double) { print("\(name) \(value)") }

    private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    // MARK: Raw transactions

    private static func raw(_ directory: String) throws {
        let database = try Database(path: "\(directory)/raw.sqlite")
        try database.execute("PRAGMA locking_mode = EXCLUSIVE")
        _ = try database.rows("PRAGMA journal_mode = WAL") { $0.text(0) }
        try database.execute("PRAGMA synchronous = FULL")
        try database.execute("PRAGMA wal_autocheckpoint = 4096")
        try database.execute("CREATE TABLE flow(key TEXT PRIMARY KEY, seq INTEGER, record BLOB) WITHOUT ROWID")
        for key in 0..<256 { try database.execute("INSERT INTO flow VALUES (\("\(key)"), 0, \(record))") }
        func update(_ key: Int) throws { try database.execute("UPDATE flow SET seq = seq + 1, record = \(record) WHERE key = \("\(key)")") }
        var times: [Double] = []
        for _ in 0..<2_000 {
            let start = ContinuousClock.now
            try database.execute("BEGIN IMMEDIATE")
            try update(0)
            try database.execute("COMMIT")
            times.append((ContinuousClock.now - start) / .nanoseconds(1))
        }
        tell("lone", median(times))
        let start = ContinuousClock.now
        let groups = 1_600
        for group in 0..<groups {
            try database.execute("BEGIN IMMEDIATE")
            for flow in 0..<64 { try update((group * 64 + flow) % 256) }
            try database.execute("COMMIT")
        }
        tell("steps", Double(groups * 64) / ((ContinuousClock.now - start) / .seconds(1)))
    }

    // MARK: Flows

    private static func flows(_ directory: String) async throws {
        Root.store.withLock { $0 = .sqlite(at: "\(directory)/flows.sqlite") }
        let runtime = try await start()
        _ = try await runtime.ask(Run(flows: 16, steps: 10, first: "w"), at: "/")
        // One after the other: the time from one page to the next of the same flow.
        var times: [Double] = []
        for flow in 0..<100 {
            Steps.times.withLock { $0 = [] }
            _ = try await runtime.ask(Run(flows: 1, steps: 20, first: "l\(flow)-"), at: "/")
            let begun = Steps.times.withLock { $0 }
            times += zip(begun.dropFirst(), begun).map { ($0 - $1) / .nanoseconds(1) }
        }
        tell("lone", median(times))
        let start = ContinuousClock.now
        // Long enough for the speed that lasts: the first rounds are slower by a fifth.
        let rounds = 20
        for round in 0..<rounds { _ = try await runtime.ask(Run(flows: 256, steps: 20, first: "m\(round)-"), at: "/") }
        tell("steps", Double(rounds * 256 * 20) / ((ContinuousClock.now - start) / .seconds(1)))
        await runtime.stop()
    }

    /// Opens a store of ten thousand flows that wait, of which a hundred have work.
    private static func open(_ directory: String) async throws {
        Root.store.withLock { $0 = .sqlite(at: "\(directory)/open.sqlite") }
        var runtime = try await start()
        // By then SQLite's cache of pages is as large as it gets.
        _ = try await runtime.ask(Begin(waiting: 5_000, working: 0), at: "/")
        let former = mallinfo2()
        _ = try await runtime.ask(Begin(waiting: 4_900, working: 0, first: "v"), at: "/")
        let latter = mallinfo2()
        let bytes = Double(latter.uordblks + latter.hblkhd) - Double(former.uordblks + former.hblkhd)
        tell("sleeping", max(bytes / 4_900, 0))
        _ = try await runtime.ask(Begin(waiting: 0, working: 100), at: "/")
        await runtime.stop()
        Steps.begun.withLock { $0 = 0 }
        let start = ContinuousClock.now
        runtime = try await Self.start()
        _ = try await runtime.ask(Poke(key: "w7"), at: "/")
        tell("answering", (ContinuousClock.now - start) / .nanoseconds(1))
        while Steps.begun.withLock({ $0 }) < 100 { usleep(1_000) }
        tell("begun", (ContinuousClock.now - start) / .nanoseconds(1))
        tell("live", Double(try await runtime.ask(Count(), at: "/")))
        await runtime.stop()
    }

    private static func start() async throws -> CoordinatorRuntime {
        var options = CoordinatorRuntime.Options()
        options.logger.logLevel = .critical
        let runtime = CoordinatorRuntime(Root.self, configuration: NoConfiguration(), options: options)
        try await runtime.start()
        return runtime
    }
}

struct Run: ResponderMessage {
    typealias Reply = Int
    static var timeout: Duration { .seconds(300) }
    var flows, steps: Int
    var first: String
}

struct Begin: ResponderMessage {
    typealias Reply = Int
    static var timeout: Duration { .seconds(300) }
    var waiting, working: Int
    var first = "w"
}

struct Poke: ResponderMessage {
    typealias Reply = Int
    static var timeout: Duration { .seconds(60) }
    var key: String
}

struct Count: ResponderMessage { typealias Reply = Int }

enum Steps {
    static let times = Mutex<[ContinuousClock.Instant]>([])
    static let begun = Mutex(0)
}

actor Root: Coordinator {
    static let store = Mutex<FlowStore?>(nil)

    let context: Context
    init(_ context: Context) { self.context = context }

    func start() async throws {
        if let store = Self.store.withLock({ $0 }) { await context.provide(\.flows, store) }
    }

    func open(section key: String) async throws { try await context.resume(Stepper.self, as: key) }

    static let responders: Responders = [
        .forward(Poke.self) { $0.key },
        .respond(to: Count.self) { me, _ in me.context.children.count },
        .respond(to: Run.self) { me, run in
            let context = me.context
            try await withThrowingTaskGroup(of: Void.self) { group in
                for flow in 0..<run.flows {
                    group.addTask {
                        _ = try await context.run(Stepper.self, as: "\(run.first)\(flow)", with: Stepper.Plan(steps: run.steps))
                    }
                }
                try await group.waitForAll()
            }
            return run.flows
        },
        .respond(to: Begin.self) { me, begin in
            let context = me.context
            for group in stride(from: 0, to: begin.waiting, by: 100) {
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for flow in group..<min(group + 100, begin.waiting) {
                        tasks.addTask {
                            try await context.start(
                                Stepper.self,
                                as: "\(begin.first)\(flow)",
                                restart: .transient,
                                with: Stepper.Plan(steps: -1)
                            )
                            // It sleeps.
                            try await context.remove("\(begin.first)\(flow)")
                        }
                    }
                    try await tasks.waitForAll()
                }
            }
            for flow in 0..<begin.working {
                try await context.start(Stepper.self, as: "b\(flow)", restart: .transient, with: Stepper.Plan(steps: 0))
            }
            return begin.waiting
        },
    ]
}

/// A flow of so many steps that do nothing; 0: its page is never done; -1: it has no page.
actor Stepper: DurableCoordinator {
    struct Plan: Codable, Sendable { var steps: Int }
    struct State: Codable, Sendable {
        var name = "a flow with a state of a usual size, which has a few fields of text and some numbers in it"
        var note = "and some more text, so that a row has some four hundred bytes, as that of an order would have"
        var total = 0
    }
    typealias Configuration = Plan
    typealias Page = Int

    let context: Context
    init(_ context: Context) { self.context = context }

    static func begin(_ plan: Plan) -> (State, Int?) { (State(), plan.steps < 0 ? nil : 1) }

    func perform(_ page: Int, _ step: Step) async throws -> Change {
        Steps.times.withLock { $0.append(.now) }
        let steps = context.configuration.steps
        if steps == 0 {
            Steps.begun.withLock { $0 += 1 }
            try await Task.sleep(for: .seconds(600))
        }
        return .commit { flow in
            flow.state.total += 1
            if page < steps { flow.show(page + 1) } else { flow.finish(NoOutput()) }
        }
    }

    static let responders: Responders = [.change(Poke.self) { flow, _ in flow.state.total }]
}
