import Glibc
import Testing

/// Runs an executable of this package that was built beside the test binary.
enum Executable {
    struct Ended: Equatable {
        var exitCode: Int32
        var output: String
        var errors: String
    }

    private static func path(of name: String) throws -> String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        try #require(count > 0)
        let binary = String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
        let directory = binary.split(separator: "/").dropLast().joined(separator: "/")
        return "/\(directory)/\(name)"
    }

    /// Runs it to its end; a process that hasn't ended within 30 s is killed, and its exit code is -9.
    static func run(_ name: String, _ arguments: [String], environment: [String] = []) async throws -> Ended {
        let temporary = try TemporaryDirectory()
        let (output, errors) = (temporary.path + "/output", temporary.path + "/errors")
        let path = try path(of: name)

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_CREAT | O_WRONLY, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, errors, O_CREAT | O_WRONLY, 0o600)

        var pid = pid_t()
        var argumentPointers = ([path] + arguments).map { strdup($0) } + [nil]
        var environmentPointers = (["PATH=/usr/bin:/bin"] + environment).map { strdup($0) } + [nil]
        defer { for pointer in argumentPointers + environmentPointers { free(pointer) } }
        try #require(posix_spawn(&pid, path, &actions, nil, &argumentPointers, &environmentPointers) == 0, "can't run \(path)")

        // A blocking wait would take one of the few threads on which the server under test runs.
        let deadline = ContinuousClock.now + .seconds(30)
        var status: Int32 = 0
        while waitpid(pid, &status, WNOHANG) == 0 {
            if ContinuousClock.now > deadline {
                kill(pid, SIGKILL)
                waitpid(pid, &status, 0)
                break
            }
            try? await Task.sleep(for: .milliseconds(2))
        }
        let exitCode = status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
        return Ended(exitCode: exitCode, output: contents(of: output), errors: contents(of: errors))
    }

    private static func contents(of path: String) -> String {
        let descriptor = open(path, O_RDONLY)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while case let count = read(descriptor, &buffer, buffer.count), count > 0 { bytes += buffer[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }
}
