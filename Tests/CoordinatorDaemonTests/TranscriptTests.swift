import Glibc
import Processes
import TestSupport
import Testing

/// Every command of `coordinatorctl` on the running shop, and what is written about them.
@Suite(.timeLimit(minutes: 5)) struct TranscriptTests {
    private static let python = getenv("COORDINATORS_TEST_PYTHON").map { String(cString: $0) }

    private static func run(_ arguments: [String]) async throws -> (Processes.ExitStatus, String) {
        let output = Transcript()
        let path = getenv("PATH").map { ":" + String(cString: $0) } ?? ""
        let specification = ProcessSpecification(
            executable: python ?? "/usr/bin/python3",
            arguments: arguments,
            environment: ["PATH": "/usr/bin:/bin\(path)", "HOME": "/tmp"].merging(Sanitizer.environment) { given, _ in given },
            standardOutput: output.destination,
            standardError: .sameAsOutput
        )
        return try await withChild(specification) { (await $0.waitForExit(), output.text) }
    }

    private static var built: String {
        let path = RunningDaemon.coordinatord.path
        return String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    }

    @Test(
        "Each command answers on the running shop, and on an operator's first day, for people and as JSON of its schema, with the expected exit code",
        .enabled(if: python != nil, "COORDINATORS_TEST_PYTHON names a Python that has the packages jsonschema and pyte"),
        arguments: ["shop", "day"]
    )
    func transcript(part: String) async throws {
        let (status, text) = try await Self.run(["\(Files.packageRoot)/Tests/Transcript/transcript.py", Self.built, part])
        print(text)
        #expect(status == .exited(code: 0))
        #expect(text.components("!!!").isEmpty, "the transcript names the failures")
    }

    @Test(
        "The manual pages say what the commands say about themselves, and the schemas what the types of answers do",
        arguments: ["manual", "schemas"]
    )
    func written(_ script: String) async throws {
        let (status, text) = try await Self.run(["\(Files.packageRoot)/Deploy/\(script)", "--check", Self.built])
        #expect(status == .exited(code: 0), "\(text)")
    }
}

extension String {
    /// The lines that begin with a mark.
    fileprivate func components(_ mark: String) -> [Substring] { split(separator: "\n").filter { $0.hasPrefix(mark) } }
}
