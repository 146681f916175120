import CProcess
package import ConcurrencySupport
import Glibc

/// Files that are read whole, by a process of their own: one that a file system doesn't let go hinders nothing, not even this process's end.
///
/// Only regular files are read: opening a pipe may wait for its writer, and a device need not have an end. Links are followed: the secrets of
/// Kubernetes and the certificates of certbot are links.
package enum RegularFile {
    /// The reason why a file isn't read.
    package enum Failure: Error, Sendable {
        case notOpened(errno: Int32)
        case notRead(errno: Int32)
        /// It's a pipe, a socket or a device.
        case notRegular
        case tooLarge
        /// Its file system hasn't answered in time, now or earlier; as long as it doesn't, there is no other attempt.
        case hangs(since: DateTime)

        /// The continuation of "can't be read: ".
        package var explanation: String {
            switch self {
            case .notOpened(let errno), .notRead(let errno): String(cString: strerror(errno))
            case .notRegular: "it isn't a regular file"
            case .tooLarge: "it's too large"
            case .hangs(let since): "its file system hangs, since \(since)"
            }
        }
    }

    /// A process that reads a file.
    ///
    /// `@unchecked`: the memory is read once the process has filled it.
    fileprivate struct Reading: @unchecked Sendable {
        let processID: Int32
        let status: Int32
        // Unsafe, because the process fills it. It's freed once the process has ended.
        let memory: UnsafeMutableRawPointer
        let since = DateTime.now

        /// Waits until the process has something to say, or has ended.
        func hasEnded(within limit: Duration) -> Bool {
            let deadline = MonotonicTime.now + limit
            var watched = pollfd(fd: status, events: Int16(POLLIN), revents: 0)
            while true {
                let result = poll(&watched, 1, max(.zero, deadline - .now).millisecondsRoundedUp)
                if result >= 0 || errno != EINTR { return result > 0 }
            }
        }

        func result() -> Result<[UInt8], Failure> {
            var result: Int64 = 0
            guard Glibc.read(status, &result, 8) == 8 else { return .failure(.notRead(errno: EIO)) }
            guard result < 0 else {
                return .success(Array(UnsafeRawBufferPointer(start: coordinator_process_read_bytes(memory), count: Int(result))))
            }
            let errno = Int32(truncatingIfNeeded: -result & 0xFFFF_FFFF)
            return switch UInt32(-result >> 32) {
            case COORDINATOR_PROCESS_NOT_OPENED.rawValue: .failure(.notOpened(errno: errno))
            case COORDINATOR_PROCESS_NOT_REGULAR.rawValue: .failure(.notRegular)
            case COORDINATOR_PROCESS_TOO_LARGE.rawValue: .failure(.tooLarge)
            default: .failure(.notRead(errno: errno))
            }
        }
    }

    private struct State {
        /// The processes that hang, by the paths of their files.
        var hanging: [String: [Reading]] = [:]
        /// The processes that have said what they had to, and are about to end.
        var ending: [Reading] = []
    }

    private static let state = Lock(State())

    /// The number of processes that hang.
    package static var hangingCount: Int { state.withLock { $0.hanging.values.reduce(0) { $0 + $1.count } } }

    /// The files that hang.
    static var hanging: [String] {
        state.withLock { $0.hanging.filter { $0.value.contains { !$0.hasEnded(within: .zero) } }.map { "read of \($0.key)" } }
    }

    /// The microseconds between two looks whether a process hangs no more.
    private static let interval: UInt32 = 20_000

    /// Reads a file; blocks for the limit at most.
    ///
    /// - Parameters:
    ///   - maximum: The size of the largest file, in bytes.
    ///   - account: That of a process for which the file is read. When another user than root and this process's could have put the file
    ///     there, it's opened as the account's, who is shown no other user's files this way.
    ///   - isItsFile: Whether it's opened as the account's in any case: the account's user has named it.
    package static func read(
        _ path: String,
        upTo maximum: Int,
        for account: Account? = nil,
        isItsFile: Bool = false,
        within limit: Duration = BlockingCalls.usualLimit
    ) throws(Failure) -> [UInt8] {
        guard !path.utf8.contains(0) else { throw .notOpened(errno: EINVAL) }
        let deadline = MonotonicTime.now + limit
        while let former = former(of: path) {
            if .now >= deadline { throw .hangs(since: former.since) }
            usleep(interval)
        }
        let reading = try startRead(path, maximum, account, isItsFile: isItsFile)
        guard reading.hasEnded(within: deadline - .now) else {
            kill(reading.processID, SIGKILL)
            state.withLock { $0.hanging[path, default: []].append(reading) }
            throw .hangs(since: reading.since)
        }
        let result = reading.result()
        end(reading)
        return try result.get()
    }

    /// Leaves a process to itself that hangs and was killed.
    fileprivate static func leave(_ reading: Reading) {
        close(reading.status)
        state.withLock { $0.ending.append(reading) }
    }

    /// Returns a process that still hangs at a file, and lets those go that don't any more.
    private static func former(of path: String) -> Reading? {
        let (former, ended) = state.withLock { state -> (Reading?, [Reading]) in
            guard let all = state.hanging[path] else { return (nil, []) }
            let ended = all.filter { $0.hasEnded(within: .zero) }
            let rest = all.filter { reading in !ended.contains { $0.processID == reading.processID } }
            state.hanging[path] = rest.isEmpty ? nil : rest
            return (rest.first, ended)
        }
        for reading in ended { end(reading) }
        return former
    }

    fileprivate static func startRead(
        _ path: String,
        _ maximum: Int,
        _ account: Account? = nil,
        isItsFile: Bool = false,
        requests: Int32 = -1
    ) throws(Failure) -> Reading {
        var (status, writing): (Int32, Int32) = (-1, -1)
        let error = coordinator_process_blocking_pipe(&status, &writing)
        guard error >= 0 else { throw .notOpened(errno: -error) }
        defer { close(writing) }
        var memory: UnsafeMutableRawPointer?
        let flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK
        // The daemon's own user and root are shown nothing that they couldn't see.
        let reader = account.flatMap { $0.user == geteuid() || $0.user == 0 ? nil : SpawnAttributes(account: $0) }
        // What looks for orphans must take it for none.
        let processID = ProcessSpawner.shared.thread.spawned.withLock { spawned in
            let processID =
                reader.map {
                    $0.withC { coordinator_process_begin_reading(path, flags, maximum, $0, isItsFile ? 1 : 0, writing, requests, &memory) }
                } ?? coordinator_process_begin_reading(path, flags, maximum, nil, 0, writing, requests, &memory)
            if processID > 0 { spawned.insert(processID) }
            return processID
        }
        guard processID > 0, let memory else {
            close(status)
            throw .notOpened(errno: -processID)
        }
        return Reading(processID: processID, status: status, memory: memory)
    }

    /// Lets a process go that has said what it has read, and takes the exits of those that have ended since.
    fileprivate static func end(_ reading: Reading) {
        close(reading.status)
        // Its end closes the file, which may take time too.
        let process = coordinator_process_open(reading.processID)
        if process >= 0 {
            var watched = pollfd(fd: process, events: Int16(POLLIN), revents: 0)
            _ = poll(&watched, 1, 100)
            close(process)
        }
        state.withLock { state in
            state.ending.append(reading)
            state.ending.removeAll { reading in
                let isGone = ProcessSpawner.shared.thread.spawned.withLock { spawned in
                    guard coordinator_process_reap_reader(reading.processID) != 0 else { return false }
                    spawned.remove(reading.processID)
                    return true
                }
                if isGone { coordinator_process_end_reading(reading.memory) }
                return isGone
            }
        }
    }
}

/// Looks at files by a process of its own, for one that a file system may hold.
///
/// It isn't Sendable: one look comes after the other.
package final class FileLooks {
    private enum State {
        /// The process waits for the next path. Can transition to: hanging.
        case ready(RegularFile.Reading, requests: Int32)
        /// A file system holds the process, or there is none: no other look is taken.
        case failed(RegularFile.Failure)
    }

    private let limit: Duration
    private var state: State

    /// - Parameter limit: The time for each look.
    package init(within limit: Duration = .seconds(5)) {
        self.limit = limit
        var (reading, writing): (Int32, Int32) = (-1, -1)
        guard coordinator_process_blocking_pipe(&reading, &writing) >= 0 else {
            state = .failed(.notOpened(errno: EMFILE))
            return
        }
        defer { close(reading) }
        do throws(RegularFile.Failure) {
            state = .ready(try RegularFile.startRead("", Int(PATH_MAX), requests: reading), requests: writing)
        } catch {
            close(writing)
            state = .failed(error)
        }
    }

    deinit {
        guard case .ready(let process, let requests) = state else { return }
        close(requests)
        RegularFile.end(process)
    }

    /// What is at a path.
    package struct Look {
        package let mode: UInt32
        /// Whether this process may execute the file, or enter it if it's a directory.
        package let isExecutable: Bool
        /// The number of the file's user.
        package let owner: UInt32
    }

    /// Returns what is at a path.
    package func look(at path: String) throws(RegularFile.Failure) -> Look {
        let (result, _) = try ask(COORDINATOR_PROCESS_MODE, about: path)
        guard result >= 0 else { throw .notOpened(errno: Int32(-result)) }
        return Look(
            mode: UInt32(truncatingIfNeeded: result & 0xFFFF),
            isExecutable: result & 1 << 16 != 0,
            owner: UInt32(truncatingIfNeeded: result >> 17)
        )
    }

    /// Returns why a file at a path wouldn't be written or shown, because of another user; nil when nothing speaks against it, or nothing is there.
    package func danger(at path: String) throws(RegularFile.Failure) -> FilePlace.Failure? {
        try place(at: path).danger
    }

    private func place(at path: String) throws(RegularFile.Failure) -> (danger: FilePlace.Failure?, isReplaceable: Bool) {
        let (result, memory) = try ask(COORDINATOR_PROCESS_PLACE, about: path)
        guard result < 0, let memory else { return (nil, result > 0) }
        // Unsafe: the process has left the place there.
        let failure = FilePlace.failure(Int32(result), memory.load(as: coordinator_place.self))
        return (failure.isUnsafe ? failure : nil, false)
    }

    /// Returns why another user than its owner could put another file in the place of the one at a path, and what to do; nil: none could.
    package func exchange(at path: String) throws(RegularFile.Failure) -> String? {
        let (danger, isReplaceable) = try place(at: path)
        if let danger { return danger.description }
        guard isReplaceable else { return nil }
        return "others may write to a directory on the way to it; mend it with `chmod go-w` for that directory"
    }

    /// - Returns: The answer, and the memory of the process.
    private func ask(
        _ request: coordinator_process_request,
        about path: String
    ) throws(RegularFile.Failure) -> (answer: Int64, memory: UnsafeMutableRawPointer?) {
        guard case .ready(let process, let requests) = state else {
            if case .failed(let failure) = state { throw failure }
            return (0, nil)
        }
        let bytes = Array(path.utf8) + [0]
        guard bytes.count <= Int(PATH_MAX) else { throw .notOpened(errno: ENAMETOOLONG) }
        let memory = coordinator_process_read_bytes(process.memory)
        memory?.copyMemory(from: bytes, byteCount: bytes.count)
        var request = UInt8(request.rawValue)
        var result: Int64 = 0
        guard write(requests, &request, 1) == 1 else { throw .notOpened(errno: EPIPE) }
        guard process.hasEnded(within: limit) else {
            kill(process.processID, SIGKILL)
            close(requests)
            let failure = RegularFile.Failure.hangs(since: .now)
            state = .failed(failure)
            RegularFile.leave(process)
            throw failure
        }
        guard read(process.status, &result, 8) == 8 else { throw .notOpened(errno: EIO) }
        return (result, memory)
    }
}

extension BlockingCalls {
    /// Runs a function on a thread where it may block.
    ///
    /// - Parameter action: What is being done, for errors: it continues "could not".
    package func run<Value: Sendable>(
        _ subject: String,
        within limit: Duration = usualLimit,
        action: String,
        _ body: @escaping @Sendable () throws(ProcessError) -> Value
    ) async throws(ProcessError) -> Value {
        let result: Result<Value, ProcessError>
        do throws(Failure) {
            result = try await run(subject, within: limit) { () -> Result<Value, ProcessError> in
                do throws(ProcessError) { return .success(try body()) } catch { return .failure(error) }
            }
        } catch {
            throw ProcessError(code: .startHangs, errno: ETIMEDOUT, message: "Could not \(action): \(error).")
        }
        return try result.get()
    }
}
