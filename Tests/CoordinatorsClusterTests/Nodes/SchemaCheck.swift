import Glibc
import Processes
import TestSupport

/// The validation of a command's JSON against a schema in `Deploy/schema`, by a Python that has the package jsonschema.
enum SchemaCheck {
    static let python = getenv("COORDINATORS_TEST_PYTHON").map { String(cString: $0) }

    /// Returns what is wrong with a text; an empty text if nothing is.
    static func problems(of text: String, _ schema: String) async throws -> String {
        let (directory, output) = (try TemporaryDirectory(), Transcript())
        try Files.write(text, to: directory.file("output.json"))
        let specification = ProcessSpecification(
            executable: python ?? "/usr/bin/python3",
            arguments: ["\(Files.packageRoot)/Tests/Transcript/schemas.py", schema, directory.file("output.json")],
            standardOutput: output.destination,
            standardError: .sameAsOutput
        )
        let status = try await withChild(specification) { await $0.waitForExit() }
        let problems = String(output.text.drop { $0 == "\n" })
        return status == .exited(code: 0) ? problems : "\(status): \(problems)"
    }
}
