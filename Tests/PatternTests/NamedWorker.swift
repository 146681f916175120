import Fixtures
import Glibc
import Processes
import TestSupport
import Testing

/// The worker's program under a name of its own, by which a test finds the processes that are its own among those of other tests.
final class NamedWorker: Sendable {
    let executable: String
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        executable = directory.file("worker")
        try #require(symlink(Support.worker.path, executable) == 0)
    }

    /// Puts another program in the executable's place; processes that live go on.
    func become(_ program: String) throws {
        Files.remove(executable)
        try #require(symlink(program, executable) == 0)
    }

    /// The children of this process that run the program; those that have ended aren't among them.
    var children: Set<ProcessIdentity> {
        Self.children(of: getpid()).filter { Self.firstArgument(of: $0.processID) == executable }
    }

    /// The children of a process that live.
    static func children(of parent: pid_t) -> Set<ProcessIdentity> {
        var found: Set<ProcessIdentity> = []
        for number in Files.numbers(in: "/proc") {
            let pid = Int32(number)
            guard Self.parent(of: pid) == parent else { continue }
            if let identity = ProcessIdentity(processID: pid), identity.isAlive { found.insert(identity) }
        }
        return found
    }

    private static func firstArgument(of pid: Int32) -> String {
        String((Files.text(of: "/proc/\(pid)/cmdline") ?? "").prefix { $0 != "\0" })
    }

    private static func parent(of pid: Int32) -> Int32? {
        // The name may hold anything, parentheses too; the state and the parent follow the last one.
        let text = Files.text(of: "/proc/\(pid)/stat") ?? ""
        guard let fields = text.split(separator: ")").last?.split(separator: " "), fields.count > 1 else { return nil }
        return Int32(fields[1])
    }
}
