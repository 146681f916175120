public import Coordinators

/// The messages that a switchboard hands on to its desk.
public enum Desk {
    /// Answered with what the desk knows of the message.
    public struct Origin: ResponderMessage {
        public typealias Reply = Fixture.Origin
        public init() {}
    }

    public struct Note: ResponderMessage {
        public var number: Int
        public init(_ number: Int) { self.number = number }
    }

    public struct Notes: ResponderMessage {
        public typealias Reply = [Int]
        public init() {}
    }

    public struct Ticks: ResponderMessage {
        public typealias Reply = Int
        public var last: Int
        public init(_ last: Int) { self.last = last }
    }

    public struct Refuse: ResponderMessage {
        public init() {}
    }

    /// Ends when it's cancelled.
    public struct Hold: ResponderMessage {
        public init() {}
    }

    /// No coordinator has a row for it.
    public struct Unknown: ResponderMessage {
        public init() {}
    }
}

/// Handed on by its type.
public struct DeskBell: ResponderMessage {
    public typealias Reply = String
    public init() {}
}

/// Handed on to the first desk that there is.
public enum AnyDesk {
    public struct Path: ResponderMessage {
        public typealias Reply = String
        public init() {}
    }
}

public enum Switchboard {
    /// Keeps the switchboard busy until the notebook reads the line.
    public struct Await: ResponderMessage {
        public var line: String
        public init(_ line: String) { self.line = line }
    }
}

/// Starts a caller and a desk where its configuration says, and hands on what is for the desk; it handles one message at a time.
public actor SwitchboardCoordinator: Coordinator {
    public struct Configuration: NotingConfiguration {
        public var notebook = Notebook()
        public var hasCallerInWorker = false
        public var hasDeskInWorker = false
        public var startsDesk = true
        public init() {}
    }

    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public static let supervision = SupervisionPolicy(.oneForOne, intensity: 1_000, period: .seconds(1), backoff: .none)
    public static let mailbox = MailboxPolicy(running: 1)

    public static let responders: Responders = [
        .respond(to: Switchboard.Await.self) { me, wait in
            me.note("busy")
            try await me.notebook.wait(for: wait.line)
        },
        .forward(DeskBell.self, to: "desk"),
        .forward(prefix: "Desk.", to: "desk"),
        .forward(prefix: "AnyDesk.", to: DeskCoordinator.self),
    ]

    public func start() async throws {
        let inWorker = context.configuration.hasCallerInWorker
        try await context.start(CallerCoordinator.self, as: "caller", in: inWorker ? .worker : .inProcess)
        if context.configuration.startsDesk { try await startDesk() }
    }

    public func open(section: String) async throws {
        note("open \(section)")
        try await notebook.wait(for: "opening ends")
        if notebook.reads("there is no desk") { throw Fixture.Refusal("no desk") }
        try await startDesk()
    }

    private func startDesk() async throws {
        let notebook = notebook
        try await context.start(DeskCoordinator.self, as: "desk", in: context.configuration.hasDeskInWorker ? .worker : .inProcess) {
            $0.notebook = notebook
        }
    }
}

/// Answers what is handed on to it.
public actor DeskCoordinator: Coordinator {
    public typealias Configuration = NotebookConfiguration

    public nonisolated let context: Context
    private var numbers: [Int] = []

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: Desk.Origin.self) { _, _, context in Fixture.Origin(context) },
        .respond(to: Desk.Note.self) { me, note in me.numbers.append(note.number) },
        .respond(to: Desk.Notes.self) { me, _ in me.numbers },
        .stream(Desk.Ticks.self) { me, ticks, replies in for number in 1...ticks.last { try await replies.send(number) } },
        .respond(to: Desk.Refuse.self) { _, _ in throw Fixture.Refusal("not at this desk") },
        .respond(to: Desk.Hold.self) { me, _ in
            me.note("holds")
            do {
                try await Fixture.untilCancelled()
            } catch {
                me.note("cancelled")
                throw error
            }
        },
        .respond(to: DeskBell.self) { me, _ in "\(me.context.path) rings" },
        .respond(to: AnyDesk.Path.self) { me, _ in me.context.path.description },
    ]
}

/// Calls the desk without knowing of it.
public actor CallerCoordinator: Coordinator {
    public enum Call: Codable, Sendable {
        case origin, bell, path, refuse, unknown, hold
        case ticks(Int)
        case notes(Int)
    }

    public struct Make: ResponderMessage {
        public typealias Reply = String
        public var call: Call
        public init(_ call: Call) { self.call = call }
    }

    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: Make.self) { me, make in
            do {
                return try await me.make(make.call)
            } catch let error as CoordinatorError {
                return "\(error.code)"
            } catch {
                return Fixture.Refusal.reason(of: error)
            }
        }
    ]

    private func make(_ call: Call) async throws -> String {
        switch call {
        case .origin:
            let origin = try await TraceContext.$current.withValue(TraceContext(traceparent: "00-call")) {
                try await context.ask(Desk.Origin(), timeout: .seconds(40))
            }
            let isInTime = (20_000...40_000).contains(origin.remainingMilliseconds ?? 0)
            return "\(origin.sender), \(isInTime), \(origin.trace ?? "no trace")"
        case .bell: return try await context.ask(DeskBell(), timeout: .seconds(20))
        case .path: return try await context.ask(AnyDesk.Path(), timeout: .seconds(20))
        case .refuse:
            try await context.ask(Desk.Refuse(), timeout: .seconds(20))
            return "accepted"
        case .unknown:
            if try await context.send(Desk.Unknown()) { return "sent" }
            try await context.ask(Desk.Unknown(), timeout: .seconds(20))
            return "accepted"
        case .hold:
            try await context.ask(Desk.Hold(), timeout: .milliseconds(300))
            return "held"
        case .ticks(let last):
            var numbers: [Int] = []
            for try await number in context.stream(Desk.Ticks(last)) { numbers.append(number) }
            return numbers == Array(1...last) ? "all" : "\(numbers)"
        case .notes(let count):
            for number in 0..<count where try await !context.send(Desk.Note(number)) { return "not sent" }
            let numbers = try await context.ask(Desk.Notes(), timeout: .seconds(20))
            return numbers == Array(0..<count) ? "all" : "\(numbers)"
        }
    }
}
