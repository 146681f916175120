import Glibc

/// The lock that makes a daemon the only one in its runtime directory.
///
/// The directory itself is locked, because a lock file could be removed, and another daemon would then lock a new one. The kernel releases
/// the lock however the daemon ends; children don't inherit the descriptor. The file `control.lock` names the owner's process for people.
struct DirectoryLock {
    /// The name of the file that names the owner.
    static let name = "control.lock"

    private let directory: String
    private let descriptor: Int32

    /// Locks a directory with flock(2).
    ///
    /// - Throws: `.alreadyRunning` when another process has the lock.
    init(_ directory: String) throws(ControlError) {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            throw ControlError(.init(errno: errno), "can't open \(directory): \(String(cString: strerror(errno)))")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            defer { close(descriptor) }
            guard errno == EWOULDBLOCK else {
                throw ControlError(.failed, "can't lock \(directory): \(String(cString: strerror(errno)))")
            }
            let owner = Self.owner(of: directory).map { "pid \($0)" } ?? "pid unknown"
            throw ControlError(
                .alreadyRunning,
                "another daemon is running (\(owner)) in \(directory); stop it with `coordinatorctl shutdown`, or name another --runtime-dir"
            )
        }
        self.directory = directory
        self.descriptor = descriptor
        nameOwner()
    }

    /// Whether the directory at the path is the locked one: it may have been removed, and made anew.
    var isOfCurrentDirectory: Bool {
        guard let current = FileIdentity(at: directory) else { return false }
        return current == FileIdentity(of: descriptor)
    }

    /// Writes the owner's process ID where people find it; the lock doesn't depend on it.
    func nameOwner() {
        let file = open(Self.file(in: directory), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { return }
        defer { close(file) }
        let text = Array("\(getpid())\n".utf8)
        if ftruncate(file, 0) == 0 { _ = pwrite(file, text, text.count, 0) }
    }

    /// Whether the file that names the owner exists.
    var isOwnerNamed: Bool { FileIdentity(at: Self.file(in: directory)) != nil }

    func release() { close(descriptor) }

    private static func file(in directory: String) -> String { directory + "/" + name }

    private static func owner(of directory: String) -> Int32? {
        let file = open(file(in: directory), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var buffer = [UInt8](repeating: 0, count: 32)
        let count = pread(file, &buffer, buffer.count, 0)
        guard count > 0 else { return nil }
        return Int32(String(decoding: buffer[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
    }
}

/// A file or a directory, whatever its path.
struct FileIdentity: Equatable {
    private let device: dev_t
    private let number: ino_t

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
