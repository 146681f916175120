import CProcess
import Glibc

/// A specification in the kernel's terms: names resolved, sources above all targets.
package struct SpawnRequest: Sendable {
    /// The paths of the program, of which the first that is there is executed.
    package var paths: [String]
    /// The arguments, with `argv[0]`.
    package var arguments: [String]
    /// The variables as `NAME=value`; nil: those of this process.
    package var environment: [[UInt8]]?
    package var workingDirectory: String?
    /// A source of -1 stands for /dev/null.
    package var descriptors: [InheritedDescriptor]
    /// The writing end of the pipe into which the child writes why it can't become the program.
    var status: Int32
    package var diesWithParent: Bool
    /// The directory of the control group in which the child begins; nil: that of this process.
    package var controlGroup: String?
    /// Whether the child isn't started without its control group, which holds its limits.
    var mustJoinGroup: Bool
    /// What the child doesn't inherit; nil: it inherits all.
    var attributes: SpawnAttributes?

    init(_ specification: ProcessSpecification, descriptors: [InheritedDescriptor], status: Int32) {
        paths = Self.paths(of: specification.executable, in: specification.searchPath)
        arguments = [specification.processName ?? specification.executable] + specification.arguments
        environment = specification.environment.map { Self.merged($0, over: specification.inheritedEnvironment) }
        attributes = SpawnAttributes(specification.attributes, specification.account)
        workingDirectory = specification.workingDirectory
        self.descriptors = descriptors
        self.status = status
        diesWithParent = specification.diesWithParent
        controlGroup = specification.controlGroup?.directory
        mustJoinGroup = specification.attributes.groupLimits != nil
    }

    /// Returns the places in which execvp(3) looks for a program.
    private static func paths(of executable: String, in searchPath: String?) -> [String] {
        if executable.contains("/") { return [executable] }
        let directories = searchPath ?? getenv("PATH").map { String(cString: $0) } ?? "/bin:/usr/bin"
        return directories.split(separator: ":", omittingEmptySubsequences: false).map { $0.isEmpty ? executable : "\($0)/\(executable)" }
    }

    /// Spawns the child; doesn't wait until it has become the program.
    func run() -> SpawnedChild {
        let descriptors = descriptors.map { coordinator_process_descriptor(source: $0.source, target: $0.target) }
        return Self.withCStrings(paths.map { Array($0.utf8) }) { paths in
            Self.withCStrings(arguments.map { Array($0.utf8) }) { arguments in
                guard let environment else { return spawn(paths, arguments, nil, descriptors) }
                return Self.withCStrings(environment) { spawn(paths, arguments, $0, descriptors) }
            }
        }
    }

    private func spawn(
        _ paths: UnsafePointer<UnsafeMutablePointer<CChar>?>,
        _ arguments: UnsafePointer<UnsafeMutablePointer<CChar>?>,
        _ environment: UnsafePointer<UnsafeMutablePointer<CChar>?>?,
        _ descriptors: [coordinator_process_descriptor]
    ) -> SpawnedChild {
        func spawn(_ attributes: UnsafePointer<coordinator_process_attributes>?) -> SpawnedChild {
            var memory: UnsafeMutableRawPointer?
            let processID = coordinator_process_spawn(
                paths,
                arguments,
                environment,
                workingDirectory,
                descriptors,
                Int32(descriptors.count),
                status,
                diesWithParent ? 1 : 0,
                controlGroup,
                mustJoinGroup ? 1 : 0,
                attributes,
                &memory
            )
            return SpawnedChild(processID: processID, memory: memory)
        }
        return attributes?.withC { spawn($0) } ?? spawn(nil)
    }

    private static func merged(_ overlay: [String: String], over inherited: [[UInt8]]) -> [[UInt8]] {
        let names = Set(overlay.keys.map { Array($0.utf8) })
        let kept = inherited.filter { !names.contains(Array($0.prefix { $0 != UInt8(ascii: "=") })) }
        return kept + overlay.map { name, value in Array("\(name)=\(value)".utf8) }
    }

    /// Calls a function with an array of C strings, ended by NULL, that lives as long as the call.
    private static func withCStrings(
        _ strings: [[UInt8]],
        // Unsafe pointers, because execve takes them.
        _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> SpawnedChild
    ) -> SpawnedChild {
        var copies = strings.map { bytes -> UnsafeMutablePointer<CChar>? in
            let copy = calloc(bytes.count + 1, 1)
            copy?.copyMemory(from: bytes, byteCount: bytes.count)
            return copy?.assumingMemoryBound(to: CChar.self)
        }
        defer { copies.forEach { free($0) } }
        guard !copies.contains(nil) else { return SpawnedChild(processID: -ENOMEM) }
        copies.append(nil)
        return copies.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return SpawnedChild(processID: -ENOMEM) }
            return body(base)
        }
    }
}

/// A child that is about to become its program.
///
/// `@unchecked`: the pointer is only handed on.
package struct SpawnedChild: @unchecked Sendable {
    /// The number of the process, or the negated errno.
    package let processID: Int32
    /// What the child works with until it has become the program.
    // Unsafe, because it lives as long as the child needs it, which only the child's end of the status pipe tells.
    private let memory: UnsafeMutableRawPointer?

    package init(processID: Int32, memory: UnsafeMutableRawPointer? = nil) { (self.processID, self.memory) = (processID, memory) }

    /// Frees what the child has worked with, once it has closed the status pipe.
    func release() { if let memory { coordinator_process_spawn_release(memory) } }
}
