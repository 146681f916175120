import Glibc
import TestSupport

/// Programs of the system that some tests need.
enum Programs {
    static func have(_ name: String) -> Bool { ["/usr/bin", "/bin"].contains { access("\($0)/\(name)", X_OK) == 0 } }

    /// Returns a directory of `Deploy`.
    static func deploy(_ name: String) -> String { "\(Files.packageRoot)/Deploy/\(name)" }

    /// Returns a file beside the tests.
    static func script(_ name: String) -> String { "\(Files.packageRoot)/Tests/ConsoleTests/\(name)" }

    /// Runs a command of the shell to its end; one that hasn't ended within two minutes (more with a sanitizer) is killed.
    static func shell(_ command: String) async throws -> BuiltProgram.Ended {
        try await BuiltProgram(path: "/bin/bash").run(["-c", command], environment: ["HOME": "/tmp"], within: .seconds(120))
    }
}
