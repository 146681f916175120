import DaemonConfiguration
import Testing

/// The problems of bad files, each message with its position word for word.
@Suite struct ConfigurationProblemTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: String
        let problems: [String]

        init(_ name: String, _ text: String, _ problems: String...) {
            (testDescription, self.text, self.problems) = (name, text, problems)
        }
    }

    static func problems(of text: String) -> [String] {
        do throws(ConfigurationError) {
            _ = try DaemonConfiguration.parse(text: text, file: "f")
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    @Test(
        "Each problem of a text is reported with its position and the expectation",
        arguments: rowsOfFile + rowsOfChildren + rowsOfSettings + rowsOfLogging + rowsOfObservability + rowsOfLinks + rowsOfReceives
    )
    func theProblemsOf(row: Row) {
        #expect(Self.problems(of: row.text) == row.problems)
    }
}
