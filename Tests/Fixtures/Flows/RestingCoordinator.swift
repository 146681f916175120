public import Coordinators

public enum RestingChild {
    public struct Note: ResponderMessage {
        public var number: Int
        public init(_ number: Int) { self.number = number }
    }

    /// Is handled until the notebook reads the line.
    public struct Await: ResponderMessage {
        public var line: String
        public init(_ line: String) { self.line = line }
    }

    /// Has the coordinator be called again and again.
    public struct Tick: ResponderMessage {
        public init() {}
    }

    /// Starts a task that ends when the notebook reads the line.
    public struct Work: ResponderMessage {
        public var line: String
        public init(_ line: String) { self.line = line }
    }

    /// Starts a child that doesn't rest.
    public struct Nest: ResponderMessage {
        public init() {}
    }

    /// Answered without the mailbox.
    public struct Peek: ResponderMessage {
        public typealias Reply = UInt32
        public init() {}
    }
}

/// Ends when it has had nothing to do for a while.
public actor RestingCoordinator: Coordinator {
    public typealias Configuration = NotebookConfiguration

    public static let idleTimeout: Duration? = .milliseconds(40)

    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: RestingChild.Note.self) { me, note in me.note("note \(note.number)") },
        .respond(to: RestingChild.Await.self) { me, wait in
            me.note("waits for \(wait.line)")
            try await me.notebook.wait(for: wait.line)
        },
        .respond(to: RestingChild.Tick.self) { me, _ in me.context.every(.milliseconds(5)) { _ in } },
        .respond(to: RestingChild.Work.self) { me, work in
            let notebook = me.notebook
            me.context.task { try await notebook.wait(for: work.line) }
        },
        .respond(to: RestingChild.Nest.self) { me, _ in try await me.context.start(SmallestCoordinator.self, as: "small") },
        .inline(RestingChild.Peek.self) { me, _ in me.context.incarnation },
    ]

    public func stopped() async { note("stopped") }
}

/// Hands messages on to a coordinator that rests, and opens it when it has gone.
public actor WakingCoordinator: Coordinator {
    public struct Configuration: NotingConfiguration {
        public var notebook = Notebook()
        public var inWorker = false
        public init() {}
    }

    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [.forward(prefix: "RestingChild.", to: "rests")]

    public func open(section: String) async throws {
        let configuration = context.configuration
        note("open")
        try await context.start(RestingCoordinator.self, as: section, in: configuration.inWorker ? .worker : .inProcess) {
            $0.notebook = configuration.notebook
        }
    }
}
