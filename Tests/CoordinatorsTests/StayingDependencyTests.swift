import Coordinators
import CoordinatorsTesting
import Fixtures
import Logging
import Synchronization
import TestSupport
import Testing

/// Remembers what is logged at warning and above.
private struct Recorder: LogHandler {
    final class Lines: Sendable {
        let all = Mutex<[String]>([])
        var told: [String] { all.withLock { $0 }.filter { $0.contains("Test.") } }
    }

    let lines: Lines
    var metadataProvider: Logger.MetadataProvider?
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.warning

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        lines.all.withLock { $0.append("\(event.message) \(event.metadata?["dependency"].map { "\($0)" } ?? "")") }
    }
}

/// Whoever looks at the interface alone sees a Codable value behind it.
private protocol Greeting: Sendable { var text: String { get } }

private struct Hello: Greeting, Codable { var text = "hello" }

private enum GreetingKey: DependencyKey {
    typealias Value = any Greeting
    static let name = "Test.Greeting"
}

private enum PlainKey: DependencyKey {
    typealias Value = String
    static let name = "Test.Plain"
}

extension Dependencies {
    fileprivate var greeting: (any Greeting)? {
        get { self[GreetingKey.self] }
        set { self[GreetingKey.self] = newValue }
    }

    fileprivate var plain: String? {
        get { self[PlainKey.self] }
        set { self[PlainKey.self] = newValue }
    }
}

@Suite("Dependencies that can't cross", .timeLimit(.minutes(3)))
struct StayingDependencyTests {
    @Test("What doesn't reach workers is named in the log, once")
    func named() async throws {
        let lines = Recorder.Lines()
        var options = Support.options
        options.logger = Logger(label: "test") { _ in Recorder(lines: lines) }
        options.dependencies.greeting = Hello()
        options.dependencies.plain = "plain"
        try await withRuntime(RootCoordinator.self, options: options) { runtime in
            for key in ["a", "b"] { try await runtime.startChild(key, .worker) }
            try await eventually("it's logged") { lines.told.isEmpty == false }
        }
        #expect(lines.told.count == 1)
        #expect(lines.told.first?.hasSuffix("Test.Greeting") == true)
    }
}
