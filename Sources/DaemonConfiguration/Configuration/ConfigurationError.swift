/// The problems of a configuration file.
///
/// The error has all problems that one reading finds, so that a file can be mended in one go; a syntax error hides the problems behind it.
public struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One problem and its position.
    public struct Problem: Hashable, Sendable, CustomStringConvertible {
        /// The file's name as the caller gave it.
        public var file: String
        /// The line, from 1; 0 when the problem concerns the whole file.
        public var line: Int
        /// The column, from 1, counted in Unicode scalars; 0 when the problem concerns the whole file.
        public var column: Int
        /// The message: the problem, and what the reader expected.
        public var message: String

        /// Creates a problem.
        public init(file: String, line: Int, column: Int, message: String) {
            self.file = file
            self.line = line
            self.column = column
            self.message = message
        }

        /// The problem as `file:line:column: message`, which editors and terminals turn into a link.
        public var description: String {
            line == 0 ? "\(file): \(message)" : "\(file):\(line):\(column): \(message)"
        }
    }

    /// The problems in the order of the file; never empty.
    public var problems: [Problem]
    /// Whether the problem is that this process's user, or the one for whom it's read, may not read the file.
    package var isNotPermitted = false

    /// Creates an error.
    public init(problems: [Problem]) {
        self.problems = problems
    }

    /// The problems, one a line.
    public var description: String {
        problems.map(\.description).joined(separator: "\n")
    }
}
