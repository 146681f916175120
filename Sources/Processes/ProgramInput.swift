import CProcess
import Glibc

/// What a program reads on its standard input.
public enum ProgramInput: Sendable, Hashable, Codable {
    /// Nothing: the input is at its end.
    case null
    /// Nothing either, but the input has no end: a program that ends with its input goes on.
    case open
    /// The file at a path.
    case file(String)
}

/// An open descriptor, which is closed with the last reference to it.
package final class InputDescriptor: Sendable {
    package let number: Int32

    init(_ number: Int32) { self.number = number }

    deinit { Glibc.close(number) }

    /// Opens the input of a program; may block.
    ///
    /// - Returns: nil when the input is at its end.
    package static func open(_ input: ProgramInput) throws(ProcessError) -> InputDescriptor? {
        switch input {
        case .null: return nil
        case .open:
            let descriptor = coordinator_process_endless_input()
            guard descriptor >= 0 else { throw ProcessError(-descriptor, action: "make a standard input without an end") }
            return InputDescriptor(descriptor)
        case .file(let path):
            do throws(FilePlace.Failure) {
                let file = InputDescriptor(try FilePlace(path, for: .input).open())
                // It was opened without waiting.
                _ = fcntl(file.number, F_SETFL, fcntl(file.number, F_GETFL) & ~O_NONBLOCK)
                return file
            } catch {
                throw ProcessError(
                    code: .invalidSpecification,
                    errno: error.errno,
                    message: "The standard input \"\(path)\" can't be read: \(error). Correct the path, or its permissions."
                )
            }
        }
    }
}
