import ConcurrencySupport
import Glibc
import NNG
import Processes

/// The control socket of one daemon: its directory, the lock that makes the daemon the only one there, and the listener.
final class ControlEndpoint: Sendable {
    private struct State {
        /// The locked descriptor of `control.lock`; -1 after its release.
        var lock: Int32
        var listener: StreamListener
        /// The identity of the socket file that the listener made.
        var file: FileIdentity?
    }

    private struct FileIdentity: Equatable {
        let device: dev_t
        let number: ino_t

        init?(at path: String) {
            var status = stat()
            guard lstat(path, &status) == 0 else { return nil }
            (device, number) = (status.st_dev, status.st_ino)
        }

        init?(of descriptor: Int32) {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { return nil }
            (device, number) = (status.st_dev, status.st_ino)
        }
    }

    private let path: String
    private let state: Lock<State>

    /// Makes the directory when it is missing, takes the lock, and then replaces a socket file that a former daemon left.
    ///
    /// - Throws: `.alreadyRunning` when another process has the lock, `.notPermitted` when other users may write to the directory.
    init(path: String) throws(ControlError) {
        self.path = path
        let directory = Self.directory(of: path)
        try Self.prepare(directory)
        let descriptor = try Self.takeLock(in: directory)
        do throws(ControlError) {
            let listener = try Self.listen(at: path)
            state = Lock(State(lock: descriptor, listener: listener, file: FileIdentity(at: path)))
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// The listener that accepts operators now.
    var listener: StreamListener { state.withLock { $0.listener } }

    /// Listens anew when the socket file was removed or replaced, so that operators find it again.
    ///
    /// Accepted connections stay open. After a failure everything is as before, and the next call tries again.
    func restore() {
        state.withLock { state in
            guard state.lock >= 0, state.file == nil || FileIdentity(at: path) != state.file else { return }
            let directory = Self.directory(of: path)
            guard (try? Self.prepare(directory)) != nil else { return }
            // The lock has gone with the directory. In the new directory it is taken again, unless another daemon has it.
            if FileIdentity(at: directory + "/control.lock") != FileIdentity(of: state.lock) {
                guard let lock = try? Self.takeLock(in: directory) else { return }
                close(state.lock)
                state.lock = lock
            }
            // Closing the listener removes any file at the path.
            state.listener.close()
            state.file = nil
            guard let listener = try? Self.listen(at: path) else { return }
            state.listener = listener
            state.file = FileIdentity(at: path)
        }
    }

    deinit {
        remove()
    }

    /// Stops listening, removes the socket file and releases the lock; the second call does nothing.
    ///
    /// The lock file stays: without it two daemons could lock two different files of that name.
    func remove() {
        state.withLock { state in
            guard state.lock >= 0 else { return }
            state.listener.close()
            unlink(path)
            close(state.lock)
            state.lock = -1
        }
    }

    private static func prepare(_ directory: String) throws(ControlError) {
        do {
            try PrivateDirectory.prepare(directory, option: " with --runtime-dir")
        } catch {
            throw ControlError(error.isUnsafe ? .notPermitted : .failed, error.message)
        }
    }

    /// Takes the lock with flock(2), which the kernel releases however the daemon ends; children don't inherit the descriptor.
    private static func takeLock(in directory: String) throws(ControlError) -> Int32 {
        let path = directory + "/control.lock"
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw ControlError(.failed, "can't open \(path): \(reason())") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            defer { close(descriptor) }
            guard errno == EWOULDBLOCK else { throw ControlError(.failed, "can't lock \(path): \(reason())") }
            let owner = ownerOfLock(descriptor).map { "pid \($0)" } ?? "pid unknown"
            throw ControlError(
                .alreadyRunning,
                "another daemon is running (\(owner)) in \(directory); stop it with `coordinatorctl shutdown`, or name another --runtime-dir"
            )
        }
        let text = Array("\(getpid())\n".utf8)
        // The process ID is for people; the lock doesn't depend on it.
        if ftruncate(descriptor, 0) == 0 { _ = pwrite(descriptor, text, text.count, 0) }
        return descriptor
    }

    private static func ownerOfLock(_ descriptor: Int32) -> Int32? {
        var buffer = [UInt8](repeating: 0, count: 32)
        let count = pread(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return nil }
        return Int32(String(decoding: buffer[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
    }

    /// Listens at the path; a socket file there is stale, because this daemon holds the lock.
    private static func listen(at path: String) throws(ControlError) -> StreamListener {
        guard unlink(path) == 0 || errno == ENOENT else {
            throw ControlError(.failed, "can't remove the stale control socket \(path): \(reason()); remove it by hand")
        }
        do {
            return try StreamListener("ipc://" + path, permissions: 0o600)
        } catch {
            throw ControlError(.failed, "can't listen at \(path): \(error)")
        }
    }

    private static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func reason() -> String {
        String(cString: strerror(errno))
    }
}
