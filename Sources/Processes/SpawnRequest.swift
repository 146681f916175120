import CProcess
import Glibc

/// A specification in the kernel's terms: names resolved, sources above all targets.
package struct SpawnRequest: Sendable {
    package var executable: String
    /// The arguments, with `argv[0]`.
    package var arguments: [String]
    /// The variables as `NAME=value`; nil: those of this process.
    package var environment: [[UInt8]]?
    package var workingDirectory: String?
    /// A source of -1 stands for /dev/null.
    package var descriptors: [InheritedDescriptor]
    package var diesWithParent: Bool
    /// The directory of the control group in which the child begins; nil: that of this process.
    package var controlGroup: String?
    /// What the child doesn't inherit; nil: it inherits all.
    var attributes: SpawnAttributes?

    init(_ specification: ProcessSpecification, descriptors: [InheritedDescriptor]) {
        executable = specification.executable
        arguments = [specification.processName ?? specification.executable] + specification.arguments
        environment = specification.environment.map { Self.merged($0, over: specification.inheritedEnvironment) }
        attributes = SpawnAttributes(specification.attributes, specification.account)
        workingDirectory = specification.workingDirectory
        self.descriptors = descriptors
        diesWithParent = specification.diesWithParent
        controlGroup = specification.controlGroup?.directory
    }

    /// Spawns the child and returns its number, or the negated errno.
    func run() -> Int32 {
        let descriptors = descriptors.map { coordinator_process_descriptor(source: $0.source, target: $0.target) }
        return Self.withCStrings(arguments.map { Array($0.utf8) }) { arguments in
            guard let environment else { return spawn(arguments, nil, descriptors) }
            return Self.withCStrings(environment) { spawn(arguments, $0, descriptors) }
        }
    }

    private func spawn(
        _ arguments: UnsafePointer<UnsafeMutablePointer<CChar>?>,
        _ environment: UnsafePointer<UnsafeMutablePointer<CChar>?>?,
        _ descriptors: [coordinator_process_descriptor]
    ) -> Int32 {
        func spawn(_ attributes: UnsafePointer<coordinator_process_attributes>?) -> Int32 {
            coordinator_process_spawn(
                executable,
                arguments,
                environment,
                workingDirectory,
                descriptors,
                Int32(descriptors.count),
                diesWithParent ? 1 : 0,
                controlGroup,
                attributes
            )
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
        _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Int32
    ) -> Int32 {
        var copies = strings.map { bytes -> UnsafeMutablePointer<CChar>? in
            let copy = calloc(bytes.count + 1, 1)
            copy?.copyMemory(from: bytes, byteCount: bytes.count)
            return copy?.assumingMemoryBound(to: CChar.self)
        }
        defer { copies.forEach { free($0) } }
        guard !copies.contains(nil) else { return -ENOMEM }
        copies.append(nil)
        return copies.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return -ENOMEM }
            return body(base)
        }
    }
}
