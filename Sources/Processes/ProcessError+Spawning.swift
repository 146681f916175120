import ConcurrencySupport
import Glibc

extension ProcessError {
    /// Creates the error of a failed spawn.
    ///
    /// - Parameters:
    ///   - isThere: Whether there is a file at the executable's path: one error number stands for it and its interpreter.
    ///   - searchPath: The directories in which a name was looked up; nil: those of PATH.
    init(spawning executable: String, in workingDirectory: String?, failedWith errno: Int32, isThere: Bool, searchPath: String?) {
        let explanation = Self.explanation(of: errno)
        let place = Self.place(of: executable, in: workingDirectory)
        switch errno {
        case ENOENT where isThere:
            self.init(
                code: .executableNotFound,
                errno: errno,
                message: "Could not start \"\(place)\": the file exists, but the interpreter or loader that it names does not. "
                    + "Correct its first line, or install what it needs."
            )
        case ENOENT where executable.contains("/"):
            self.init(
                code: .executableNotFound,
                errno: errno,
                message: "Could not start \"\(place)\": there is no such file. Correct the path."
            )
        case ENOENT:
            let path = searchPath ?? getenv("PATH").map { String(cString: $0) } ?? ""
            self.init(
                code: .executableNotFound,
                errno: errno,
                message: "Could not start \"\(executable)\": it is in no directory of PATH (\(path)). Give its whole path, or install it."
            )
        case ENOTDIR:
            self.init(
                code: .executableNotFound,
                errno: errno,
                message: "Could not start \"\(place)\": a part of the path is not a directory. Correct the path."
            )
        case EACCES, EPERM:
            self.init(
                code: .permissionDenied,
                errno: errno,
                message: "Could not start \"\(place)\": \(explanation). Is it a file with execute permission (chmod +x), in directories "
                    + "that this user may search, on a file system that allows programs?"
            )
        case ENOEXEC:
            self.init(
                code: .notExecutable,
                errno: errno,
                message:
                    "Could not start \"\(place)\": it is not a program for this machine. A script needs a first line such as #!/bin/sh."
            )
        case E2BIG:
            self.init(
                code: .spawnFailed,
                errno: errno,
                message: "Could not start \"\(place)\": its arguments and environment are too large together. Pass them in a file."
            )
        case EBADF:
            self.init(
                code: .invalidSpecification,
                errno: errno,
                message: "Could not start \"\(place)\": one of the descriptors that it was meant to get is not open. Open it first."
            )
        case EMFILE, ENFILE, EAGAIN, ENOMEM:
            self.init(errno, action: "start \"\(place)\"")
        default:
            self.init(code: .spawnFailed, errno: errno, message: "Could not start \"\(place)\": \(explanation).")
        }
    }

    /// Creates the error of a start that hangs.
    init(hangingSince since: DateTime, _ processID: Int32, _ specification: ProcessSpecification) {
        let directory = specification.workingDirectory.map { ", or its directory \"\($0)\"" } ?? ""
        self.init(
            code: .startHangs,
            errno: ETIMEDOUT,
            message: "Could not start \"\(specification.executable)\": its start hangs since \(since), as process \(processID), "
                + "which gets SIGKILL: the file system of the executable\(directory) doesn't answer. Mend it; until then there is no other attempt."
        )
    }

    /// The path that the kernel looked up: a relative one starts at the working directory.
    private static func place(of executable: String, in workingDirectory: String?) -> String {
        guard let workingDirectory, executable.contains("/"), !executable.hasPrefix("/") else { return executable }
        return workingDirectory + "/" + executable
    }

    /// Creates the error of a specification that can't be carried out.
    static func invalid(_ message: String) -> ProcessError {
        ProcessError(code: .invalidSpecification, errno: EINVAL, message: message)
    }
}
