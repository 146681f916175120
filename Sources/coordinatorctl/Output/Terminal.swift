import ArgumentParser
import Control
import Glibc
import WireProtocol

/// Standard output and standard error, and how a failure leaves the program.
enum Terminal {
    /// Prints a command's result.
    ///
    /// - Throws: the exit code when it can't be written: a script must not take an empty file for an answer.
    static func print(_ text: String) throws(ExitCode) {
        guard let error = write(text, to: STDOUT_FILENO), error != EPIPE else { return }
        printError("coordinatorctl: the result can't be written: \(String(cString: strerror(error)))\n")
        throw ExitCode(ControlError.Code.failed.exitCode)
    }

    /// Prints what names and other processes' words may be a part of: a terminal doesn't obey it.
    static func printError(_ text: String) {
        _ = write(TextLayout.printableLines(text), to: STDERR_FILENO)
    }

    /// Runs `body`; its failure is printed and becomes the exit code.
    static func exitingOnFailure<Value>(isJSON: Bool, _ body: () throws(ControlError) -> Value) throws(ExitCode) -> Value {
        do throws(ControlError) {
            return try body()
        } catch {
            printError(isJSON ? json(of: error) : "coordinatorctl: \(error.message)\n")
            throw ExitCode(error.code.exitCode)
        }
    }

    private static func json(of error: ControlError) -> String {
        let object: JSONValue = ["error": ["code": .string(error.code.name), "message": .string(error.message)]]
        return ((try? ControlJSON.text(of: object)) ?? "{}") + "\n"
    }

    /// - Returns: the number of the error, if there is one. Whoever reads a pipe may have gone: that is the reader's business.
    private static func write(_ text: String, to descriptor: Int32) -> Int32? {
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
