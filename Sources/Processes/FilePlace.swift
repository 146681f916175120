import CProcess
package import Glibc

/// The place of a file that this process writes, or shows to others, in a directory that another user may have a hand in.
///
/// A process of root follows whatever link it meets, and so does another's bidding. Here the way to a file may lead from what root and this
/// process's user own to what another user owns, and never back, nor to a third one's: all behind the first entry that's another user's,
/// links included, has to be that user's. What is made there is made as that user. A file with several names, and what isn't a regular file,
/// isn't used where another user could have put it; a file of somebody else in a sticky directory, such as `/tmp`, neither.
///
/// The directory is held open: what becomes of its name later changes nothing. Finding and opening may block.
package struct FilePlace: ~Copyable {
    /// What a file is for: everything that a daemon writes, or shows to others, where its configuration or its user says.
    package enum Use: String, CaseIterable, Sendable {
        /// The output of a child, which is written.
        case log
        /// A former file of a child's output, which is renamed and removed.
        case formerLog
        /// The output of a child, which is shown.
        case shownLog
        /// The standard input of a program, which is read.
        case input
        /// Spans and metrics, which are written.
        case telemetry
        /// The socket of a program, which is bound, given its permissions and removed.
        case socket
        /// The directory of the daemon's own sockets, locks and journal.
        case runtimeDirectory
        /// The file of epochs of a store in a directory.
        case epochs

        /// Whether directories that are missing on the way are made.
        fileprivate var makesDirectories: Bool { self == .log || self == .epochs }

        /// The flags of open(2), and the permissions of a file that is made; nil: the file is only looked at.
        fileprivate var flags: (flags: Int32, mode: mode_t)? {
            switch self {
            case .log: (O_RDWR | O_CREAT | O_APPEND, 0o600)
            case .shownLog, .input: (O_RDONLY, 0)
            case .telemetry: (O_WRONLY | O_CREAT | O_APPEND, 0o640)
            case .formerLog, .socket, .runtimeDirectory, .epochs: nil
            }
        }
    }

    /// The reason why a file isn't used.
    package struct Failure: Error, Hashable, CustomStringConvertible {
        /// The error's number; EPERM when another user could have led this process to the file.
        package let errno: Int32
        /// Whether another user could have led this process to the file.
        package let isUnsafe: Bool
        /// The continuation of "can't be written: ", with what to do.
        package let description: String

        package init(errno: Int32) { (self.errno, isUnsafe, description) = (errno, false, String(cString: strerror(errno))) }

        init(_ place: coordinator_place) {
            var place = place
            // Unsafe: the names are fixed arrays of the C structure.
            let entry = withUnsafePointer(to: &place) { String(cString: coordinator_place_entry($0)) }
            let (name, owner) = ("`\(entry)`", FilePlace.name(of: place.owner))
            let reason =
                switch coordinator_place_refusal(UInt32(place.refusal)) {
                case COORDINATOR_PLACE_LEADS_ELSEWHERE:
                    "\(name) is of \(FilePlace.name(of: place.entry_owner)), and \(owner) could have led there; "
                        + "choose a directory of root, or give \(owner) all that is in it"
                case COORDINATOR_PLACE_HARD_LINK:
                    "\(name) has other names too, and another user could have given it this one; remove it, or choose another directory"
                case COORDINATOR_PLACE_NOT_REGULAR:
                    "\(name) isn't a regular file, and \(owner) could have put it there; remove it, or choose another directory"
                default:
                    "\(name) is of \(FilePlace.name(of: place.entry_owner)), in a directory where everybody may put a file; remove it, or choose another directory"
                }
            (errno, isUnsafe, description) = (EPERM, true, reason)
        }
    }

    private var place = coordinator_place()
    private let use: Use

    /// Finds the place of a path; a relative one begins at the working directory.
    ///
    /// - Parameter directoryMode: The permissions of directories that are made on the way, less the umask.
    package init(_ path: String, for use: Use, directoryMode: mode_t = 0o700) throws(Failure) {
        self.use = use
        guard !path.utf8.contains(0) else { throw Failure(errno: EINVAL) }
        let result = coordinator_place_find(path, use.makesDirectories ? directoryMode : 0, &place)
        guard result < 0 else { return }
        coordinator_place_close(&place)
        throw Self.failure(result, place)
    }

    deinit {
        if place.directory >= 0 { close(place.directory) }
    }

    /// The file's name in its directory.
    package var name: String {
        var place = place
        // Unsafe: the name is a fixed array of the C structure.
        return withUnsafePointer(to: &place) { String(cString: coordinator_place_name($0)) }
    }

    /// The user whose the place is, if that is another one than root and this process's.
    package var otherOwner: UInt32? { coordinator_place_is_trusted(place.owner) == 0 ? place.owner : nil }

    /// Whether the directory is another user's, or one like `/tmp`.
    package var othersMakeFiles: Bool { otherOwner != nil || place.is_sticky != 0 }

    /// Whether another user than root and this process's can make the path lead somewhere else later.
    package var isReplaceable: Bool { otherOwner != nil || place.is_replaceable != 0 }

    /// A path of the file that leads to this place whatever becomes of the directory's name, as long as this value lives.
    package var fixedPath: String { "/proc/self/fd/\(place.directory)/\(name)" }

    /// Opens the file as its use needs it, without waiting for anything but its file system; links to it are followed as those on the way.
    package func open() throws(Failure) -> Int32 {
        var opened = coordinator_place()
        let result = withUnsafePointer(to: place) { place in
            use.flags.map { coordinator_place_open(place, $0.flags, $0.mode, &opened) } ?? coordinator_place_look(place, &opened)
        }
        guard result < 0 else { return result }
        throw Self.failure(result, opened)
    }

    /// Returns what the file is, without opening it.
    package func status() throws(Failure) -> stat {
        var opened = coordinator_place()
        let descriptor = withUnsafePointer(to: place) { coordinator_place_look($0, &opened) }
        guard descriptor >= 0 else { throw Self.failure(descriptor, opened) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Failure(errno: errno) }
        return status
    }

    /// Whether the name is that of a socket; a link isn't one.
    package var isSocket: Bool {
        var status = stat()
        return fstatat(place.directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_mode & S_IFMT == S_IFSOCK
    }

    /// Makes a directory with the mode 0700, unless there is a file.
    package func makeDirectory() throws(Failure) {
        let name = name
        guard mkdirat(place.directory, name, 0o700) != 0 else {
            // The umask may have removed some of the owner's permissions.
            let directory = openat(place.directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            fchmod(directory, 0o700)
            close(directory)
            return
        }
        if errno != EEXIST { throw Failure(errno: errno) }
    }

    /// Gives a name of the directory to another one's file, which isn't opened.
    package func rename(_ name: String, to other: String) -> Int32 { renameat(place.directory, name, place.directory, other) }

    /// Removes a name from the directory.
    package func unlink(_ name: String) -> Int32 { unlinkat(place.directory, name, 0) }

    /// Makes something in the directory, as the user whose the place is.
    package func make<Value>(_ body: () -> Value) throws(Failure) -> Value {
        let result = withUnsafePointer(to: place) { coordinator_place_begin_as_owner($0) }
        guard result >= 0 else { throw Failure(errno: -result) }
        defer { coordinator_place_end_as_owner() }
        return body()
    }

    /// Returns the failure that a function of a place has told.
    static func failure(_ result: Int32, _ place: coordinator_place) -> Failure {
        result == -Int32(COORDINATOR_PLACE_REFUSED.rawValue) ? Failure(place) : Failure(errno: -result)
    }

    private static func name(of user: uid_t) -> String { user == 0 ? "root" : "the user \(user)" }
}
