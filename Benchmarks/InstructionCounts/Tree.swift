import Coordinators
import Logging

/// A tree in one process, whose lowest coordinator asks or sends what the root answers.
enum Tree {
    static func run(
        _ action: Work.Action,
        _ count: Int,
        levels: Int,
        _ instruments: [any CoordinatorInstrument] = [],
        records configuration: TelemetryConfiguration? = nil
    ) async throws {
        var options = CoordinatorRuntime.Options()
        options.instruments = instruments
        options.exporter = configuration.map(Discarder.init)
        options.logger.logLevel = .critical
        let runtime = CoordinatorRuntime(Root.self, options: options)
        try await runtime.start()
        // Under valgrind everything takes fifty times as long.
        try await runtime.ask(Build(levels: levels), timeout: .seconds(600))
        let path = (0..<levels).reduce(CoordinatorPath.root) { path, _ in path.appending("below") }
        try await runtime.ask(Work(action: action, count: count), at: path, timeout: .seconds(600))
        await runtime.stop()
    }
}

/// What an instrument costs that does nothing.
struct PassThrough: CoordinatorInstrument {
    nonisolated(nonsending) func around<R: Sendable>(
        _ message: MessageInfo,
        next: nonisolated(nonsending) () async throws -> R
    ) async throws -> R { try await next() }

    func around<R: Sendable>(_ message: MessageInfo, next: () throws -> R) throws -> R { try next() }
}

/// What takes telemetry and exports none: the cost of recording it in a process.
private struct Discarder: TelemetryExporter {
    let configuration: TelemetryConfiguration

    func export(_ spans: [MessageSpan], missed: UInt64) {}
    func run(_ source: TelemetrySource) async {}
    func flush(_ source: TelemetrySource) async {}
}

/// Starts coordinators, each the child of the one before.
struct Build: ResponderMessage {
    var levels: Int
}

/// Makes a coordinator ask or send so many times.
struct Work: ResponderMessage {
    enum Action: String, Codable {
        case ask, askAwaiting, send
    }

    var action: Action
    var count: Int
}

/// Answered with the number that it has, by a row that doesn't await.
private struct Echo: ResponderMessage {
    typealias Reply = Int
    var number: Int
}

/// The same, by a row that awaits.
private struct EchoAwaiting: ResponderMessage {
    typealias Reply = Int
    var number: Int
}

private struct Note: ResponderMessage {
    var number: Int
}

private actor Root: Coordinator {
    static let responders: Responders = [
        .respond(to: Echo.self) { _, echo in echo.number },
        .respond(to: EchoAwaiting.self) { _, echo in
            await Root.nothing()
            return echo.number
        },
        .respond(to: Note.self) { me, note in me.last = note.number },
        .respond(to: Build.self) { me, build in
            try await me.context.start(Below.self, as: "below") { $0.levels = build.levels }
        },
    ]

    nonisolated let context: Context
    private var last = 0

    init(_ context: Context) { self.context = context }

    /// What a row awaits that has nothing to wait for.
    @concurrent
    private static func nothing() async {}
}

private actor Below: Coordinator {
    struct Configuration: CoordinatorConfiguration {
        var levels = 1
    }

    static let responders: Responders = [.respond(to: Work.self) { me, work in try await me.perform(work) }]

    nonisolated let context: Context
    private let configuration: Configuration

    init(_ context: Context) {
        self.context = context
        configuration = context.configuration
    }

    func start() async throws {
        guard configuration.levels > 1 else { return }
        try await context.start(Below.self, as: "below") { $0.levels = configuration.levels - 1 }
    }

    private func perform(_ work: Work) async throws {
        switch work.action {
        case .ask: for number in 0..<work.count { _ = try await context.ask(Echo(number: number), timeout: .seconds(600)) }
        case .askAwaiting: for number in 0..<work.count { _ = try await context.ask(EchoAwaiting(number: number), timeout: .seconds(600)) }
        case .send:
            for number in 0..<work.count {
                try await context.send(Note(number: number))
                // The mailbox never fills up: its sender would wait.
                if number % 32 == 31 { _ = try await context.ask(Echo(number: number), timeout: .seconds(600)) }
            }
        }
    }
}
