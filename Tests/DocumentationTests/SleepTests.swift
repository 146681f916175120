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
        for file in Self.files() where !Self.places.contains(file) && !Self.others.contains(where: file.hasPrefix) {
            for (index, line) in Self.lines(of: file).enumerated() where Self.sleeps(line) {
                Issue.record("\(file):\(index + 1) sleeps; wait for an event, or use realTime(_:because:) of TestSupport")
            }
        }
    }

    /// The files that stop processes at random, whatever these do meanwhile, and that of the function itself.
    private static let stops = ["Tests/TestSupport/StoppedProcess.swift", "Tests/CoordinatorsSQLiteTests/FlowChaosTests.swift"]

    @Test("A test that stops a process goes on when it's stopped: a signal isn't more than a wish on a busy machine")
    func stopped() {
        for file in Self.files() where !(Self.stops + Self.others).contains(where: file.hasPrefix) {
            for (index, line) in Self.lines(of: file).enumerated() where line.contains("send(.stop)") || line.contains(", SIGSTOP)") {
                Issue.record("\(file):\(index + 1) sends SIGSTOP; use stopProcess(_:) of TestSupport")
            }
        }
    }

    /// The files with upper bounds that a busy machine could exceed and that aren't tried again, with the number of these bounds.
    private static let bounds: [String: (count: Int, reason: String)] = [
        "Tests/ConcurrencySupportTests/PatientDeadlineTests.swift": (1, "what is left of a time, not how long something took"),
        "Tests/CoordinatorDaemonTests/FileSystemTests.swift": (2, "the end of a daemon, before the time that its children would be given"),
        "Tests/CoordinatorDaemonTests/Programs/HookTests.swift": (1, "hooks without an end, which a stop would wait for"),
        "Tests/CoordinatorDaemonTests/Usage.swift": (1, "nine of ten answers"),
        "Tests/CoordinatorsClusterTests/EtcdCostTests.swift": (1, "half of two hundred claims"),
        "Tests/CoordinatorsClusterTests/Nodes/LinkTests.swift": (1, "that the signal was noticed: pings would find out later"),
        "Tests/CoordinatorsClusterTests/Nodes/LinkTests+Looks.swift": (1, "the limit of a look: pings would find out a second later"),
        "Tests/CoordinatorsClusterTests/Nodes/NodeTests.swift": (
            2, "that a node fences itself before its lease ends is the promise itself"
        ),
        "Tests/CoordinatorsTests/ManualTimeTests.swift": (1, "the fastest of a hundred runs"),
    ]

    @Test("What a busy machine could hold up is tried again: an upper bound below ten seconds is expectPromptly's")
    func hurries() {
        var found: [String: Int] = [:]
        for file in Self.files() where file != "Tests/DocumentationTests/SleepTests.swift" {
            for (index, line) in Self.lines(of: file).enumerated() where Self.hurries(line) {
                found[file, default: 0] += 1
                if Self.bounds[file] == nil {
                    Issue.record("\(file):\(index + 1) has an upper bound; use expectPromptly(within:) of TestSupport")
                }
            }
        }
        #expect(found == Self.bounds.mapValues(\.count))
    }

    @Test(
        "An upper bound is recognised",
        arguments: [
            ("#expect(ContinuousClock.now - began < .seconds(9.5))", true),
            ("#expect(time < .patient(.milliseconds(4_500)), \"late\")", true),
            ("#expect(time <= .seconds(1))", true), ("#expect(time < .patient(limit))", true), ("#expect(time < .seconds(10))", false),
            ("#expect(time > .seconds(1))", false),
            ("// #expect(time < .seconds(1))", false), ("while time < .seconds(1) {", false),
        ]
    )
    func bound(_ line: String, isHurried: Bool) { #expect(Self.hurries(line[...]) == isHurried) }

    private static func hurries(_ line: Substring) -> Bool {
        let code = line.drop { $0 == " " }
        guard code.hasPrefix("#expect(") else { return false }
        // A bound with a name may be any.
        if code.contains(/< \.patient\([a-z]/) { return true }
        guard let bound = code.firstMatch(of: /<=? (?:\.patient\()?\.(seconds|milliseconds)\(([0-9._]+)\)/),
            let number = Double(bound.2.filter { $0 != "_" })
        else { return false }
        return bound.1 == "seconds" ? number < 10 : number < 10_000
    }

    private static func files() -> [String] {
        let root = Files.packageRoot
        let files = Catalogue.files(below: "\(root)/Tests").map { String($0.dropFirst(root.count + 1)) }
            .filter { !$0.contains("/.build/") }
        #expect(files.count > 300)
        return files
    }

    private static func lines(of file: String) -> [Substring] {
        (Files.text(of: "\(Files.packageRoot)/\(file)") ?? "").split(separator: "\n", omittingEmptySubsequences: false)
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
