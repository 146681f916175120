import Control
import CoordinatorDaemon
import DaemonConfiguration

/// The output of `--check-config --json` for a file with problems.
struct ConfigurationReport: Codable {
    struct Problem: Codable {
        var file: String
        var line: Int
        var column: Int
        var message: String
    }

    struct Failure: Codable {
        var code: String
        var message: String
        var problems: [Problem]
    }

    var error: Failure

    init(of error: ConfigurationError) {
        self.error = Failure(
            code: error.code.name,
            message: error.description,
            problems: error.problems.map { Problem(file: $0.file, line: $0.line, column: $0.column, message: $0.message) }
        )
    }
}
