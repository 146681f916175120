public import Coordinators

/// A coordinator that writes down what its hooks go through and does what it's told.
public actor LifeChild: Coordinator {
    public typealias Output = String

    public enum Page: Codable, Sendable, Equatable {
        case step(Int)
    }

    public struct Configuration: CoordinatorConfiguration {
        public var greeting = "hello"
        public var journal = Notebook()
        public var opening = Life.Opening.plain
        /// Its hooks take a while, so that a call that returns too early is caught.
        public var isSlow = false
        /// Its stop hook never returns.
        public var ignoresStop = false
        /// Its pause hook never returns.
        public var ignoresPause = false
        public init() {}
    }

    public nonisolated let context: Context
    let configuration: Configuration
    var greetingAtStart = ""
    var counted = 0
    var ballast: [UInt8] = []

    public init(_ context: Context) {
        self.context = context
        configuration = context.configuration
        LiveInstances.add(1, of: context.configuration.greeting)
    }

    deinit { LiveInstances.add(-1, of: configuration.greeting) }

    public static let supervision = SupervisionPolicy(.oneForOne, intensity: 1_000, period: .seconds(1), backoff: .none)

    public static let responders: Responders = [
        .respond(to: Fixture.WhereAmI.self) { me, _ in .here(me.context) },
        .respond(to: Life.Do.self) { me, request in try await me.perform(request.action) },
    ]

    public func start() async throws {
        switch configuration.opening {
        case .plain:
            break
        case .refuses:
            throw Fixture.Refusal("won't start")
        case .refusesWhenTold:
            if SharedFile.exists("\(configuration.journal.file).refuses") { throw Fixture.Refusal("won't start") }
        case .hangsWhenTold:
            let file = "\(configuration.journal.file).hangs"
            guard SharedFile.exists(file) else { break }
            write("hangs")
            try await SharedFile.wait(for: file, isThere: false)
        case .refusesOpaquely:
            throw Fixture.LocalRefusal()
        case .hangs:
            try await Fixture.untilCancelled()
        case .passesGate:
            try await context.ask(Life.PassGate(), timeout: .seconds(60))
        case .asksWhetherItIsKnown:
            let isKnown = try await context.ask(Life.Knows(context.path.key), timeout: .seconds(20))
            write("known \(isKnown)")
        case .finishes:
            context.finish(configuration.greeting)
        }
        greetingAtStart = configuration.greeting
        await takeTime()
        write("start \(context.path)")
    }

    public func stopped() async {
        await takeTime()
        write("stop \(context.path)")
        if configuration.ignoresStop { await Fixture.forever() }
    }

    public func paused() async {
        await takeTime()
        write("pause \(context.path)")
        if configuration.ignoresPause { await Fixture.forever() }
    }

    public func resumed() async {
        await takeTime()
        write("resume \(context.path)")
    }

    /// A deep link leads to a child that isn't there: it's started.
    public func open(section: String) async throws {
        try await startChild(section, .inProcess)
    }

    func write(_ line: String) { configuration.journal.note(line) }

    private func takeTime() async {
        guard configuration.isSlow else { return }
        // In a task of its own: a hook that is cancelled takes its time all the same.
        await Task { try? await Fixture.realTime(.milliseconds(30), because: "a call that returns before its hook has ended is caught") }
            .value
    }
}
