import Glibc
import Processes
import TestSupport

/// Erlang's compiler, where it's installed.
enum Erlang {
    private static let compiler = "/usr/bin/erlc"

    static var isInstalled: Bool { access(compiler, X_OK) == 0 }

    /// Compiles a module, and returns what the compiler says of it: nothing when it has no objections.
    static func compile(_ lines: [String]) async throws -> String {
        // A module must be in a file of its name: `-module(name).`
        let name = lines[0].dropFirst("-module(".count).prefix { $0 != ")" }
        return try await withTemporaryDirectory { directory in
            try Files.write(lines.joined(separator: "\n") + "\n", to: directory.file("\(name).erl"))
            let output = Transcript()
            let specification = ProcessSpecification(
                executable: compiler,
                arguments: ["-Werror", "-o", directory.path, directory.file("\(name).erl")],
                environment: ["PATH": "/usr/bin:/bin", "HOME": directory.path],
                standardOutput: output.destination,
                standardError: output.destination
            )
            let status = try await withChild(specification) { await $0.waitForExit() }
            return status.isSuccess ? output.text : "\(status): \(output.text)"
        }
    }
}
