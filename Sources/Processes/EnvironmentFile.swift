import ConcurrencySupport
import Glibc

/// A file of variables, in the form that systemd's `EnvironmentFile=` has.
///
/// Each line is `NAME=value`; empty lines and lines that begin with `#` or `;` are left out. Space around an unquoted value doesn't count.
/// Within single quotes everything is taken as it is, also line breaks; within double quotes a backslash makes `"`, `\`, `$` and a backquote
/// ordinary. A backslash at the end of a line joins it with the next one. Nothing is expanded. Unlike systemd, a line that is none of this
/// is an error. See https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html#EnvironmentFile=.
package enum EnvironmentFile {
    /// The size of the largest file, in bytes.
    private static let maximumSize = 1 << 20

    /// Reads the files in order; of a variable that several files have, the last value holds.
    ///
    /// May block, for the limit at each file.
    ///
    /// - Parameter paths: The paths; a file whose path is written with a `-` before it may be missing.
    /// - Parameter directory: The directory at which relative paths begin; nil: that of this process.
    /// - Parameter account: That of the process that gets the variables; nil: this process's.
    package static func load(
        _ paths: [String],
        relativeTo directory: String? = nil,
        for account: Account? = nil,
        within limit: Duration = BlockingCalls.usualLimit
    ) throws(ProcessError) -> [String: String] {
        var variables: [String: String] = [:]
        for path in paths {
            let isOptional = path.hasPrefix("-")
            var path = isOptional ? String(path.dropFirst()) : path
            if let directory, !path.hasPrefix("/") { path = "\(directory)/\(path)" }
            guard let text = try contents(of: path, isOptional: isOptional, account, limit) else { continue }
            variables.merge(try parse(text, file: path)) { $1 }
        }
        return variables
    }

    private static func contents(of path: String, isOptional: Bool, _ account: Account?, _ limit: Duration) throws(ProcessError) -> String?
    {
        let bytes: [UInt8]
        do throws(RegularFile.Failure) {
            bytes = try RegularFile.read(path, upTo: maximumSize, for: account, within: limit)
        } catch {
            switch error {
            case .notOpened(errno: ENOENT) where isOptional: return nil
            case .notOpened(let errno), .notRead(let errno): throw ProcessError(errno, action: "read the variables in \(path)")
            case .notRegular: throw .invalid("\(path) isn't a regular file. Name a file of variables.")
            case .hangs: throw ProcessError(code: .startHangs, errno: ETIMEDOUT, message: "Could not read \(path): \(error.explanation).")
            case .tooLarge: throw .invalid("\(path) has more than \(maximumSize) bytes. Name a file of variables.")
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self), !text.utf8.contains(0) else {
            throw .invalid("\(path) isn't a text in UTF-8. Name a file of variables.")
        }
        return text
    }

    /// Returns the variables of a text.
    package static func parse(_ text: String, file: String) throws(ProcessError) -> [String: String] {
        var scanner = Scanner(rest: text.unicodeScalars[...], file: file)
        var variables: [String: String] = [:]
        while let (name, value) = try scanner.next() { variables[name] = value }
        return variables
    }
}

/// The reader of one text.
private struct Scanner {
    var rest: Substring.UnicodeScalarView
    let file: String
    var line = 1

    private mutating func nextScalar() -> Unicode.Scalar? {
        guard let scalar = rest.popFirst() else { return nil }
        if scalar == "\n" { line += 1 }
        return scalar
    }

    private func error(_ message: String, line: Int) -> ProcessError { .invalid("\(file):\(line): \(message).") }

    /// Returns the next variable; nil at the end.
    mutating func next() throws(ProcessError) -> (String, String)? {
        while let first = rest.first {
            if first == "#" || first == ";" {
                while let scalar = nextScalar(), scalar != "\n" {}
            } else if first.properties.isWhitespace {
                _ = nextScalar()
            } else {
                return (try name(), try value())
            }
        }
        return nil
    }

    private mutating func name() throws(ProcessError) -> String {
        let start = line
        var name = ""
        while let scalar = rest.first, scalar != "=", scalar != "\n" { name.unicodeScalars.append(nextScalar() ?? scalar) }
        while name.last == " " || name.last == "\t" { name.removeLast() }
        // The line may be the middle of a secret, and the error is shown to all who look at the child.
        guard nextScalar() == "=" else { throw error("there is no `=`; expected NAME=value", line: start) }
        guard Self.isName(name) else {
            throw error("what stands before `=` isn't the name of a variable; expected letters, digits and underscores", line: start)
        }
        return name
    }

    private static func isName(_ name: String) -> Bool {
        guard let first = name.first, !first.isNumber else { return false }
        return name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
    }

    private mutating func value() throws(ProcessError) -> String {
        var value = String.UnicodeScalarView()
        /// The length up to which trailing space belongs to the value.
        var kept = 0
        while let scalar = nextScalar(), scalar != "\n" {
            switch scalar {
            case "'", "\"":
                try quoted(by: scalar, into: &value)
                kept = value.count
            case "\\":
                if let escaped = nextScalar(), escaped != "\n" { value.append(escaped) }
                kept = value.count
            case " ", "\t", "\r":
                if !value.isEmpty { value.append(scalar) }
            default:
                value.append(scalar)
                kept = value.count
            }
        }
        return String(String.UnicodeScalarView(value.prefix(kept)))
    }

    private mutating func quoted(by quote: Unicode.Scalar, into value: inout String.UnicodeScalarView) throws(ProcessError) {
        let start = line
        while let scalar = nextScalar() {
            if scalar == quote { return }
            guard scalar == "\\", quote == "\"", let next = rest.first, ["\"", "\\", "$", "`", "\n"].contains(next) else {
                value.append(scalar)
                continue
            }
            _ = nextScalar()
            if next != "\n" { value.append(next) }
        }
        throw error("the quotes that begin here have no end", line: start)
    }
}
