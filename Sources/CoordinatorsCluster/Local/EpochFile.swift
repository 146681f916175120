import ConcurrencySupport
import Glibc
import Processes

/// The file that says from which number on epochs are new.
///
/// It's a thousand ahead of the numbers that are in use, so that it's written once for a thousand of them; after a crash the rest is skipped.
/// It's replaced as a whole, and is on the disk before a number of it is used.
final class EpochFile: Sendable {
    private static let title = "coordinators-epochs 1"
    private static let step: UInt64 = 1000
    /// The highest number that a file can have: no cluster comes near it.
    private static let highest = UInt64(Int64.max)

    /// The number below the first one that is new.
    let first: UInt64
    private let path: String
    /// Held as long as the file is in use: two processes would give the same numbers.
    private let lock: IncarnationLock
    /// The highest number that may be used before the file is written again.
    private let reserved: Lock<UInt64>

    init(_ path: String) throws(StoreError) {
        do {
            guard let lock = try IncarnationLock(path + ".lock") else {
                throw StoreError(code: .unusable, message: "Another process uses \(path). End it, or name another file.")
            }
            self.lock = lock
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(code: .unusable, message: "Could not open \(path): \(error)", cause: error)
        }
        self.path = path
        first = try Self.number(in: path)
        reserved = Lock(first)
    }

    /// Makes sure that a number is never used again, before it's used.
    func reserve(_ number: UInt64) throws(StoreError) {
        // The owner's actor makes one call at a time; the lock is for the value alone.
        guard number > reserved.withLock({ $0 }) else { return }
        try Self.write(number + Self.step, to: path)
        reserved.withLock { $0 = number + Self.step }
    }

    private static func number(in path: String) throws(StoreError) -> UInt64 {
        let bytes: [UInt8]
        do throws(RegularFile.Failure) {
            bytes = try RegularFile.read(path, upTo: 128)
        } catch {
            if case .notOpened(ENOENT) = error { return 0 }
            throw StoreError(code: .unusable, message: "Could not read \(path): \(error.explanation).")
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count == 3, lines[0] == title, let number = UInt64(lines[1]), number <= highest, lines[2].isEmpty
        else {
            throw StoreError(
                code: .unusable,
                message: "\(path) isn't a file of epochs. Restore it: epochs that begin again would let earlier owners write."
            )
        }
        return number
    }

    private static func write(_ number: UInt64, to path: String) throws(StoreError) {
        let draft = path + ".new"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .file(draft, "write") }
        let bytes = Array("\(title)\n\(number)\n".utf8)
        let isWritten = Glibc.write(descriptor, bytes, bytes.count) == bytes.count && fsync(descriptor) == 0
        let failure = errno
        close(descriptor)
        guard isWritten else { throw .file(draft, "write", failure) }
        guard rename(draft, path) == 0 else { throw .file(path, "replace") }
        // The name is on the disk with its directory.
        let directory = open(path.lastIndex(of: "/").map { String(path[...$0]) } ?? ".", O_RDONLY | O_CLOEXEC)
        guard directory >= 0 else { throw .file(path, "replace") }
        defer { close(directory) }
        guard fsync(directory) == 0 else { throw .file(path, "replace") }
    }
}

extension StoreError {
    fileprivate static func file(_ path: String, _ action: String, _ number: Int32 = errno) -> StoreError {
        let reason = strerror(number).map { String(cString: $0) } ?? "error \(number)"
        return StoreError(code: .unusable, message: "Could not \(action) \(path): \(reason).")
    }
}
