import Control
import CoordinatorDaemon
import DaemonConfiguration
import Migration

/// The output of `--check-config --json` and of `--import --json` for a file with problems.
struct ConfigurationReport: Codable {
    struct Problem: Codable {
        /// The file.
        var file: String
        /// The line, from 1; 0 for a file that can't be read.
        var line: Int
        /// The column, from 1; 0 for a file that can't be read.
        var column: Int
        /// The problem, and what was expected.
        var message: String
    }

    struct Failure: Codable {
        /// The kind of failure: `badConfiguration` or `notPermitted`.
        var code: String
        /// The problems, one a line, as without `--json`.
        var message: String
        /// The problems, one at least.
        var problems: [Problem]
    }

    /// The failure.
    var error: Failure

    /// The files in `Deploy/schema` of what this executable prints, and their types: what needs no daemon.
    static var files: KeyValuePairs<String, any Decodable.Type> {
        ["config-check": ConfigurationSummary.self, "config-problems": Self.self, "import": ConfigurationImport.self]
    }

    init(of error: ConfigurationError) {
        self.error = Failure(
            code: error.code.name,
            message: error.description,
            problems: error.problems.map { Problem(file: $0.file, line: $0.line, column: $0.column, message: $0.message) }
        )
    }
}
