/// Everything that is wrong with a configuration file.
///
/// All problems that can be found in one reading are there, so that a file is mended in one go; a syntax error hides what follows it.
public struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One thing that is wrong, and where.
    public struct Problem: Hashable, Sendable, CustomStringConvertible {
        /// The file as it was named by whoever asked for it.
        public var file: String
        /// The line, from 1; 0 when the problem is the file as a whole.
        public var line: Int
        /// The column, from 1, counted in Unicode scalars; 0 when the problem is the file as a whole.
        public var column: Int
        /// What is wrong; what was expected.
        public var message: String

        /// Creates a problem.
        public init(file: String, line: Int, column: Int, message: String) {
            self.file = file
            self.line = line
            self.column = column
            self.message = message
        }

        /// `file:line:column: message`, which editors and terminals turn into a link.
        public var description: String {
            line == 0 ? "\(file): \(message)" : "\(file):\(line):\(column): \(message)"
        }
    }

    /// The problems in the order of the file; never empty.
    public var problems: [Problem]

    /// Creates an error.
    public init(problems: [Problem]) {
        self.problems = problems
    }

    /// One problem a line.
    public var description: String {
        problems.map(\.description).joined(separator: "\n")
    }
}
