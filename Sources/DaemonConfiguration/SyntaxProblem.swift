import Yams

/// What libyaml says about a text that isn't YAML, in our form.
enum SyntaxProblem {
    static func describe(_ error: any Error, file: String) -> ConfigurationError.Problem {
        func problem(_ mark: Mark, _ message: String) -> ConfigurationError.Problem {
            .init(file: file, line: mark.line, column: mark.column, message: message)
        }
        switch error as? YamlError {
        case .scanner(let context, let text, let mark, _)?, .parser(let context, let text, let mark, _)?:
            let circumstance = context.map { " \($0.text) that begins at line \($0.mark.line), column \($0.mark.column)" } ?? ""
            return problem(mark, "not valid YAML: \(text)\(circumstance); expected YAML 1.2 (look at indentation, quotes and brackets)")
        case .composer(_, let text, let mark, _)? where text.hasPrefix("but found another document"):
            return problem(mark, "a second YAML document begins here; expected one document in the file")
        case .composer(_, let text, let mark, _)?:
            return problem(mark, "not valid YAML: \(text); expected an alias (`*name`) to follow its anchor (`&name`)")
        case .duplicatedKeysInMapping(let duplicates, let context)?:
            let names = duplicates.map { "`\($0)`" }.joined(separator: ", ")
            return problem(context.mark, "the key \(names) is given more than once in one mapping; expected each key once")
        case .reader(let text, _, _, _)?:
            return .init(file: file, line: 0, column: 0, message: "not valid YAML: \(text); expected UTF-8 text")
        default:
            return .init(file: file, line: 0, column: 0, message: "the file can't be read as YAML: \(error); expected YAML 1.2")
        }
    }
}
