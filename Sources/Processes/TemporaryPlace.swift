import ConcurrencySupport
import Glibc

/// A fresh directory below the one for temporary files, for as long as this process lives.
///
/// Its name says whose it is, by number and start time, and its owner holds a lock on it: the next process of the same user that makes one
/// removes those whose owners were killed.
package final class TemporaryPlace: Sendable {
    /// The directory's path.
    package let path: String
    /// The descriptor that has the lock, which a process in another namespace sees though it doesn't see this process.
    private let descriptor: Int32

    /// Makes a directory, mode 0700, after removing those of dead owners.
    ///
    /// - Parameters:
    ///   - parent: The directory for temporary files.
    ///   - name: The beginning of the directory's name.
    /// - Returns: `nil` when it can't be made; `errno` says why.
    package init?(in parent: String, named name: String) {
        Self.removeAbandoned(in: parent, named: name)
        let owner = ProcessIdentity.current
        var template = Array("\(parent)/\(name)-\(owner.processID).\(owner.startTime)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { return nil }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        // Without the lock the name alone says whose it is.
        if descriptor >= 0 { flock(descriptor, LOCK_EX | LOCK_NB) }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Removes the directory, if it's empty.
    package func remove() { rmdir(path) }

    /// Removes what killed processes of this user have left.
    static func removeAbandoned(in parent: String, named name: String) {
        let directory = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }
        defer { close(directory) }
        for entry in names(in: directory) where owner(of: entry, named: name).map({ !$0.isAlive }) == true {
            removeAbandoned(entry, in: directory)
        }
    }

    /// Removes a directory, unless it's another user's, a link, or locked, or has more in it than sockets and FIFOs.
    private static func removeAbandoned(_ entry: String, in parent: Int32) {
        let directory = openat(parent, entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard directory >= 0 else { return }
        defer { close(directory) }
        var status = stat()
        guard fstat(directory, &status) == 0, status.st_uid == geteuid(), flock(directory, LOCK_EX | LOCK_NB) == 0 else { return }
        for name in names(in: directory) {
            // Nothing is in them that could be lost.
            guard fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0, [S_IFSOCK, S_IFIFO].contains(status.st_mode & S_IFMT)
            else { continue }
            unlinkat(directory, name, 0)
        }
        unlinkat(parent, entry, AT_REMOVEDIR)
    }

    /// Returns the process that a directory's name names.
    private static func owner(of entry: String, named name: String) -> ProcessIdentity? {
        guard entry.hasPrefix("\(name)-") else { return nil }
        let parts = entry.dropFirst(name.count + 1).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].utf8.count == 6 else { return nil }
        let digits = parts[0].split(separator: ".", omittingEmptySubsequences: false)
        guard digits.count == 2, let number = Int32(digits[0]), number > 0, let startTime = UInt64(digits[1]) else { return nil }
        return ProcessIdentity(processID: number, startTime: startTime)
    }

    private static func names(in directory: Int32) -> [String] {
        // The stream takes a descriptor of its own, with a position of its own.
        let own = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard own >= 0 else { return [] }
        guard let stream = fdopendir(own) else {
            close(own)
            return []
        }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            // Unsafe: the name is a fixed array of the C structure, ended by NUL.
            names.append(withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
        }
        return names
    }
}
