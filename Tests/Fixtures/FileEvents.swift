import ConcurrencySupport
import Glibc

/// Waits for what other processes write: the kernel says when a file, or the names in a directory, have changed; see inotify(7).
final class FileEvents: Sendable {
    private struct Waiters {
        var wake: [Int: @Sendable () -> Void] = [:]
        var next = 0
    }

    /// One for the process: the number of watches of this kind is limited for a user.
    private static let shared: FileEvents = {
        let events = FileEvents()
        precondition(DetachedThread.run { events.read() }, "no thread that waits for files")
        return events
    }()

    private let descriptor = inotify_init1(O_CLOEXEC)
    private let waiters = Lock(Waiters())

    private init() { precondition(descriptor >= 0, "no watch of files: \(String(cString: strerror(errno)))") }

    /// Returns once a condition holds, which is looked at now and after each change at a path; throws when the task is cancelled first.
    static func wait(at path: String, until holds: () -> Bool) async throws {
        if holds() { return }
        let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = shared.add(path) { change.yield() }
        defer { shared.remove(number) }
        // It may have begun to hold before the watch.
        if holds() { return }
        for await _ in changes where holds() { return }
        throw CancellationError()
    }

    /// The same, and blocks the thread.
    static func block(at path: String, until holds: () -> Bool) {
        let change = Semaphore()
        let number = shared.add(path) { change.post() }
        defer { shared.remove(number) }
        while !holds() { change.wait() }
    }

    private func add(_ path: String, _ wake: @escaping @Sendable () -> Void) -> Int {
        let number = waiters.withLock { waiters in
            waiters.next += 1
            waiters.wake[waiters.next] = wake
            return waiters.next
        }
        let watch = inotify_add_watch(descriptor, path, UInt32(IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_TO))
        // What is gone doesn't change any more.
        precondition(watch >= 0 || errno == ENOENT, "\(path) can't be watched: \(String(cString: strerror(errno)))")
        return number
    }

    private func remove(_ number: Int) { waiters.withLock { _ = $0.wake.removeValue(forKey: number) } }

    /// Wakes all who wait at each change: they are few.
    private func read() {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while Glibc.read(descriptor, &buffer, buffer.count) > 0 || errno == EINTR {
            for wake in waiters.withLock({ Array($0.wake.values) }) { wake() }
        }
    }
}

/// A file by which processes tell one another something.
enum SharedFile {
    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    static func create(_ path: String) { close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)) }

    /// Appends a line by one write: lines of several processes don't mix, and a killed process leaves no half of one.
    static func append(_ line: String, to path: String, creating: Bool = true) {
        let file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | (creating ? O_CREAT : 0), 0o600)
        guard file >= 0 else { return }
        defer { close(file) }
        let bytes = Array("\(line)\n".utf8)
        _ = write(file, bytes, bytes.count)
    }

    /// Returns when there is a file, or no more.
    static func wait(for path: String, isThere: Bool = true) async throws {
        let directory = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        try await FileEvents.wait(at: directory) { exists(path) == isThere }
    }
}
