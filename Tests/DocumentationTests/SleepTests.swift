import TestSupport
import Testing

/// What CONTRIBUTING says of waiting: tests wait for events, and real time passes in one place alone.
@Suite("Sleeps in tests")
struct SleepTests {
    /// The functions of TestSupport by which real time passes, each with a reason.
    private static let place = "Tests/TestSupport/RealTime.swift"
    /// What a reader of the documentation is shown, whose programs may sleep.
    private static let shown = "Tests/DocumentationTests/Snippets/"

    @Test("No test and no fixture sleeps but through realTime(_:because:)")
    func none() {
        let root = Files.packageRoot
        let files = Catalogue.files(below: "\(root)/Tests").map { String($0.dropFirst(root.count + 1)) }
        #expect(files.count > 300)
        for file in files where file != Self.place && !file.hasPrefix(Self.shown) {
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
            ("try await ContinuousClock().sleep(for: .seconds(1))", true), ("clock.sleep(until: later)", true),
            ("func sleeper() {}", false),
            ("// Task.sleep(for: .seconds(1))", false), ("oversleep(1)", false), ("case sleep(Duration)", false),
        ]
    )
    func recognition(_ line: String, isSleep: Bool) { #expect(Self.sleeps(line[...]) == isSleep) }

    private static func sleeps(_ line: Substring) -> Bool {
        let code = line.drop { $0 == " " }
        guard !code.hasPrefix("//"), !code.hasPrefix("case ") else { return false }
        return ["sleep(", "usleep(", "nanosleep("].contains { call in
            code.ranges(of: call).contains { range in
                range.lowerBound == code.startIndex || !(code[code.index(before: range.lowerBound)].isLetter)
            }
        }
    }
}
