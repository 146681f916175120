import Glibc
import PatternFixtures
import Processes
import Testing

/// The worker's program under a name of its own, by which a test finds the processes that are its own among those of other tests.
final class NamedWorker: Sendable {
    let executable: String
    private let directory: String

    init() throws {
        var template = Array("/tmp/pattern-worker-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        executable = "\(directory)/worker"
        try #require(symlink(Support.workerExecutable, executable) == 0)
    }

    deinit {
        unlink(executable)
        rmdir(directory)
    }

    /// The children of this process that run the program; those that have ended aren't among them.
    var children: Set<ProcessIdentity> {
        Self.children(of: getpid()).filter { Self.firstArgument(of: $0.processID) == executable }
    }

    /// The children of a process that live.
    static func children(of parent: pid_t) -> Set<ProcessIdentity> {
        var found: Set<ProcessIdentity> = []
        for name in Census.entries(of: "/proc") {
            guard let pid = Int32(name), Self.parent(of: pid) == parent else { continue }
            if let identity = ProcessIdentity(processID: pid), identity.isAlive { found.insert(identity) }
        }
        return found
    }

    private static func firstArgument(of pid: Int32) -> String {
        let bytes = contents(of: "/proc/\(pid)/cmdline")
        return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }

    private static func parent(of pid: Int32) -> Int32? {
        // The name may hold anything, parentheses too; the state and the parent follow the last one.
        let text = String(decoding: contents(of: "/proc/\(pid)/stat"), as: UTF8.self)
        guard let fields = text.split(separator: ")").last?.split(separator: " "), fields.count > 1 else { return nil }
        return Int32(fields[1])
    }

    private static func contents(of path: String) -> [UInt8] {
        guard let file = fopen(path, "re") else { return [] }
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = fread(&buffer, 1, buffer.count, file)
        return Array(buffer[..<count])
    }
}
