import CProcess
import Glibc

/// The descriptors that are made for one spawn.
///
/// It owns them until the child has its copies, and closes the remaining ones, whatever fails.
struct SpawnDescriptors: ~Copyable {

    private let systemCalls: SystemCalls
    private let executable: String
    /// The descriptors that the child gets: sources above all targets, or -1.
    private(set) var inherited: [InheritedDescriptor] = []
    private var readingEnds: [ReadingEnd] = []
    private var temporary: [Int32] = []
    private let highestTarget: Int32
    /// The writing end of the pipe into which the child writes why it can't become the program.
    private(set) var status: Int32 = -1

    /// The capacity to ask for when a FIFO is made; 0 for the default one.
    private let fifoSize: Int32
    private let isFull: (@Sendable () -> Bool)?

    init(_ specification: borrowing ProcessSpecification, systemCalls: SystemCalls, fifoSize: Int32 = 0) throws(ProcessError) {
        self.systemCalls = systemCalls
        self.fifoSize = fifoSize
        isFull = specification.isOutputFull
        executable = specification.executable
        highestTarget = (specification.descriptors.map(\.target) + specification.channels.compactMap(\.target)).max() ?? 2

        switch specification.standardInput {
        case .null: add(source: -1, target: 0)
        case .inherit: try addOurs(0, target: 0)
        case .descriptor(let source): try addMoved(source, target: 0)
        }
        try add(specification.standardOutput, target: 1)
        if case .sameAsOutput = specification.standardError {
            add(source: inherited.last?.source ?? -1, target: 2)
        } else {
            try add(specification.standardError, target: 2)
        }
        for descriptor in specification.descriptors { try addMoved(descriptor.source, target: descriptor.target) }
        for channel in specification.channels { try add(channel, of: specification.account) }
    }

    deinit {
        for descriptor in temporary { systemCalls.close(descriptor) }
        for end in readingEnds { end.close(systemCalls) }
    }

    /// Hands the reading ends over to the caller, which closes them.
    mutating func takeReadingEnds() -> [ReadingEnd] {
        defer { readingEnds = [] }
        return readingEnds
    }

    /// Makes the pipe into which the child writes why it can't become the program, and returns the reading end, which is the caller's.
    mutating func makeStatus() throws(ProcessError) -> Int32 {
        let (reading, writing) = systemCalls.pipe()
        guard reading >= 0 else { throw ProcessError(-reading, action: "open a pipe for the start of \"\(executable)\"") }
        temporary.append(writing)
        do throws(ProcessError) {
            status = try aboveTargets(writing) ?? writing
            return reading
        } catch {
            systemCalls.close(reading)
            throw error
        }
    }

    private mutating func add(_ destination: OutputDestination, target: Int32) throws(ProcessError) {
        switch destination {
        case .null, .sameAsOutput: add(source: -1, target: target)
        case .inherit: try addOurs(target, target: target)
        case .descriptor(let source): try addMoved(source, target: target)
        case .captured(let receive):
            let (reading, writing) = systemCalls.pipe()
            guard reading >= 0 else { throw ProcessError(-reading, action: "open a pipe for the output of \"\(executable)\"") }
            try addOutput(reading, writing, target, fifo: nil, receive)
        case .fifo(let path, let receive):
            let (reading, writing) = systemCalls.makeFIFO(path, fifoSize)
            guard reading >= 0 else { throw ProcessError(-reading, action: "make the FIFO \(path) for the output of \"\(executable)\"") }
            try addOutput(reading, writing, target, fifo: path, receive)
        }
    }

    private mutating func add(_ channel: ProcessChannel, of account: Account?) throws(ProcessError) {
        switch channel {
        case .pipe(let target, nil, let receive): try add(.captured(receive), target: target)
        case .pipe(let target, let path?, let receive): try add(.fifo(at: path, receive), target: target)
        case .datagrams(let path, let receive):
            let socket = systemCalls.datagramSocket(path, account?.user ?? geteuid())
            guard socket >= 0 else { throw ProcessError(-socket, action: "make the socket \(path) for \"\(executable)\"") }
            readingEnds.append(ReadingEnd(descriptor: socket, receive: receive, path: path, role: .datagrams))
        }
    }

    private mutating func addOutput(
        _ reading: Int32,
        _ writing: Int32,
        _ target: Int32,
        fifo: String?,
        _ receive: @escaping @Sendable ([UInt8]) -> Void
    ) throws(ProcessError) {
        let role = Self.role(of: target)
        let isFull = role.isOutput ? isFull : nil
        readingEnds.append(
            ReadingEnd(descriptor: reading, receive: receive, path: fifo, isFIFO: fifo != nil, role: role, isFull: isFull)
        )
        temporary.append(writing)
        try addMoved(writing, target: target)
    }

    private static func role(of target: Int32) -> ReadingEnd.Role {
        switch target {
        case STDOUT_FILENO: .output
        case STDERR_FILENO: .errors
        default: .channel
        }
    }

    private mutating func add(source: Int32, target: Int32) {
        inherited.append(InheritedDescriptor(source: source, target: target))
    }

    /// Adds a standard stream of this process; a program without it, such as a daemon, gives /dev/null instead.
    private mutating func addOurs(_ source: Int32, target: Int32) throws(ProcessError) {
        do throws(ProcessError) {
            try addMoved(source, target: target)
        } catch {
            guard error.errno == EBADF else { throw error }
            add(source: -1, target: target)
        }
    }

    /// Adds a source, moved above all targets: a source among the targets would be overwritten by an earlier dup2, or be its own target and
    /// stay close-on-exec.
    private mutating func addMoved(_ source: Int32, target: Int32) throws(ProcessError) {
        do throws(ProcessError) {
            add(source: try aboveTargets(source) ?? source, target: target)
        } catch {
            guard error.errno == EBADF else { throw error }
            throw ProcessError(
                code: .invalidSpecification,
                errno: EBADF,
                message: "Could not start \"\(executable)\": descriptor \(source), meant to be its \(target), is not open. Open it first."
            )
        }
    }

    /// Returns a copy of a descriptor above all targets; nil: it's there already.
    private mutating func aboveTargets(_ descriptor: Int32) throws(ProcessError) -> Int32? {
        if descriptor > highestTarget { return nil }
        let moved = systemCalls.duplicate(descriptor, highestTarget + 1)
        guard moved >= 0 else { throw ProcessError(-moved, action: "copy descriptor \(descriptor) for \"\(executable)\"") }
        temporary.append(moved)
        return moved
    }
}

/// A descriptor of this process that a child gets under a number of its own.
public struct InheritedDescriptor: Sendable, Hashable {
    /// The number in this process.
    ///
    /// The descriptor stays open here, and still belongs to this process.
    public var source: Int32
    /// The number in the child: 3 to 255.
    public var target: Int32

    /// Gives `source` to the child as `target`.
    public init(source: Int32, target: Int32) {
        self.source = source
        self.target = target
    }
}

/// A pipe whose reading end is meant for a child.
///
/// Both ends are close-on-exec from their creation: a fork elsewhere in the program at the same moment inherits neither. The creator closes
/// them.
package struct InheritablePipe: Sendable {
    package let reader: Int32
    package let writer: Int32

    package init() throws(ProcessError) {
        var (reader, writer): (Int32, Int32) = (-1, -1)
        let result = coordinator_process_blocking_pipe(&reader, &writer)
        guard result >= 0 else { throw ProcessError(-result, action: "open a pipe") }
        (self.reader, self.writer) = (reader, writer)
    }
}

/// The end of a child's pipe, FIFO or socket that is read here, and the function that gets its content.
struct ReadingEnd {
    /// What is read.
    enum Role: String, Codable, Sendable {
        case output, errors
        /// A pipe by which the child tells its parent something.
        case channel
        /// A socket for datagrams.
        case datagrams

        /// Whether the content waits while what gets the output is full; what the child tells its parent doesn't.
        var isOutput: Bool { self == .output || self == .errors }
    }

    let descriptor: Int32
    let receive: @Sendable ([UInt8]) -> Void
    /// The path of the FIFO or socket; `nil`: it's a pipe.
    let path: String?
    var isFIFO = false
    var role = Role.output
    /// Whether what gets the output would like it to wait.
    var isFull: (@Sendable () -> Bool)?

    /// Closes the end, and removes the file.
    func close(_ systemCalls: SystemCalls) {
        systemCalls.close(descriptor)
        if let path { systemCalls.unlink(path) }
    }
}

/// The source of a child's standard input.
public enum InputSource: Sendable, Hashable {
    /// /dev/null: the child reads end-of-file at once.
    case null
    /// The standard input of this process; /dev/null when that is closed.
    case inherit
    /// An open descriptor of this process. The child gets a copy; the caller closes the original.
    case descriptor(Int32)
}

/// The destination of a child's standard output or error.
public enum OutputDestination: Sendable {
    /// /dev/null.
    case null
    /// The same stream of this process; /dev/null when that is closed.
    case inherit
    /// An open descriptor of this process. The child gets a copy; the caller closes the original.
    case descriptor(Int32)
    /// A pipe to a function, which gets the output in the order in which it was written, in pieces of at most 64 KiB.
    ///
    /// The function runs on the one thread that serves all children: it must return at once, and the child can't write faster than the
    /// function takes. All that a child wrote before it ended is delivered before its exit is reported. The last call has no bytes and
    /// means that no more output comes. It is made when the last process that holds the pipe has closed it (a grandchild may outlive the
    /// child), after `ChildProcess.endCapture()`, or at the child's end when its group is killed with it.
    case captured(@Sendable ([UInt8]) -> Void)
    /// A FIFO that is made at a path, to a function like that of `.captured`.
    ///
    /// The child holds the FIFO open for reading and writing. So the child outlives this process without losing output: a write meets
    /// neither the end nor a broken pipe, and what was written waits in the FIFO until another process opens it by its path, with
    /// ``ProcessSpawner/adopt(_:output:killsGroupAtExit:)``. Up to 1 MiB waits as a rule; the writer of more blocks. The FIFO is removed
    /// when no more output comes from it. A grandchild that is left then blocks at the latest when the FIFO is full.
    case fifo(at: String, @Sendable ([UInt8]) -> Void)
    /// The destination of standard output, for standard error only. With `.captured`, both arrive in one stream, in order.
    case sameAsOutput

    /// Whether this process reads the output.
    var isRead: Bool {
        switch self {
        case .captured, .fifo: true
        case .null, .inherit, .descriptor, .sameAsOutput: false
        }
    }
}
