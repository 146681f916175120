import CProcess
import ConcurrencySupport
import Glibc

/// A failed action on a process: what failed, where, and what to do about it.
public struct ProcessError: Error, Sendable {
    /// The kind of failure; it can grow, so a `switch` needs a default.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String, Sendable {
            case spawnFailed, startHangs, executableNotFound, notExecutable, workingDirectoryUnavailable, permissionDenied
            case outOfDescriptors, outOfProcesses, outOfMemory
            case noSuchProcess, invalidSpecification, parentIsGone, wrongThread, unsupported, systemCallFailed
        }

        private let value: Value

        /// The process could not be started, for a reason that has no code of its own.
        public static let spawnFailed = Code(value: .spawnFailed)
        /// A file system hasn't let the process begin in time.
        ///
        /// As long as it doesn't, a supervised child has no other attempt.
        public static let startHangs = Code(value: .startHangs)
        /// There is no such executable, or the interpreter that its first line names is missing.
        public static let executableNotFound = Code(value: .executableNotFound)
        /// The file is not a program that this machine can run.
        public static let notExecutable = Code(value: .notExecutable)
        /// The working directory doesn't exist or can't be entered.
        public static let workingDirectoryUnavailable = Code(value: .workingDirectoryUnavailable)
        /// The kernel refused: the file isn't executable for this user, or the process belongs to another one.
        public static let permissionDenied = Code(value: .permissionDenied)
        /// No descriptors are left, in this process or in the system, or fewer than the spawner keeps in reserve.
        public static let outOfDescriptors = Code(value: .outOfDescriptors)
        /// No process or thread can be added: a limit of the user, the group of processes or the system.
        public static let outOfProcesses = Code(value: .outOfProcesses)
        /// The kernel has no memory for the process or the descriptor.
        public static let outOfMemory = Code(value: .outOfMemory)
        /// The process is gone; its number may belong to an unrelated process now.
        public static let noSuchProcess = Code(value: .noSuchProcess)
        /// The specification contradicts itself or the system: an empty executable, a NUL byte, or a descriptor that isn't open.
        public static let invalidSpecification = Code(value: .invalidSpecification)
        /// The parent that a worker was started by has ended already.
        public static let parentIsGone = Code(value: .parentIsGone)
        /// The call must come from the main thread.
        public static let wrongThread = Code(value: .wrongThread)
        /// The kernel is too old for the action.
        public static let unsupported = Code(value: .unsupported)
        /// A system call failed in a way that has no code of its own.
        public static let systemCallFailed = Code(value: .systemCallFailed)

        /// The name of the code.
        public var description: String { value.rawValue }
    }

    /// The kind of failure.
    public let code: Code
    /// The error number of the system call behind it, or 0.
    public let errno: Int32
    /// The description for people: what happened, where, and what to do.
    public let message: String

    /// Creates an error with all its parts, such as in tests of supervisors.
    public init(code: Code, errno: Int32, message: String) {
        self.code = code
        self.errno = errno
        self.message = message
    }
}

extension ProcessError: CustomStringConvertible {
    /// The message.
    public var description: String { message }
}

extension ProcessError {
    /// Creates the error of a failed system call; `action` continues "could not", as in "open a pipe".
    package init(_ errno: Int32, action: String) {
        let explanation = Self.explanation(of: errno)
        switch errno {
        case EMFILE, ENFILE:
            self.init(
                code: .outOfDescriptors,
                errno: errno,
                message:
                    "Could not \(action): \(explanation). Raise the limit of open files (ulimit -n, LimitNOFILE=), or run less at once."
            )
        case EAGAIN:
            self.init(
                code: .outOfProcesses,
                errno: errno,
                message: "Could not \(action): \(explanation). Raise the limit of processes and threads "
                    + "(ulimit -u, TasksMax=, kernel.pid_max), or run less at once."
            )
        case ENOMEM:
            self.init(code: .outOfMemory, errno: errno, message: "Could not \(action): \(explanation). Free memory, or raise its limit.")
        case ESRCH:
            self.init(code: .noSuchProcess, errno: errno, message: "Could not \(action): the process is gone (ESRCH).")
        case EPERM, EACCES:
            self.init(
                code: .permissionDenied,
                errno: errno,
                message: "Could not \(action): \(explanation). Run it as a user who may."
            )
        default:
            self.init(code: .systemCallFailed, errno: errno, message: "Could not \(action): \(explanation).")
        }
    }

    /// Returns the text and name of an error number, such as "No such file or directory (ENOENT)".
    static func explanation(of errno: Int32) -> String {
        let text = strerror(errno).map { String(cString: $0) } ?? "error \(errno)"
        guard let name = coordinator_process_error_name(errno) else { return text }
        return "\(text) (\(String(cString: name)))"
    }
}

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
