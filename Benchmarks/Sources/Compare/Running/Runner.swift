import CSubreaper
import Foundation

/// Runs one program after the other, each to its end, with all that it has started.
///
/// This process adopts what programs leave behind, so that nothing outlives its measurement: not even after a crash or Control-C.
struct Runner {
    private let log: Int32

    /// - Parameters:
    ///   - directory: The directory in which programs make their files.
    ///   - path: The file for everything that programs say about themselves.
    init(directory: String, log path: String) throws {
        log = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard log >= 0 else { throw RunFailure("\(path) can't be written: \(String(cString: strerror(errno)))") }
        setenv("TMPDIR", directory, 1)
        become_subreaper()
        Interruption.watch()
    }

    /// Runs a program, and returns the figures that it has printed, by name.
    ///
    /// The program is ended at the deadline, or before that when it takes much longer than it should.
    func run(_ program: Program, until deadline: ContinuousClock.Instant) throws(RunFailure) -> [String: Double] {
        write("== \(program.command.joined(separator: " "))\n")
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0, ends.allSatisfy({ fcntl($0, F_SETFD, FD_CLOEXEC) == 0 }) else {
            throw RunFailure("No pipe: \(String(cString: strerror(errno)))")
        }
        let output = ends[0]
        defer { close(output) }
        let process: pid_t
        do {
            defer { close(ends[1]) }
            process = try spawn(program, output: ends[1])
        }
        defer { endOrphans() }
        let (text, status) = watch(process, output, until: min(deadline, .now + program.limit))
        switch status {
        case nil where Interruption.hasCome: throw RunFailure("it was interrupted")
        case nil: throw RunFailure("it took too long and was ended")
        case 0?: return figures(in: text)
        case let status?: throw RunFailure(status & 0x7f == 0 ? "it exited with \(status >> 8)" : "signal \(status & 0x7f) ended it")
        }
    }

    private func spawn(_ program: Program, output: Int32) throws(RunFailure) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, log, STDERR_FILENO)
        // A group of its own: Control-C in the terminal reaches this process alone, which then ends the group.
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        posix_spawnattr_setpgroup(&attributes, 0)
        let environment = ProcessInfo.processInfo.environment.merging(program.environment) { $1 }.map { "\($0)=\($1)" }
        let arguments = (program.command.map { strdup($0) }) + [nil]
        let variables = environment.map { strdup($0) } + [nil]
        defer { (arguments + variables).forEach { free($0) } }
        var process = pid_t()
        let status = posix_spawnp(&process, program.command[0], &actions, &attributes, arguments, variables)
        guard status == 0 else { throw RunFailure("\(program.command[0]) can't be started: \(String(cString: strerror(status)))") }
        return process
    }

    /// Reads what a program prints, until it ends by itself; `nil` as its status says that it was ended.
    private func watch(_ process: pid_t, _ output: Int32, until deadline: ContinuousClock.Instant) -> (text: [UInt8], status: Int32?) {
        var text: [UInt8] = []
        var status: Int32 = 0
        while waitpid(process, &status, WNOHANG) == 0 {
            guard ContinuousClock.now < deadline && !Interruption.hasCome else {
                kill(-process, SIGKILL)
                waitpid(process, &status, 0)
                return (text, nil)
            }
            text += read(output, within: 20)
        }
        while case let more = read(output, within: 0), !more.isEmpty { text += more }
        return (text, status)
    }

    private func read(_ descriptor: Int32, within milliseconds: Int32) -> ArraySlice<UInt8> {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, milliseconds) > 0, waiting.revents & Int16(POLLIN) != 0 else {
            // At the end of the output poll(2) returns at once.
            if milliseconds > 0 && waiting.revents != 0 { usleep(1_000) }
            return []
        }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = Foundation.read(descriptor, &buffer, buffer.count)
        return buffer.prefix(max(count, 0))
    }

    /// Gives what the program has left a moment to end, then ends it.
    private func endOrphans() {
        let patience = ContinuousClock.now + .seconds(2)
        while true {
            let orphan = waitpid(-1, nil, WNOHANG)
            if orphan < 0 { return }
            if orphan > 0 { continue }
            if ContinuousClock.now > patience { children.forEach { kill($0, SIGKILL) } }
            usleep(1_000)
        }
    }

    private var children: [pid_t] {
        let text = (try? String(contentsOfFile: "/proc/self/task/\(getpid())/children", encoding: .utf8)) ?? ""
        return text.split(separator: " ").compactMap { pid_t($0) }
    }

    /// Parses lines of a name and a value.
    private func figures(in text: [UInt8]) -> [String: Double] {
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n").map { $0.split(separator: " ") }
        let pairs = lines.compactMap { line in
            line.count == 2 ? Double(line[1]).map { (String(line[0]), $0) } : nil
        }
        return Dictionary(pairs) { $1 }
    }

    private func write(_ line: String) {
        let bytes = Array(line.utf8)
        _ = Foundation.write(log, bytes, bytes.count)
    }
}

/// Why a program gave no figures.
struct RunFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
