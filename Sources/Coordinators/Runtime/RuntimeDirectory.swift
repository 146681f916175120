import Glibc
import Links
import Synchronization

/// Where a tree of processes keeps its sockets: one directory, mode 0700, with one socket for each process that has workers.
final class RuntimeDirectory: Sendable {
    private enum State {
        case unmade
        case made(String)
    }

    /// The directory that was asked for; `nil`: a fresh one below the directory for temporary files, removed at the end.
    private let given: String?
    private let state = Mutex(State.unmade)

    init(_ given: String?) { self.given = given }

    /// The path of the socket on which a process listens for its workers.
    func socketPath(of process: pid_t) throws(LinkError) -> String {
        let path = "\(try path())/\(process).sock"
        guard path.utf8.count <= 107 else {
            throw LinkError(.connection, "the socket path \(path) is longer than 107 bytes: use a shorter runtime directory")
        }
        return path
    }

    /// Removes the socket that a process has left.
    func removeSocket(of process: pid_t) {
        guard case .made(let path) = state.withLock({ $0 }) else { return }
        unlink("\(path)/\(process).sock")
    }

    /// Removes the directory, if it was made for the occasion.
    func remove() {
        guard given == nil, case .made(let path) = state.withLock({ $0 }) else { return }
        rmdir(path)
    }

    private func path() throws(LinkError) -> String {
        let result = state.withLock { state -> Result<String, LinkError> in
            if case .made(let path) = state { return .success(path) }
            do throws(LinkError) {
                let path = try make()
                state = .made(path)
                return .success(path)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private func make() throws(LinkError) -> String {
        if let given {
            guard mkdir(given, 0o700) == 0 || errno == EEXIST else {
                throw LinkError(.connection, "the runtime directory \(given) can't be made: \(String(cString: strerror(errno)))")
            }
            return given
        }
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/coordinator-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw LinkError(.connection, "no directory can be made in \(parent): \(String(cString: strerror(errno)))")
        }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
