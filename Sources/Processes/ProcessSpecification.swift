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
