import TestSupport
import Testing

/// What CONTRIBUTING says of waiting: tests wait for events, and real time passes in one place alone.
@Suite("Sleeps in tests")
struct SleepTests {
    /// The functions by which real time passes, each with a reason; a sleep of a coordinator's clock is that of a manual one in a test.
    private static let places = ["Tests/TestSupport/RealTime.swift", "Tests/Fixtures/Waiting.swift"]
    /// Programs that may sleep: those that a reader of the documentation is shown, those that harm a tree in real time, and the clocks of a
    /// daemon, which follow a file.
    ///
    /// This file and the next one name the calls.
    private static let others = [
        "Tests/DocumentationTests/Snippets/", "Tests/Chaos/", "Tests/TestSupport/SteppedClocks.swift",
        "Tests/DocumentationTests/SleepTests.swift", "Tests/DocumentationTests/WaitingTests.swift",
    ]

    @Test("No test and no fixture sleeps but through realTime(_:because:)")
    func none() {
        let root = Files.packageRoot
        let files = Catalogue.files(below: "\(root)/Tests").map { String($0.dropFirst(root.count + 1)) }
            .filter { !$0.contains("/.build/") }
        #expect(files.count > 300)
        for file in files where !Self.places.contains(file) && !Self.others.contains(where: file.hasPrefix) {
            for (index, line) in (Files.text(of: "\(root)/\(file)") ?? "").split(separator: "\n", omittingEmptySubsequences: false)
                .enumerated()
            where Self.sleeps(line) {
                Issue.record("\(file):\(index + 1) sleeps; wait for an event, or use realTime(_:because:) of TestSupport")
            }
        }
    }

    @Test(
        "A sleep is recognised, and a word that has it in it isn't one",
        arguments: [
            ("try await Task.sleep(for: .seconds(1))", true), ("usleep(1)", true), ("    nanosleep(&time, nil)", true), ("sleep(3)", true),
            ("try await ContinuousClock().sleep(for: .seconds(1))", true), ("context.clock.sleep(until: later)", false),
            ("func sleeper() {}", false),
            ("// Task.sleep(for: .seconds(1))", false), ("oversleep(1)", false), ("case sleep(Duration)", false),
        ]
    )
    func recognition(_ line: String, isSleep: Bool) { #expect(Self.sleeps(line[...]) == isSleep) }

    private static func sleeps(_ line: Substring) -> Bool {
        let code = line.drop { $0 == " " }
        guard !code.hasPrefix("//"), !code.hasPrefix("case ") else { return false }
        let named = ["Task.sleep(", "usleep(", "nanosleep(", "Clock().sleep("].contains(where: code.contains)
        let bare = code.ranges(of: "sleep(").contains { range in
            guard range.lowerBound > code.startIndex else { return true }
            let before = code[code.index(before: range.lowerBound)]
            return !before.isLetter && before != "."
        }
        return named || bare
    }
}
