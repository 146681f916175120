import Glibc
import Processes

/// A log file that is rotated by its size; one thread uses it at a time, and may be blocked by it.
///
/// Rotation renames: the file becomes `.1`, the former `.1` becomes `.2`, and so on; what is beyond the number of files that are kept is
/// removed. Each rename is atomic, so that a reader finds every line in one file or the next.
struct LogFile {
    /// The largest number of former files that a configuration may keep.
    private static let mostKept = 99

    let path: String
    /// The size at which the file is rotated, in bytes; 0 means never.
    var maximumSize: Int64
    /// The number of former files that are kept; those beyond it are removed when the file is used next.
    var keep: Int {
        didSet { if keep < oldValue { mayHaveSurplus = true } }
    }
    private var mayHaveSurplus = false
    private var descriptor: Int32 = -1
    private(set) var size = 0
    private var isRegular = true
    /// Who may read the file.
    private let access: LogAccess
    /// Why the file doesn't have the owner and the permissions that it should have; nil: it has.
    private(set) var problem: String?

    init(path: String, maximumSize: Int64, keep: Int, access: LogAccess = LogAccess()) {
        self.access = access
        self.path = path
        self.maximumSize = maximumSize
        self.keep = keep
    }

    /// The path of a former file, counted from 1; the present one has the number 0.
    static func path(_ path: String, number: Int) -> String { number == 0 ? path : "\(path).\(number)" }

    /// Opens the file, unless the open one is still at its path: another program may have renamed or removed it.
    mutating func prepare() throws(FilePlace.Failure) {
        var (open, present) = (stat(), stat())
        if descriptor >= 0, fstat(descriptor, &open) == 0, stat(path, &present) == 0, open.st_ino == present.st_ino,
            open.st_dev == present.st_dev
        {
            // Another program may have shortened it.
            size = open.st_size
            if mayHaveSurplus { removeSurplus() }
            return
        }
        close()
        try openAnew()
    }

    private mutating func openAnew() throws(FilePlace.Failure) {
        let opened = try FilePlace(path, for: .log, directoryMode: access.directoryMode).open()
        var status = stat()
        guard fstat(opened, &status) == 0 else {
            defer { Glibc.close(opened) }
            throw FilePlace.Failure(errno: errno)
        }
        descriptor = opened
        size = status.st_size
        isRegular = status.st_mode & S_IFMT == S_IFREG
        if isRegular { problem = access.apply(to: opened, status) }
        endLastLine()
        removeSurplus()
    }

    /// Removes the former files beyond those that are kept, which a larger number has left; the log goes on if that fails.
    private mutating func removeSurplus() {
        mayHaveSurplus = false
        guard isRegular else { return }
        do throws(FilePlace.Failure) {
            let place = try FilePlace(path, for: .formerLog)
            let name = place.name
            var number = keep + 1
            while number <= Self.mostKept, place.unlink(Self.path(name, number: number)) == 0 { number += 1 }
        } catch {
            // The next file that is opened is an occasion to try again.
        }
    }

    /// Ends a line in the middle of which a former daemon was killed.
    private mutating func endLastLine() {
        var last: UInt8 = 0
        guard isRegular, size > 0, pread(descriptor, &last, 1, size - 1) == 1, last != UInt8(ascii: "\n") else { return }
        var newline = UInt8(ascii: "\n")
        if Glibc.write(descriptor, &newline, 1) == 1 { size += 1 }
    }

    /// Whether these bytes belong into the next file.
    func mustRotate(for count: Int) -> Bool { size > 0 && isBeyondSize(with: count) }

    /// Whether these bytes would make the file larger than it may be; a pipe may have any size.
    func isBeyondSize(with count: Int) -> Bool { isRegular && maximumSize > 0 && Int64(size + count) > maximumSize }

    /// Appends bytes: all of them, or none.
    mutating func append(_ bytes: [UInt8]) throws(FilePlace.Failure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                let error = FilePlace.Failure(errno: count < 0 ? errno : EIO)
                // Whole lines or none: what is in the file must stay readable.
                if isRegular, rest.count < bytes.count { _ = ftruncate(descriptor, size) }
                throw error
            }
            rest = rest.dropFirst(count)
        }
        size += bytes.count
    }

    /// Makes room for a new file, and opens it; after a failure the present file may still be open.
    mutating func rotate() throws(FilePlace.Failure) {
        let place = try FilePlace(path, for: .formerLog)
        let name = place.name
        for number in stride(from: keep - 1, through: 0, by: -1) {
            let result = place.rename(Self.path(name, number: number), to: Self.path(name, number: number + 1))
            guard result == 0 || errno == ENOENT else { throw FilePlace.Failure(errno: errno) }
        }
        if keep == 0, place.unlink(name) != 0, errno != ENOENT { throw FilePlace.Failure(errno: errno) }
        close()
        try openAnew()
    }

    mutating func close() {
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }
}
