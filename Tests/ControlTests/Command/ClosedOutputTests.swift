import Processes
import TestSupport
import Testing

/// Commands whose output nothing reads any more, under a parent that ignores SIGPIPE, as many programs do.
@Suite("A closed output", .timeLimit(minutes: 1))
struct ClosedOutputTests {
    @Test("top ends when what reads it has ended, for people and as JSON", arguments: ["", "--json"])
    func top(option: String) async throws {
        try await withServer(CoordinatorControlTests.daemon()) { directory, _ in
            let command = "\(BuiltProgram("coordinatorctl").path) --runtime-dir \(directory.path) top --interval 100ms \(option)"
            // One that doesn't end is ended, with the code 124.
            let line = #"(trap "" PIPE; timeout 20 \#(command); echo "exit $?" >&2) | true"#
            let ended = try await BuiltProgram(path: "/bin/sh").run(["-c", line])
            #expect(ended == .init(exitCode: 0, output: "", errors: "exit 0\n"))
        }
    }
}
