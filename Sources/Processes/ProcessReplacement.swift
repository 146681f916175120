import CProcess
import Glibc

/// The program that takes the place of the present one in this process, by execve(2).
///
/// The process keeps its number, its children, its working directory and the descriptors that are named; see
/// ``ProcessSpawner/replace(by:)``.
package struct ProcessReplacement: Sendable {
    /// The path of the executable.
    package var executable: String
    /// The arguments, the program's name first.
    package var arguments: [[UInt8]]
    /// The environment, in the form `NAME=value`.
    package var environment: [[UInt8]]
    /// The descriptors that the new program has too.
    package var descriptors: [Int32]

    /// Describes a program.
    package init(executable: String, arguments: [[UInt8]], environment: [[UInt8]], descriptors: [Int32]) {
        (self.executable, self.arguments, self.environment, self.descriptors) = (executable, arguments, environment, descriptors)
    }

    /// Replaces the program; returns only when that has failed, with the negated errno.
    func run() -> Int32 {
        for descriptor in descriptors {
            let result = coordinator_process_keep_descriptor(descriptor, 1)
            if result < 0 { return undone(result) }
        }
        var arguments = arguments.map(Self.copy) + [nil]
        var environment = environment.map(Self.copy) + [nil]
        defer { for copy in arguments + environment { free(copy) } }
        return undone(coordinator_process_replace(executable, &arguments, &environment))
    }

    private func undone(_ result: Int32) -> Int32 {
        for descriptor in descriptors { _ = coordinator_process_keep_descriptor(descriptor, 0) }
        return result
    }

    // Unsafe: execve(2) takes C strings, which the caller frees.
    private static func copy(_ bytes: [UInt8]) -> UnsafeMutablePointer<CChar>? {
        let copy = calloc(bytes.count + 1, 1)
        copy?.copyMemory(from: bytes, byteCount: bytes.count)
        return copy?.assumingMemoryBound(to: CChar.self)
    }
}

/// A child that lives on when another program takes the present one's place, in this process or in the next one.
package struct KeptProcess: Codable, Sendable, Hashable {
    /// A pipe, FIFO or socket that the program reads from.
    struct End: Codable, Sendable, Hashable {
        let role: ReadingEnd.Role
        /// The open descriptor; -1: the file at the path is opened.
        let descriptor: Int32
        let path: String?
        /// The user to whom a socket belongs; `nil`: this process's.
        var owner: UInt32?
    }

    /// The child.
    package let identity: ProcessIdentity
    let ends: [End]

    /// The descriptors that the next program needs for the child.
    package var descriptors: [Int32] { ends.map(\.descriptor).filter { $0 >= 0 } }

    init(identity: ProcessIdentity, ends: [End]) { (self.identity, self.ends) = (identity, ends) }

    /// Describes a child by the files from which another process can go on reading.
    ///
    /// - Parameters:
    ///   - output: The FIFO for its standard output.
    ///   - errors: The FIFO for its standard error, if that's apart.
    ///   - channel: The FIFO by which it shows that it's ready.
    ///   - datagrams: The socket to which it sends datagrams.
    ///   - owner: The user as whom it runs.
    package init(_ identity: ProcessIdentity, output: String?, errors: String?, channel: String?, datagrams: String?, owner: UInt32) {
        let files: [(ReadingEnd.Role, String?)] = [
            (.output, output), (.errors, errors), (.channel, channel), (.datagrams, datagrams),
        ]
        let ends = files.compactMap { role, path in
            path.map { End(role: role, descriptor: -1, path: $0, owner: owner == geteuid() ? nil : owner) }
        }
        self.init(identity: identity, ends: ends)
    }

    /// The paths of the files that belong to the child.
    package var files: [String] { ends.compactMap(\.path) }

    /// Returns the same child with its FIFOs too, which have no descriptor that's handed on.
    package func with(filesOf other: KeptProcess) -> KeptProcess {
        let others = Dictionary(other.ends.map { ($0.role, $0) }) { first, _ in first }
        let known = Set(ends.map(\.role))
        let owned = ends.map { end in
            End(role: end.role, descriptor: end.descriptor, path: end.path, owner: others[end.role]?.owner)
        }
        return KeptProcess(identity: identity, ends: owned + other.ends.filter { !known.contains($0.role) })
    }

    /// The same child for a process that has none of the descriptors.
    package var withoutDescriptors: KeptProcess {
        let files = ends.filter { $0.path != nil }
        return KeptProcess(
            identity: identity,
            ends: files.map { End(role: $0.role, descriptor: -1, path: $0.path, owner: $0.owner) }
        )
    }
}

/// The functions that get what a kept child writes.
package struct KeptReceivers: Sendable {
    /// Gets standard output, and standard error too unless that's apart.
    package var output: @Sendable ([UInt8]) -> Void
    /// Gets standard error that's apart.
    package var errors: @Sendable ([UInt8]) -> Void
    /// Gets what the child writes to a pipe of its own.
    package var channel: @Sendable ([UInt8]) -> Void
    /// Gets each datagram that the child sends.
    package var datagrams: @Sendable ([UInt8]) -> Void
    /// Whether the output should stay in its pipe for a moment.
    package var isFull: (@Sendable () -> Bool)?

    /// Creates the functions of a child.
    package init(
        output: @escaping @Sendable ([UInt8]) -> Void,
        errors: @escaping @Sendable ([UInt8]) -> Void,
        channel: @escaping @Sendable ([UInt8]) -> Void,
        datagrams: @escaping @Sendable ([UInt8]) -> Void,
        isFull: (@Sendable () -> Bool)? = nil
    ) {
        (self.output, self.errors, self.channel, self.datagrams) = (output, errors, channel, datagrams)
        self.isFull = isFull
    }

    fileprivate func end(_ kept: KeptProcess.End, _ descriptor: Int32) -> ReadingEnd {
        let receive =
            switch kept.role {
            case .output: output
            case .errors: errors
            case .channel: channel
            case .datagrams: datagrams
            }
        let isFIFO = kept.path != nil && kept.role != .datagrams
        let isFull = kept.role.isOutput ? isFull : nil
        return ReadingEnd(descriptor: descriptor, receive: receive, path: kept.path, isFIFO: isFIFO, role: kept.role, isFull: isFull)
    }
}

extension KeptProcess {
    /// Returns the reading ends, which are this process's again from now on.
    ///
    /// - Throws: An error when a file can't be opened; nothing is open then that wasn't before.
    func readingEnds(_ receivers: KeptReceivers, _ systemCalls: SystemCalls) throws(ProcessError) -> [ReadingEnd] {
        var opened: [ReadingEnd] = []
        for end in ends {
            if end.descriptor >= 0 {
                _ = coordinator_process_keep_descriptor(end.descriptor, 0)
                opened.append(receivers.end(end, end.descriptor))
                continue
            }
            let descriptor = end.open(systemCalls)
            // The FIFO goes when the child has closed it.
            if descriptor == -ENOENT, end.role != .datagrams { continue }
            guard descriptor >= 0 else {
                for end in opened { systemCalls.close(end.descriptor) }
                throw ProcessError(-descriptor, action: "adopt process \(identity.processID): its file \(end.path ?? "")")
            }
            opened.append(receivers.end(end, descriptor))
        }
        return opened
    }
}

extension KeptProcess.End {
    /// Opens the FIFO, or makes the socket anew: the one at its path was that of a process that has ended.
    fileprivate func open(_ systemCalls: SystemCalls) -> Int32 {
        guard let path else { return -EBADF }
        guard role == .datagrams else { return systemCalls.openFIFO(path) }
        systemCalls.unlink(path)
        return systemCalls.datagramSocket(path, owner ?? geteuid())
    }
}
