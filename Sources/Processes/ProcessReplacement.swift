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

/// A child that stays a child of this process when another program takes the present one's place.
package struct KeptProcess: Codable, Sendable {
    /// A pipe or socket that the program reads from.
    struct End: Codable, Sendable {
        let role: ReadingEnd.Role
        let descriptor: Int32
        let path: String?
    }

    /// The child.
    package let identity: ProcessIdentity
    let ends: [End]

    /// The descriptors that the next program needs for the child.
    package var descriptors: [Int32] { ends.map(\.descriptor) }
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

    fileprivate func end(_ kept: KeptProcess.End) -> ReadingEnd {
        let receive =
            switch kept.role {
            case .output: output
            case .errors: errors
            case .channel: channel
            case .datagrams: datagrams
            }
        return ReadingEnd(descriptor: kept.descriptor, receive: receive, path: kept.path, role: kept.role, isFull: isFull)
    }
}

extension KeptProcess {
    /// Returns the reading ends, which are this process's again from now on.
    func readingEnds(_ receivers: KeptReceivers) -> [ReadingEnd] {
        ends.map { end in
            _ = coordinator_process_keep_descriptor(end.descriptor, 0)
            return receivers.end(end)
        }
    }
}
