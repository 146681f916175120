public import Coordinators

/// The messages of the tests of pools.
public enum Press {
    /// Takes the given time, and is answered with the place of the member that has handled it.
    public struct Print: ResponderMessage {
        public typealias Reply = Fixture.Place
        public var number: Int
        public var milliseconds: Int
        public init(_ number: Int, milliseconds: Int = 0) { (self.number, self.milliseconds) = (number, milliseconds) }
    }

    /// Is handled until the notebook reads the line.
    public struct Hold: ResponderMessage {
        public typealias Reply = Fixture.Place
        public var line: String
        public init(until line: String) { self.line = line }
    }

    /// Is answered with the path of the member that has handled it.
    public struct Draw: ResponderMessage {
        public typealias Reply = String
        public var scene: String
        public init(_ scene: String) { self.scene = scene }
    }

    /// Is noted down.
    public struct Note: ResponderMessage {
        public var text: String
        public init(_ text: String) { self.text = text }
    }

    public struct Sheets: ResponderMessage {
        public typealias Reply = Int
        public var last: Int
        public init(_ last: Int) { self.last = last }
    }

    /// Makes the member that gets it fail.
    public struct Jam: ResponderMessage {
        public init() {}
    }

    /// Makes the member that gets it finish.
    public struct Retire: ResponderMessage {
        public init() {}
    }

    /// Has the member ask the coordinators above for an echo.
    public struct AskAbove: ResponderMessage {
        public typealias Reply = String
        public init() {}
    }
}

/// A member of a pool; it handles two messages at a time.
public actor PressCoordinator: Coordinator {
    public typealias Configuration = NotebookConfiguration

    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }

    public static let mailbox = MailboxPolicy(running: 2)

    public static let responders: Responders = [
        .respond(to: Press.Print.self) { me, print in
            me.note("prints \(print.number)")
            if print.milliseconds > 0 { try await me.context.clock.sleep(for: .milliseconds(print.milliseconds)) }
            return .here(me.context)
        },
        .respond(to: Press.Hold.self) { me, hold in
            me.note("holds")
            try await me.notebook.wait(for: hold.line)
            return .here(me.context)
        },
        .respond(to: Press.Draw.self) { me, _ in me.context.path.description },
        .respond(to: Press.Note.self) { me, note in me.notebook.note("note \(note.text)") },
        .stream(Press.Sheets.self) { _, sheets, replies in for number in 1...sheets.last { try await replies.send(number) } },
        .respond(to: Press.Jam.self, interleaves: true) { me, _ in me.context.fail(Fixture.Refusal("jammed")) },
        .respond(to: Press.Retire.self) { me, _ in me.context.finish() },
        .respond(to: Press.AskAbove.self) { me, _ in try await me.context.ask(Fixture.Echo("above"), timeout: .seconds(20)) },
    ]
}

/// Hands messages for presses on to its pool.
public actor PressHall: Coordinator {
    public struct Configuration: NotingConfiguration {
        public var notebook = Notebook()
        public var hasWorkers = false
        public init() {}
    }

    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }

    /// Reads a stream of the pool, as any coordinator below could.
    public struct ReadSheets: ResponderMessage {
        public typealias Reply = [Int]
        public init() {}
    }

    public static let responders: Responders = [
        .respond(to: ReadSheets.self) { me, _ in
            var sheets: [Int] = []
            for try await sheet in me.context.stream(Press.Sheets(1_000)) { sheets.append(sheet) }
            return sheets
        },
        .forward(prefix: "Press.", to: "presses"),
    ]

    public func start() async throws {
        let configuration = context.configuration
        let placement = configuration.hasWorkers ? Placement.worker : .inProcess
        try await context.start(
            PressCoordinator.self,
            as: "presses",
            in: .pool(3, placement, routing: .hashing(\Press.Draw.scene, \Press.Note.text))
        ) { $0.notebook = configuration.notebook }
    }
}
