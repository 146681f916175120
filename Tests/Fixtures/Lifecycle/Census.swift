import Glibc

/// The resources of a process at one moment, as the kernel counts them.
public struct Census: Codable, Sendable, Hashable {
    public var instances: Int
    public var descriptors: Int
    public var threads: Int
    public var childProcesses: Int

    /// Counts in this process.
    static func taken(of greeting: String) -> Census {
        Census(
            instances: LiveInstances.count(of: greeting),
            descriptors: entries(of: "/proc/self/fd").count,
            threads: entries(of: "/proc/self/task").count,
            childProcesses: entries(of: "/proc").count { parent(of: $0) == getpid() }
        )
    }

    /// Zombies count too: they have a parent until they are waited for.
    private static func parent(of process: String) -> Int32? {
        guard Int32(process) != nil, let file = fopen("/proc/\(process)/stat", "re") else { return nil }
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 1_024)
        let count = fread(&buffer, 1, buffer.count, file)
        // The name may hold anything, parentheses too; the state and the parent follow the last one.
        let fields = String(decoding: buffer[..<count], as: UTF8.self).split(separator: ")").last?.split(separator: " ")
        guard let fields, fields.count > 1 else { return nil }
        return Int32(fields[1])
    }

    private static func entries(of path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}
