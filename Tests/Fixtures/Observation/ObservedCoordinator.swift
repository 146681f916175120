public import Coordinators
import Glibc

/// The messages of the tests of instruments, one for each kind of row.
public enum Observed {
    /// Answered by a row that doesn't await, with the trace that is current in it.
    public struct Quick: ResponderMessage {
        public typealias Reply = String
        public init() {}
    }

    /// The same, by a row that awaits.
    public struct Slow: ResponderMessage {
        public typealias Reply = String
        public init() {}
    }

    /// The same, by an inline row.
    public struct Instant: ResponderMessage {
        public typealias Reply = String
        public init() {}
    }

    /// Answered with as many numbers.
    public struct Count: ResponderMessage {
        public typealias Reply = Int
        public var last: Int
        public init(to last: Int) { self.last = last }
    }

    /// Intercepted by the child, and answered by the root.
    public struct Guarded: ResponderMessage {
        public typealias Reply = String
        public init() {}
    }

    /// Answered by the root alone, by a row that doesn't await, with the trace that is current in it.
    public struct Upper: ResponderMessage {
        public typealias Reply = String
        public init() {}
    }

    /// Has the child ask the root, or send to it.
    public struct Climb: ResponderMessage {
        public typealias Reply = String
        public var message: String
        public init(_ message: String) { self.message = message }
    }

    /// As `Fixture.Note`, by a row that awaits.
    public struct NoteSlowly: ResponderMessage {
        public var number: Int
        public init(_ number: Int) { self.number = number }
    }

    /// Ends when the notebook has a line; handled one at a time, by a row that awaits.
    public struct Hold: ResponderMessage {
        public var line: String
        public init(until line: String) { self.line = line }
    }

    /// The same, by a row that doesn't await, and so blocks its thread.
    public struct Block: ResponderMessage {
        public var line: String
        public init(until line: String) { self.line = line }
    }

    /// Asks for what the instrument of the worker's process has noted down.
    public struct Lines: ResponderMessage {
        public typealias Reply = [String]
        public init() {}
    }

    /// Has the child send an event.
    public struct Tell: ResponderMessage {
        public var number: Int
        public init(_ number: Int) { self.number = number }
    }

    /// Asks the root for the events that it has observed.
    public struct Events: ResponderMessage {
        public typealias Reply = [String]
        public init() {}
    }
}

/// A coordinator with a row of each kind.
public actor ObservedCoordinator: Coordinator {
    public typealias Event = Int

    public typealias Configuration = NotebookConfiguration

    public nonisolated let context: Context
    private var notes: [Int] = []

    public init(_ context: Context) {
        self.context = context
        Recorder.ofProcess.noteFlush(in: context.configuration.notebook)
    }

    public static let responders: Responders = [
        .respond(to: Observed.Quick.self) { _, _ in TraceContext.current?.traceparent ?? "" },
        .respond(to: Observed.Slow.self) { _, _ in
            await Task.yield()
            return TraceContext.current?.traceparent ?? ""
        },
        .inline(Observed.Instant.self) { _, _ in TraceContext.current?.traceparent ?? "" },
        .stream(Observed.Count.self) { _, count, replies in for number in 1...count.last { try await replies.send(number) } },
        .intercept(Observed.Guarded.self) { _, guarded, chain in try await chain.next(guarded) },
        .respond(to: Observed.Climb.self) { me, climb in
            switch climb.message {
            case "ask": return try await me.context.ask(Observed.Upper())
            case "send": return "\(try await me.context.send(Observed.Upper()))"
            case "count":
                var last = 0
                for try await number in me.context.stream(Observed.Count(to: 3)) { last = number }
                return "\(last)"
            default: return try await me.context.ask(Observed.Guarded())
            }
        },
        .respond(to: Fixture.Refuse.self) { _, _ in throw Fixture.Refusal("broken") },
        .respond(to: Fixture.Note.self) { me, note in me.notes.append(note.number) },
        .respond(to: Observed.NoteSlowly.self) { me, note in
            me.notes.append(note.number)
            await Task.yield()
        },
        .respond(to: Fixture.Notes.self) { me, _ in me.notes },
        .respond(to: Observed.Hold.self) { me, hold in try await me.notebook.wait(for: hold.line) },
        .respond(to: Observed.Block.self) { me, block in
            me.notebook.note("blocks")
            me.notebook.block(until: block.line)
        },
        .respond(to: Observed.Lines.self) { _, _ in Recorder.ofProcess.all },
        .respond(to: Fixture.Fail.self) { me, _ in me.context.fail(Fixture.Refusal("broken")) },
        .respond(to: Observed.Tell.self) { me, tell in me.context.delegates.tell(tell.number) },
    ]
}

/// The same coordinator, which handles one message at a time.
public actor ObservedSerially: Coordinator {
    public typealias Configuration = NotebookConfiguration

    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public static let mailbox = MailboxPolicy(running: 1)

    public static let responders: Responders = [
        .respond(to: Observed.Hold.self) { me, hold in try await me.notebook.wait(for: hold.line) },
        .respond(to: Fixture.Fail.self, interleaves: true) { me, _ in
            await Task.yield()
            me.context.fail(Fixture.Refusal("broken"))
        },
    ]
}

/// The root above them.
public actor ObservedRoot: Coordinator {
    public struct Configuration: CoordinatorConfiguration {
        public var notebook = Notebook()
        public var isInWorker = false
        /// Whether the child is a pool.
        public var isPool = false
        public var isSerial = false
        public var restartSeconds = 0
        public init() {}
    }

    public nonisolated let context: Context
    private var events: [String] = []

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: Observed.Upper.self) { _, _ in TraceContext.current?.traceparent ?? "" },
        .respond(to: Observed.Guarded.self) { _, _ in TraceContext.current?.traceparent ?? "" },
        .respond(to: Observed.Events.self) { me, _ in me.events },
        .observe(ObservedCoordinator.self) { me, child, event in me.events.append("\(child.path) \(event)") },
    ]

    public func start() async throws {
        let configuration = context.configuration
        let backoff = Backoff(minimum: .seconds(configuration.restartSeconds), maximum: .seconds(configuration.restartSeconds))
        try context.supervise(
            by: SupervisionPolicy(
                .oneForOne,
                intensity: 100,
                period: .seconds(1),
                backoff: configuration.restartSeconds > 0 ? backoff : .none
            )
        )
        let placement: Placement = configuration.isInWorker ? .worker : .inProcess
        if configuration.isPool {
            try await context.start(ObservedCoordinator.self, as: "child", in: .pool(2, placement))
        } else if configuration.isSerial {
            try await context.start(ObservedSerially.self, as: "child", in: placement) { $0.notebook = configuration.notebook }
        } else {
            try await context.start(ObservedCoordinator.self, as: "child", in: placement) { $0.notebook = configuration.notebook }
        }
    }
}
