import ArgumentParser
import Control
import Glibc
import WireProtocol

/// Standard output, standard error and the exit after a failure.
enum Terminal {
    /// The columns of the terminal that standard output is; nil: it's a file or a pipe.
    static var width: Int? { width(of: STDOUT_FILENO) }

    /// Returns the columns of the terminal that a descriptor is; nil: it's a file or a pipe.
    static func width(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard isatty(descriptor) == 1, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Prints a command's result.
    ///
    /// - Returns: Whether more can be printed: false when what reads standard output has closed it.
    /// - Throws: the exit code of a failure when the text can't be written: a script must not take an empty file for an answer.
    @discardableResult
    static func print(_ text: String) throws(ExitCode) -> Bool {
        guard let error = write(text, to: STDOUT_FILENO) else { return true }
        if error == EPIPE { return false }
        printError("coordinatorctl: the result can't be written: \(String(cString: strerror(error)))\n")
        throw ExitCode(ControlError.Code.failed.exitCode)
    }

    /// Prints a message to standard error, with escapes for characters that a terminal would obey.
    static func printError(_ text: String) {
        _ = write(TextLayout.printableLines(text), to: STDERR_FILENO)
    }

    /// Returns the bytes that put a text in place of the line of standard error at which the cursor is.
    ///
    /// The line is erased before: behind a text that fills it the cursor stays on the last column, which would be erased with what follows.
    ///
    /// - Parameter width: The columns of the terminal; a text that went on below couldn't be replaced.
    static func replacingLine(by text: String, width: Int? = Terminal.width(of: STDERR_FILENO)) -> String {
        "\r\u{1B}[K" + (width.map { text.cut(to: $0) } ?? text)
    }

    /// Runs `body`; prints its failure and exits with the failure's code.
    static func exitingOnFailure<Value>(isJSON: Bool, _ body: () throws(ControlError) -> Value) throws(ExitCode) -> Value {
        do throws(ControlError) {
            return try body()
        } catch {
            printError(isJSON ? json(of: error) : "coordinatorctl: \(error.message)\n")
            throw ExitCode(error.code.exitCode)
        }
    }

    /// Returns an error as the object that `--json` promises, ended by a newline.
    static func json(of error: ControlError) -> String {
        ((try? ControlJSON.text(of: CommandFailure(error: error))) ?? "{}") + "\n"
    }

    /// Writes a text to a descriptor.
    ///
    /// - Returns: the error number; nil after success.
    static func write(_ text: String, to descriptor: Int32) -> Int32? {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return errno }
            rest = rest.dropFirst(count)
        }
        return nil
    }
}

/// What a command that fails prints with `--json`.
struct CommandFailure: Codable {
    /// The failure.
    var error: ControlError
}
