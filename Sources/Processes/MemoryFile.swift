import CProcess
import Glibc

/// A file in memory without a name, which a program leaves to the next one in the same process: an environment variable has room for 128 KiB.
package enum MemoryFile {
    /// Writes a file, and returns its descriptor.
    package static func write(_ bytes: [UInt8]) throws(ProcessError) -> Int32 {
        let descriptor = coordinator_process_memory_file("heritage")
        guard descriptor >= 0 else { throw ProcessError(-descriptor, action: "make a file in memory") }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else {
                let error = errno
                close(descriptor)
                throw ProcessError(error, action: "write a file in memory")
            }
            rest = rest.dropFirst(count)
        }
        return descriptor
    }

    /// Reads a file from its beginning, and closes it; returns `nil` when the descriptor isn't one of a file.
    package static func readAndClose(_ descriptor: Int32) -> [UInt8]? {
        guard descriptor > STDERR_FILENO, lseek(descriptor, 0, SEEK_SET) == 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = read(descriptor, &buffer, buffer.count), count > 0 { bytes += buffer[..<count] }
        return bytes
    }
}

extension MemoryFile {
    /// Whether a path is on a file system in memory, which a boot empties; nil when there is nothing at the path.
    package static func isFileSystem(at path: String) -> Bool? {
        let result = coordinator_process_is_in_memory(path)
        return result < 0 ? nil : result == 1
    }
}
