public import Coordinators
import Glibc

/// A coordinator that writes down what its hooks go through and does what it's told.
public actor LifeChild: Coordinator {
    public typealias Output = String

    public enum Page: Codable, Sendable, Equatable {
        case step(Int)
    }

    public struct Configuration: CoordinatorConfiguration {
        public var greeting = "hello"
        public var journal = Journal()
        public var opening = Life.Opening.plain
        /// Its hooks take a while, so that a call that returns too early is caught.
        public var isSlow = false
        /// Its stop hook outlasts every grace.
        public var ignoresStop = false
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
        LifeInstances.add(1, of: context.configuration.greeting)
    }

    deinit { LifeInstances.add(-1, of: configuration.greeting) }

    public static let supervision = SupervisionPolicy(.oneForOne, intensity: 1_000, period: .seconds(1), backoff: .none)

    public static let responders: Responders = [
        .respond(to: WhereAmI.self) { me, _ in .here(me.context) },
        .respond(to: Life.Do.self) { me, request in try await me.perform(request.action) },
    ]

    public func start() async throws {
        switch configuration.opening {
        case .plain:
            break
        case .refuses:
            throw Life.Refusal("won't start")
        case .refusesWhenTold:
            if access("\(configuration.journal.path).refuses", F_OK) == 0 { throw Life.Refusal("won't start") }
        case .hangsWhenTold:
            while access("\(configuration.journal.path).hangs", F_OK) == 0 {
                write("hangs")
                try await Task.sleep(for: .milliseconds(50))
            }
        case .refusesOpaquely:
            throw Life.OpaqueRefusal()
        case .hangs:
            try await Task.sleep(for: .seconds(600))
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
        // A task of its own, which isn't cancelled; eight seconds are longer than the tests' grace.
        if configuration.ignoresStop { await Task { try? await Task.sleep(for: .seconds(8)) }.value }
    }

    public func paused() async {
        await takeTime()
        write("pause \(context.path)")
    }

    public func resumed() async {
        await takeTime()
        write("resume \(context.path)")
    }

    /// A deep link leads to a child that isn't there: it's started.
    public func open(section: String) async throws {
        try await startChild(section, .inProcess)
    }

    func write(_ line: String) { configuration.journal.write(line) }

    private func takeTime() async {
        // In a task of its own: a hook that is cancelled takes its time all the same.
        if configuration.isSlow { await Task { try? await Task.sleep(for: .milliseconds(30)) }.value }
    }
}
