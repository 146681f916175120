import Coordinators
import Fixtures
import TestSupport
import Testing

/// The interface alone shows a Codable value behind it.
private protocol Greeting: Sendable { var text: String { get } }

private struct Hello: Greeting, Codable { var text = "hello" }

extension DependencyKeys {
    fileprivate var greeting: DependencyKey<any Greeting> { .init("Test.Greeting") }
    fileprivate var plain: DependencyKey<String> { .init("Test.Plain") }
}

@Suite("Dependencies that can't cross", .timeLimit(minutes: 3))
struct StayingDependencyTests {
    @Test("A dependency that doesn't reach workers is named in the log, once")
    func named() async throws {
        let log = RecordedLog()
        var options = Support.options
        options.logger = log.logger
        options.dependencies.greeting = Hello()
        options.dependencies.plain = "plain"
        try await withRoot("a", "b", in: .worker, options: options) { _ in
            try await eventually("it's logged") { log.lines.contains { $0.contains("Test.") } }
        }
        let told = log.lines.filter { $0.contains("Test.") }
        #expect(told.count == 1)
        #expect(told.first?.contains("dependency=Test.Greeting") == true)
    }
}
