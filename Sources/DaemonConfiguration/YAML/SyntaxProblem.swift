import Yams

/// The description of libyaml's errors as problems of the configuration.
enum SyntaxProblem {
    static func describe(_ error: any Error, in text: String, file: String) -> ConfigurationError.Problem {
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
            let place = duplicates.first.flatMap { second($0, in: text, from: context.mark) }
            let message = "the key \(names) is given more than once in one mapping; expected each key once"
            return .init(file: file, line: place?.line ?? context.mark.line, column: place?.column ?? context.mark.column, message: message)
        case .reader(let text, _, _, _)?:
            return .init(file: file, line: 0, column: 0, message: "not valid YAML: \(text); expected UTF-8 text")
        default:
            return .init(file: file, line: 0, column: 0, message: "the file can't be read as YAML: \(error); expected YAML 1.2")
        }
    }

    /// Returns the position at which a block mapping has a key for the second time; nil when the lines alone don't show it.
    private static func second(_ key: String, in text: String, from start: Mark) -> (line: Int, column: Int)? {
        let indentation = start.column - 1
        var count = 0
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().dropFirst(start.line - 1) {
            let content = index == start.line - 1 ? line.dropFirst(indentation) : line.drop { $0 == " " }
            if content.isEmpty || content.hasPrefix("#") { continue }
            let column = line.count - content.count
            // A line further left ends the mapping, a line further right belongs to a value in it.
            if column < indentation { return nil }
            guard column == indentation, ["\(key):", "\"\(key)\":", "'\(key)':"].contains(where: content.hasPrefix) else { continue }
            count += 1
            if count == 2 { return (index + 1, column + 1) }
        }
        return nil
    }
}
