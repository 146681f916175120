import ConcurrencySupport
import Glibc

/// A program to start as a child process, and its surroundings.
///
/// A child begins in a session and process group of its own, with no signal blocked or ignored, and with standard input, output, error
/// and the descriptors given here; every other descriptor is closed in it.
public struct ProcessSpecification: Sendable {
    /// The program: a path, or a name that is looked up in this process's PATH when it has no slash.
    ///
    /// The child looks it up, as its user.
    ///
    /// A relative path begins at `workingDirectory`.
    public var executable: String
    /// The arguments after `argv[0]`.
    public var arguments: [String]
    /// The value of `argv[0]`; nil: the executable.
    public var processName: String?
    /// The whole environment of the child; nil: that of this process.
    public var environment: [String: String]?
    /// Variables below those of `environment`, if that is given: `NAME=value`, which need not be UTF-8.
    package var inheritedEnvironment: [[UInt8]] = []
    /// The directory in which the child begins; nil: that of this process.
    public var workingDirectory: String?
    /// The source of the child's standard input.
    public var standardInput: InputSource
    /// The destination of the child's standard output.
    public var standardOutput: OutputDestination
    /// The destination of the child's standard error.
    public var standardError: OutputDestination
    /// Further descriptors that the child gets.
    public var descriptors: [InheritedDescriptor]
    /// Whether the remaining members of the child's process group are killed when the child ends by itself.
    ///
    /// `ChildProcess.terminate(grace:)` kills them in any case.
    public var killsGroupAtExit: Bool
    /// Whether the kernel kills the child when this process ends, in whatever way.
    ///
    /// The kernel drops this setting when the child itself changes its user or runs a program with privileges of its own. Follows
    /// https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html.
    public var diesWithParent: Bool
    /// What the child has of its own instead of inheriting it: its user, its priority, its limits.
    public var attributes: ProcessAttributes
    /// The account that the attributes name; known when the child is spawned.
    var account: Account?
    /// Whether the account is known, and the user's variables are in the environment.
    private(set) var isResolved = false
    /// The further ways by which the child tells this process something.
    package var channels: [ProcessChannel] = []
    /// The control group in which the child begins; nil: that of this process.
    package var controlGroup: ControlGroup?
    /// What is open for the child alone until it's started.
    package var input: InputDescriptor? {
        didSet { standardInput = input.map { .descriptor($0.number) } ?? .null }
    }

    /// The directories in which the program is looked up when it has no slash; nil: those of this process's PATH.
    package var searchPath: String?
    /// What the process is for, such as the path of a child: while a start with the same subject hangs, this one waits for it.
    package var subject: String?
    /// The time that the process has to become its program, which the file systems of its directory and its executable may delay.
    package var startLimit = BlockingCalls.usualLimit

    /// A function that is called when the child runs, before any of its output is delivered.
    ///
    /// It runs on the one thread that serves all children, as the functions that get output do.
    package var whenSpawned: (@Sendable (ProcessIdentity) -> Void)?
    /// Whether what gets the child's output would like it to wait.
    ///
    /// As long as it does, for ``longestWait`` at most, the output stays in its pipe, which blocks the child once it is full. Then the output
    /// is delivered all the same.
    package var isOutputFull: (@Sendable () -> Bool)?
    /// The longest time for which a child's output waits.
    package static let longestWait = Duration.seconds(1)

    /// Creates a specification.
    ///
    /// Values that aren't given are inherited from this process (environment, directory, output) or empty.
    public init(
        executable: String,
        arguments: [String] = [],
        processName: String? = nil,
        environment: [String: String]? = nil,
        workingDirectory: String? = nil,
        standardInput: InputSource = .null,
        standardOutput: OutputDestination = .inherit,
        standardError: OutputDestination = .inherit,
        descriptors: [InheritedDescriptor] = [],
        killsGroupAtExit: Bool = false,
        diesWithParent: Bool = false,
        attributes: ProcessAttributes = ProcessAttributes()
    ) {
        self.executable = executable
        self.arguments = arguments
        self.processName = processName
        self.environment = environment
        self.workingDirectory = workingDirectory
        self.standardInput = standardInput
        self.standardOutput = standardOutput
        self.standardError = standardError
        self.descriptors = descriptors
        self.killsGroupAtExit = killsGroupAtExit
        self.diesWithParent = diesWithParent
        self.attributes = attributes
    }
}

extension ProcessSpecification {
    /// Takes the account of the child, which was found, and adds the user's variables to the environment.
    package mutating func resolve(_ account: Account?) {
        isResolved = true
        self.account = account
        guard let account, !account.environment.isEmpty else { return }
        environment = (environment ?? Self.ownEnvironment).merging(account.environment) { given, _ in given }
    }

    /// The variables of this process, except those of its own user.
    private static var ownEnvironment: [String: String] {
        var variables: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            let parts = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
            entry += 1
        }
        for name in ["HOME", "USER", "LOGNAME", "SHELL"] { variables[name] = nil }
        return variables
    }
}

extension ProcessSpecification {
    /// The highest number that a child's descriptor may have: gaps below it cost one action each.
    static let highestTarget: Int32 = 255

    /// Refuses what the kernel would misread: strings end at a NUL byte, and `=` ends a variable's name.
    func validate() throws(ProcessError) {
        guard !executable.isEmpty else {
            throw .invalid("Could not start a process: its executable is empty. Give a path or a name.")
        }
        let strings = [executable, processName ?? "", workingDirectory ?? ""] + arguments
        guard !strings.contains(where: { $0.utf8.contains(0) }) else {
            throw .invalid("Could not start \"\(executable)\": its path, arguments or directory contain a NUL byte. Remove it.")
        }
        guard workingDirectory?.isEmpty != true else {
            throw .invalid("Could not start \"\(executable)\": its working directory is empty. Give a path, or nil for ours.")
        }
        for (name, value) in environment ?? [:]
        where name.isEmpty || name.utf8.contains(UInt8(ascii: "=")) || name.utf8.contains(0) || value.utf8.contains(0) {
            throw .invalid("Could not start \"\(executable)\": \"\(name)\" can't be a variable of an environment. Correct name and value.")
        }
        var targets: Set<Int32> = [0, 1, 2]
        for target in descriptors.map(\.target) + channels.compactMap(\.target) {
            guard (3...Self.highestTarget).contains(target), targets.insert(target).inserted else {
                throw .invalid(
                    "Could not start \"\(executable)\": descriptor \(target) of the child is given twice or lies outside "
                        + "3...\(Self.highestTarget). Choose another number."
                )
            }
        }
        if case .sameAsOutput = standardOutput {
            throw .invalid(
                "Could not start \"\(executable)\": its standard output can't go where standard output goes. Name a destination."
            )
        }
    }
}

/// What a process runs, and the user that it runs as, as ps(1) shows them to this user.
package struct ProcessCommand: Sendable, Equatable {
    /// The greatest number of characters of a command that are kept.
    private static let maximumLength = 400

    /// The program and its arguments, those with spaces or quotes in single quotes, as a shell reads them.
    package let text: String
    /// The effective user.
    package let user: UInt32

    /// Looks at a process; nil when it's gone, may not be looked at, or is between two programs.
    package init?(of processID: Int32) {
        guard case .bytes(let bytes) = ProcessTable.contents("/proc/\(processID)/cmdline", limit: 16_384), !bytes.isEmpty,
            let users = ProcessTable.users(of: processID)
        else { return nil }
        self.init(arguments: bytes, user: users.effective)
    }

    /// Reads arguments that are each ended by a zero byte.
    init(arguments: [UInt8], user: UInt32) {
        let ended = arguments.last == 0 ? arguments.dropLast() : arguments[...]
        let words = ended.split(separator: 0, omittingEmptySubsequences: false).map { Self.quoted(String(decoding: $0, as: UTF8.self)) }
        let whole = words.joined(separator: " ")
        text = whole.count > Self.maximumLength ? String(whole.prefix(Self.maximumLength - 1)) + "…" : whole
        self.user = user
    }

    private static func quoted(_ word: String) -> String {
        guard word.isEmpty || word.contains(where: { $0.isWhitespace || "'\"\\$".contains($0) }) else { return word }
        return "'\(word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''"))'"
    }
}

/// A way by which a child tells its parent something, besides its output.
package enum ProcessChannel: Sendable {
    /// A pipe, whose writing end the child has under a number of its own.
    ///
    /// The function gets what is written, and an empty piece at the end; see ``OutputDestination/captured(_:)``. With a path it's a FIFO, as of
    /// ``OutputDestination/fifo(at:_:)``.
    case pipe(target: Int32, at: String? = nil, @Sendable ([UInt8]) -> Void)
    /// A socket at a path, to which only the child's user and root can send: the kernel checks who sends.
    ///
    /// The function gets each datagram by itself. The socket is removed when the child has ended.
    case datagrams(path: String, @Sendable ([UInt8]) -> Void)

    /// The number that the child's end has.
    var target: Int32? {
        switch self {
        case .pipe(let target, _, _): target
        case .datagrams: nil
        }
    }
}

/// A mark that all descendants of a process have in their environment, by which they are found wherever they have gone.
///
/// A mark is not secret. It is a chain of entries, the outermost first: each spawn adds one of its own, so that every process with an entry
/// descends from the process that was spawned with it. Processes that clear their environment are known by their group and session alone.
package struct ProcessMark: Sendable, Hashable {
    /// The environment variable that holds the mark.
    package static let variable = "COORDINATOR_MARK"

    /// The entries, the outermost first.
    package let entries: [String]

    /// Reads the text of the variable.
    package init(_ text: String) { entries = text.split(separator: "/").map(String.init) }

    private init(entries: [String]) { self.entries = entries }

    /// The mark of the current process; without entries when it has none.
    package static let current = ProcessMark(getenv(variable).map { String(cString: $0) } ?? "")

    /// The text of the variable.
    package var text: String { entries.joined(separator: "/") }

    /// Returns the mark of a process that is spawned by one with this mark.
    package func appending(_ entry: String) -> ProcessMark { ProcessMark(entries: entries + [entry]) }

    /// Creates a new, unique entry.
    package static func makeEntry() -> String { String(UInt64.random(in: .min ... .max), radix: 36) }

    /// Reads the mark of another process; nil when it has none, is gone, or is another user's.
    ///
    /// - Throws: An error when the environment could not be read.
    static func of(_ processID: Int32) throws(ProcessError) -> ProcessMark? {
        switch ProcessTable.environment(of: processID) {
        case .bytes(let environment): return mark(in: environment)
        case .absent, .hidden: return nil
        case .failed(let errno): throw ProcessError(errno, action: "read the environment of process \(processID)")
        }
    }

    static func mark(in environment: [UInt8]) -> ProcessMark? {
        let name = Array("\(variable)=".utf8)
        let entry = environment.split(separator: 0).first { $0.starts(with: name) }
        return entry.map { ProcessMark(String(decoding: $0.dropFirst(name.count), as: UTF8.self)) }
    }
}
