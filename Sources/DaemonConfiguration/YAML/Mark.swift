/// A place in a file.
package struct Mark: Sendable {
    /// The line, from 1.
    package var line = 1
    /// The column, from 1, counted in Unicode scalars.
    var column = 1
    /// The file, if it's one that the file which is read includes.
    var file: String?

    /// The line in a sentence, with the file if it isn't the one of this mark.
    func line(seenFrom other: Mark) -> String { file == other.file ? "line \(line)" : "line \(line) of \(file ?? "the main file")" }

    mutating func advance(over scalar: Unicode.Scalar) {
        if scalar == "\n" {
            (line, column) = (line + 1, 1)
        } else {
            column += 1
        }
    }

    /// Returns a problem at this place; characters that would break or reorder the line are shown as escapes.
    func problem(_ message: String, file: String) -> ConfigurationError.Problem {
        let shown = message.unicodeScalars.map { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: scalar.escaped(asASCII: true)
            default: String(scalar)
            }
        }
        return ConfigurationError.Problem(file: self.file ?? file, line: line, column: column, message: shown.joined())
    }

    /// Returns the error that has one problem, at this place.
    func error(_ message: String, file: String) -> ConfigurationError {
        ConfigurationError(problems: [problem(message, file: file)])
    }
}
