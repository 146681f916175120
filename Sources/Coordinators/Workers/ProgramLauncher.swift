import Glibc
import Processes

/// How a plain program comes to die with its parent: this executable arms the parent-death signal, then becomes the program.
///
/// The signal survives execve(2), and a program can't be asked to arm it itself. See prctl(2), PR_SET_PDEATHSIG.
enum ProgramLauncher {
    /// Set for the launcher only: the parent's process id.
    static let variable = "COORDINATOR_LAUNCH"

    /// Becomes the program if this process was spawned for one; returns otherwise.
    ///
    /// The arguments are the executable's path, then the program's own argument vector. Exit status 126: it couldn't be run.
    static func becomeProgramIfRequested() {
        guard let text = getenv(variable).map({ String(cString: $0) }), let parent = Int32(text) else { return }
        unsetenv(variable)
        let arguments = Array(CommandLine.arguments.dropFirst())
        do throws(ProcessError) {
            try WorkerProcess.armParentDeathSignal(expecting: parent)
        } catch {
            fail("\(error.message)")
        }
        guard arguments.count >= 2 else { fail("a program is to be launched, but none was named") }
        var vector = arguments.dropFirst().map { strdup($0) } + [nil]
        execv(arguments[0], &vector)
        fail("\(arguments[0]) can't be run: \(String(cString: strerror(errno)))")
    }

    /// Where an executable is, as execvp(3) would look for it.
    static func find(_ name: String, in path: String?, relativeTo directory: String?) -> String? {
        func isExecutable(_ candidate: String) -> Bool {
            let absolute = candidate.hasPrefix("/") ? candidate : "\(directory ?? ".")/\(candidate)"
            return access(absolute, X_OK) == 0
        }
        if name.contains("/") { return isExecutable(name) ? name : nil }
        return (path ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":").map { "\($0)/\(name)" }.first(where: isExecutable)
    }

    private static func fail(_ message: String) -> Never {
        let line = Array("\(message)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
        exit(126)
    }
}
