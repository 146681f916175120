import Glibc

/// Every system call that changes the files of a runtime directory, or of a service's directory of state, so that tests can make each of them fail.
///
/// Convention: a result below zero is the negated errno. There is no fsync(2): the files are about processes of the current boot, and what
/// has been written outlives its writer as long as the kernel runs.
package struct FileCalls: Sendable {
    /// open(2), of a file that other programs and links don't get in the way of.
    package var open: @Sendable (_ path: String, _ flags: Int32, _ mode: UInt32) -> Int32
    /// write(2): the number of bytes written, which may be fewer than given.
    package var write: @Sendable (_ descriptor: Int32, _ bytes: [UInt8]) -> Int
    /// The number of names that an open file has: fstat(2).
    package var linkCount: @Sendable (_ descriptor: Int32) -> Int
    /// rename(2): 0.
    package var rename: @Sendable (_ from: String, _ to: String) -> Int32
    /// unlink(2): 0.
    package var unlink: @Sendable (_ path: String) -> Int32
    /// close(2).
    package var close: @Sendable (_ descriptor: Int32) -> Void

    /// The kernel's own calls.
    package static let live = FileCalls(
        open: { path, flags, mode in
            let descriptor = Glibc.open(path, flags | O_CLOEXEC | O_NOFOLLOW, mode)
            return descriptor < 0 ? -errno : descriptor
        },
        write: { descriptor, bytes in
            let count = Glibc.write(descriptor, bytes, bytes.count)
            return count < 0 ? -Int(errno) : count
        },
        linkCount: { descriptor in
            var status = stat()
            return fstat(descriptor, &status) < 0 ? -Int(errno) : Int(status.st_nlink)
        },
        rename: { Glibc.rename($0, $1) < 0 ? -errno : 0 },
        unlink: { Glibc.unlink($0) < 0 ? -errno : 0 },
        close: { _ = Glibc.close($0) }
    )
}

extension FileCalls {
    /// Replaces a file as a whole, by way of a draft beside it, which nothing is left of.
    ///
    /// - Returns: 0, or the error's number; the former file is there then.
    package func replace(_ path: String, by bytes: [UInt8]) -> Int32 {
        let draft = "\(path).new"
        _ = unlink(draft)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard descriptor >= 0 else { return -descriptor }
        var rest = bytes[...]
        var failure: Int32 = 0
        while !rest.isEmpty, failure == 0 {
            // A disk takes a part when it's about to be full.
            let count = write(descriptor, Array(rest))
            if count > 0 { rest = rest.dropFirst(count) } else if count != -Int(EINTR) { failure = count == 0 ? ENOSPC : Int32(-count) }
        }
        close(descriptor)
        if failure == 0 { failure = -rename(draft, path) }
        if failure != 0 { _ = unlink(draft) }
        return failure
    }
}
