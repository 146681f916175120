import ConcurrencySupport
import Glibc
import Links
import Processes
import WireProtocol

/// The files that a tree of processes keeps in its runtime directory, mode 0700: a socket for each process that has workers, and journals.
///
/// Each file is for one user, this process's, but for the sockets that the workers and programs of other users talk to: such a socket belongs
/// to that user, and the directory has mode 0711.
final class RuntimeFiles: Sendable {
    /// The suffix of the names of the process journals.
    static let journalSuffix = ".processes"
    /// The suffix of the names of the FIFOs that workers and programs write their output to.
    static let outputSuffix = ".out"
    /// The suffix of the names of the locks that workers hold for their lives, one for each path.
    static let lockSuffix = ".life"
    /// The suffix of the names of the sockets to which programs send notices.
    static let notifySuffix = ".notify"
    /// The name of the lock that the directory's root holds for its life.
    static let rootLock = "root.lock"
    /// The name under which the root listens in a directory that stays.
    static let rootName = "root"
    static let socketSuffix = ".sock"

    /// Returns the name of the lock of a worker's path.
    static func lockName(of path: String) -> String { "\(digest(of: path))\(lockSuffix)" }

    /// Returns the name of the FIFO for the output of a worker.
    static func outputName(of path: String, _ incarnation: UInt32) -> String { "\(digest(of: path))-\(incarnation)\(outputSuffix)" }

    /// Returns the name of another FIFO of a program: for its standard error, or for its readiness.
    static func outputName(of path: String, _ incarnation: UInt32, part: String) -> String {
        "\(digest(of: path))-\(incarnation)-\(part)\(outputSuffix)"
    }

    /// Returns the names of the lock and the FIFO of a process that waits for a life at a path: the lock gets the path's name with the life.
    static func spareNames(of path: String) -> (lock: String, output: String) {
        let name = "\(digest(of: path))-\(ProcessMark.makeEntry())"
        return ("\(name)\(lockSuffix)", "\(name)\(outputSuffix)")
    }

    /// Returns the name of the socket for the notices of a program.
    static func notifyName(of path: String, _ incarnation: UInt32) -> String { "\(digest(of: path))-\(incarnation)\(notifySuffix)" }

    /// Paths have slashes and may be long.
    private static func digest(of path: String) -> String {
        var hash = FNV1a()
        hash.add(path.utf8)
        return hash.text
    }

    private static func socketName(of process: pid_t) -> String { "\(process)\(socketSuffix)" }

    /// The directory that was requested, absolute; `nil`: a fresh one below the directory for temporary files, removed at the end, or by a next
    /// process when this one is killed.
    let given: String?
    /// The directory, once it has been made.
    private let made = Lock<String?>(nil)
    /// The fresh directory, once it has been made.
    private let fresh = Lock<TemporaryPlace?>(nil)

    init(_ given: String?) { self.given = given.map(Self.absolute) }

    /// Returns the name of the socket on which a process listens for its workers.
    ///
    /// The root's name in a directory that stays says nothing of its process: its workers find the next root there.
    func socketName(isRoot: Bool) -> String {
        isRoot && given != nil ? "\(Self.rootName)\(Self.socketSuffix)" : Self.socketName(of: getpid())
    }

    /// Returns the name of the socket for the workers of another user, which listens beside that of this user's workers, such as
    /// `root-65534.sock` beside `root.sock`.
    static func socketName(_ own: String, of user: UInt32) -> String {
        user == geteuid() ? own : "\(own.dropLast(socketSuffix.count))-\(user)\(socketSuffix)"
    }

    /// Returns who listens at a socket for workers, `root` or the number of a process; `nil` when no such socket has the name.
    static func listener(at socket: String) -> Substring? {
        guard socket.hasSuffix(socketSuffix) else { return nil }
        let parts = socket.dropLast(socketSuffix.count).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 1 || parts.count == 2 && UInt32(parts[1]) != nil else { return nil }
        return parts[0]
    }

    /// Returns the path of a socket.
    func socketPath(_ name: String) throws(LinkError) -> String {
        let path = try file(name)
        guard path.utf8.count <= RuntimeDirectory.maximumSocketPathLength else {
            throw LinkError(
                .connection,
                "the socket path \(path) is longer than \(RuntimeDirectory.maximumSocketPathLength) bytes: use a shorter runtime directory"
            )
        }
        return path
    }

    /// Returns the path of a file in the directory, which is made if it doesn't exist.
    func file(_ name: String) throws(LinkError) -> String { "\(try path())/\(name)" }

    /// Removes the sockets that a process has left.
    func removeSockets(of process: pid_t) {
        removeFile(Self.socketName(of: process))
        // The workers of other users can only have dialled in a directory that lets them pass.
        guard othersPass else { return }
        for name in names where Self.listener(at: name) == "\(process)" { removeFile(name) }
    }

    /// Removes a file of the directory, if there is one.
    func removeFile(_ name: String) {
        guard let path = made.withLock({ $0 }) else { return }
        unlink("\(path)/\(name)")
    }

    /// Gives a file of the directory another name, in place of the file that has it.
    ///
    /// - Returns: The error's number, or 0.
    func renameFile(_ name: String, to other: String) -> Int32 {
        guard let path = made.withLock({ $0 }) else { return ENOENT }
        return rename("\(path)/\(name)", "\(path)/\(other)") == 0 ? 0 : errno
    }

    /// Lets the processes of other users reach files of the directory that are theirs; they can't list it, and each file has its own mode.
    func letOthersPass() {
        guard let path = try? path() else { return }
        chmod(path, 0o711)
    }

    private var othersPass: Bool {
        var status = stat()
        guard let path = made.withLock({ $0 }), stat(path, &status) == 0 else { return false }
        return status.st_mode & 0o001 != 0
    }

    /// Removes the directory, if it's a fresh one.
    func remove() {
        fresh.withLock { $0 }?.remove()
    }

    /// The names of the directory's entries; none if it can't be read.
    var names: [String] {
        guard let path = try? path(), let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            // Unsafe: the name is a fixed array of the C structure, ended by NUL.
            names.append(withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
        }
        return names
    }

    /// Returns whether a process finds the same directory at the path: it may have another root directory, or other mounts.
    func isSeen(by process: pid_t) -> Bool {
        var here = stat()
        var there = stat()
        guard let given, stat(given, &here) == 0, stat("/proc/\(process)/root\(given)", &there) == 0 else { return false }
        return here.st_dev == there.st_dev && here.st_ino == there.st_ino
    }

    /// Returns the content of a small file; `nil` when it can't be read, or is a link.
    static func text(of path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = read(descriptor, &buffer, buffer.count), count > 0 { bytes += buffer[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func path() throws(LinkError) -> String {
        try made.withLock { made throws(LinkError) in
            if let made { return made }
            let path = try make()
            made = path
            return path
        }
    }

    private func make() throws(LinkError) -> String {
        if let given {
            do {
                try PrivateDirectory.prepare(given)
            } catch {
                throw LinkError(.connection, error.message)
            }
            return given
        }
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        guard let place = TemporaryPlace(in: Self.absolute(parent), named: "coordinator") else {
            throw LinkError(.connection, "no directory can be made in \(parent): \(String(cString: strerror(errno)))")
        }
        fresh.withLock { $0 = place }
        return place.path
    }

    /// Returns the path as an absolute one, because workers dial from directories of their own.
    private static func absolute(_ path: String) -> String { RuntimeDirectory(path: path).absolute()?.path ?? path }
}

// MARK: - The hash

/// A hash that is the same in every process; see http://www.isthe.com/chongo/tech/comp/fnv/.
struct FNV1a {
    private var value: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func add(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }

    /// Adds a value, whose fields count in the order of their names.
    mutating func add(_ value: JSONValue) {
        switch value {
        case .array(let elements):
            add("[\(elements.count)".utf8)
            for element in elements { add(element) }
        case .object(let fields):
            add("{\(fields.count)".utf8)
            for (name, field) in fields.sorted(by: { $0.key < $1.key }) {
                add(JSONValue.string(name))
                add(field)
            }
        case .string(let text):
            add("\"\(text.utf8.count)".utf8)
            add(text.utf8)
        default: add("\(value);".utf8)
        }
    }

    var text: String { String(value, radix: 36) }
}

extension JSONValue {
    /// The value, condensed: equal values have equal texts, in every process.
    package var condensed: String {
        var hash = FNV1a()
        hash.add(self)
        return hash.text
    }
}
