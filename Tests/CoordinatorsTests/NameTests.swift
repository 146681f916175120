import Coordinators
import Fixtures
import TestSupport
import Testing

/// Tests that a name that no link can carry fails its own message, and no other one on the link.
@Suite("Names", .serialized, .timeLimit(minutes: 2))
struct NameTests {
    @Test("A path and a message's name that are too long fail alone, and a slow ask on the same link is answered")
    func longNames() async throws {
        try await withRoot("child", in: .worker) { runtime in
            let slow = Task { try await runtime.perform(.workHard(milliseconds: 1_500), at: "/child", timeout: .seconds(60)) }
            let before = try await runtime.ask(Fixture.WhereAmI(), at: "/child", timeout: .seconds(20))
            let long = String(repeating: "k", count: 1_025)
            let path = try #require(CoordinatorPath("/child/" + long))
            await expect(.noSuchPath) { _ = try await runtime.snapshot(of: path) }
            await expect(.noSuchPath) { _ = try await runtime.ask(Fixture.WhereAmI(), at: path) }
            await expect(.noSuchPath) { _ = try await runtime.stop(path) }
            let name = String(repeating: "n", count: 1_100)
            await expect(.messageTooLarge) { _ = try await runtime.ask(named: name, payload: [:], at: "/child") }
            #expect(try await slow.value == "done")
            let after = try await runtime.ask(Fixture.WhereAmI(), at: "/child", timeout: .seconds(20))
            #expect(before == after)
        }
    }

    @Test("Keys that can't be part of a path are refused", arguments: Where.allCases)
    func keys(_ place: Where) async throws {
        try await withRoot { runtime in
            for key in [
                "", "a/b", "a\nb", "a\u{1B}[31m", "a\u{7F}", "a\u{2028}", "a\u{202E}b", String(repeating: "k", count: 256),
                String(repeating: "ü", count: 128),
            ] {
                await expect(.invalidKey) { try await runtime.startChild(key, place) }
            }
            let longest = String(repeating: "k", count: 255)
            for key in ["a b", "ü", "日本", longest] { try await runtime.startChild(key, place) }
            // Each process has to be able to name what is below it.
            var path = try #require(CoordinatorPath("/" + longest))
            for _ in 0..<3 {
                _ = try await runtime.perform(.startGrandchild(String(longest.dropLast()), inWorker: false), at: path)
                path = path.appending(String(longest.dropLast()))
            }
            #expect(path.description.utf8.count == 1_021)
            await expect(.invalidKey) { _ = try await runtime.perform(.startGrandchild("abc", inWorker: false), at: path) }
            _ = try await runtime.perform(.startGrandchild("ab", inWorker: false), at: path)
            #expect(try await runtime.ask(Fixture.WhereAmI(), at: path.appending("ab"), timeout: .seconds(20)).path.utf8.count == 1_024)
        }
    }
}
