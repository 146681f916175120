import ArgumentParser
import Control
import Glibc

/// Standard output and standard error, and how a failure leaves the program.
enum Terminal {
    static func print(_ text: String) {
        write(text, to: STDOUT_FILENO)
    }

    static func printError(_ text: String) {
        write(text, to: STDERR_FILENO)
    }

    /// Runs `body`; its failure is printed and becomes the exit code.
    static func exitingOnFailure<Value>(_ body: () throws(ControlError) -> Value) throws -> Value {
        do throws(ControlError) {
            return try body()
        } catch {
            printError("coordinatorctl: \(error.message)\n")
            throw ExitCode(error.code.exitCode)
        }
    }

    /// Whoever reads a pipe may have gone; there is nobody to tell then.
    private static func write(_ text: String, to descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
