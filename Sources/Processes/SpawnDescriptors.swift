import Glibc

/// The descriptors that are made for one spawn.
///
/// It owns them until the child has its copies, and closes the remaining ones, whatever fails.
struct SpawnDescriptors: ~Copyable {
    /// The reading end of a pipe, and the function that gets its content.
    struct ReadingEnd {
        let descriptor: Int32
        let receive: @Sendable ([UInt8]) -> Void
    }

    private let systemCalls: SystemCalls
    private let executable: String
    /// The descriptors that the child gets: sources above all targets, or -1.
    private(set) var inherited: [InheritedDescriptor] = []
    private var readingEnds: [ReadingEnd] = []
    private var temporary: [Int32] = []
    private let highestTarget: Int32

    init(_ specification: borrowing ProcessSpecification, systemCalls: SystemCalls) throws(ProcessError) {
        self.systemCalls = systemCalls
        executable = specification.executable
        highestTarget = max(2, specification.descriptors.map(\.target).max() ?? 2)

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
    }

    deinit {
        for descriptor in temporary { systemCalls.close(descriptor) }
        for end in readingEnds { systemCalls.close(end.descriptor) }
    }

    /// Hands the reading ends over to the caller, which closes them.
    mutating func takeReadingEnds() -> [ReadingEnd] {
        defer { readingEnds = [] }
        return readingEnds
    }

    private mutating func add(_ destination: OutputDestination, target: Int32) throws(ProcessError) {
        switch destination {
        case .null, .sameAsOutput: add(source: -1, target: target)
        case .inherit: try addOurs(target, target: target)
        case .descriptor(let source): try addMoved(source, target: target)
        case .captured(let receive):
            let (reading, writing) = systemCalls.pipe()
            guard reading >= 0 else { throw ProcessError(-reading, action: "open a pipe for the output of \"\(executable)\"") }
            readingEnds.append(ReadingEnd(descriptor: reading, receive: receive))
            temporary.append(writing)
            try addMoved(writing, target: target)
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
        guard source <= highestTarget else { return add(source: source, target: target) }
        let moved = systemCalls.duplicate(source, highestTarget + 1)
        guard moved >= 0 else {
            guard moved == -EBADF else { throw ProcessError(-moved, action: "copy descriptor \(source) for \"\(executable)\"") }
            throw ProcessError(
                code: .invalidSpecification,
                errno: EBADF,
                message: "Could not start \"\(executable)\": descriptor \(source), meant to be its \(target), is not open. Open it first."
            )
        }
        temporary.append(moved)
        add(source: moved, target: target)
    }
}
