import DaemonConfiguration
import Testing

/// What is said about a file that isn't good: each line of the answer, with its place, word for word.
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

    @Test(arguments: rowsOfFile + rowsOfChildren + rowsOfSettings)
    func theProblemsOf(row: Row) {
        #expect(Self.problems(of: row.text) == row.problems)
    }
}
