import Glibc
import Processes
import TestSupport

/// Programs of the system that some tests need.
enum Programs {
    static func have(_ name: String) -> Bool { ["/usr/bin", "/bin"].contains { access("\($0)/\(name)", X_OK) == 0 } }

    /// Returns a directory of `Deploy`.
    static func deploy(_ name: String) -> String { "\(Files.packageRoot)/Deploy/\(name)" }

    /// Returns a file beside the tests.
    static func script(_ name: String) -> String { "\(Files.packageRoot)/Tests/ConsoleTests/\(name)" }

    /// Runs a command of the shell to its end.
    static func shell(_ command: String) async throws -> BuiltProgram.Ended {
        let (output, errors) = (Transcript(), Transcript())
        let specification = ProcessSpecification(
            executable: "/bin/bash",
            arguments: ["-c", command],
            environment: ["PATH": "/usr/bin:/bin", "HOME": "/tmp"],
            standardOutput: output.destination,
            standardError: errors.destination
        )
        let status = try await withChild(specification) { await $0.waitForExit() }
        let code: Int32 =
            switch status {
            case .exited(let code): code
            case .signaled(let signal, _): -signal.rawValue
            }
        return BuiltProgram.Ended(exitCode: code, output: output.text, errors: errors.text)
    }
}
