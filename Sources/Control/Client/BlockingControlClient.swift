import ConcurrencySupport
import FoundationEssentials
import Glibc
import NNG
public import Processes
public import WireProtocol

/// An operator's connection to a daemon for programs that do one thing after the other.
///
/// It speaks the same protocol as ``ControlClient`` on a plain Unix socket in the thread of the caller: no other thread is started, which
/// takes longer than most requests. The connection closes with the client; the daemon cancels the questions that are then open, and carries
/// changes out to their ends.
public struct BlockingControlClient: ~Copyable {
    /// The largest number of requests that are open at the same time; the daemon takes
    /// ``ControlServer/maximumOpenDescriptions`` of those that cost most.
    private static let window = ControlServer.maximumOpenDescriptions / 2

    private var descriptor: Int32
    private let runtimeDirectory: RuntimeDirectory
    private let socket: String
    private var nextID: Int64 = 1
    /// What was received and not read yet.
    private var received: [UInt8] = []

    /// Connects to the daemon of a runtime directory.
    ///
    /// A daemon that has no descriptor for the connection is asked again.
    ///
    /// - Throws: `.unreachable` when no daemon listens there, `.notPermitted` when this user may not open the socket, `.timedOut`.
    public init(runtimeDirectory: RuntimeDirectory, timeout: Duration = .seconds(5)) throws(ControlError) {
        self.runtimeDirectory = runtimeDirectory
        socket = runtimeDirectory.controlSocket
        let deadline = MonotonicTime.now + timeout
        descriptor = -1
        while true {
            descriptor = try Self.open(socket, by: deadline)
            if try greet(by: deadline) { return }
            close(descriptor)
            descriptor = -1
            usleep(UpgradePatience.pauseMicroseconds)
        }
    }

    /// Exchanges greetings.
    ///
    /// - Returns: Whether the daemon has greeted: one that is short of descriptors closes connections, and has room for one soon.
    private mutating func greet(by deadline: MonotonicTime) throws(ControlError) -> Bool {
        received = []
        do throws(ControlError) {
            try send(PairFraming.greeting, by: deadline)
            guard try receive(PairFraming.greeting.count, by: deadline, orThrow: Self.isOverloaded(socket)) == PairFraming.greeting else {
                throw Self.speaksAnotherProtocol(socket)
            }
            return true
        } catch {
            guard error.code == .unreachable else { throw error }
            if MonotonicTime.now >= deadline { throw Self.isOverloaded(socket) }
            return false
        }
    }

    /// Connects to the daemon of a runtime directory; while another program takes the daemon's place, this waits for the new one.
    ///
    /// - Throws: as ``init(runtimeDirectory:timeout:)``.
    public static func connected(to directory: RuntimeDirectory) throws(ControlError) -> BlockingControlClient {
        var patience = UpgradePatience(directory)
        while true {
            do throws(ControlError) {
                return try BlockingControlClient(runtimeDirectory: directory)
            } catch {
                guard patience.allowsAnotherAttempt(after: error) else { throw error }
            }
            usleep(UpgradePatience.pauseMicroseconds)
        }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Requests an operation and waits for its result.
    ///
    /// - Parameter timeout: the time to wait for the answer; by default that of ``ControlClient/call(_:requestID:timeout:)``.
    /// - Throws: the daemon's error, `.timedOut`, or `.unreachable` when the daemon goes away before it answers.
    public mutating func call(_ operation: ControlOperation, timeout: Duration? = nil) throws(ControlError) -> JSONValue {
        let requestID = operation.isMutating ? UUID().uuidString : nil
        var patience = UpgradePatience(runtimeDirectory)
        while true {
            do throws(ControlError) {
                return try callOnce(operation, requestID, timeout)
            } catch {
                // A request for an upgrade is answered by the next daemon; any other that was carried out may not be repeated.
                let mayRepeat = error.code.provesAbsence || operation.isUpgrade && error.code == .unreachable
                guard mayRepeat, patience.allowsAnotherAttempt(after: error) else { throw error }
            }
            usleep(UpgradePatience.pauseMicroseconds)
            self = try Self.connected(to: runtimeDirectory)
        }
    }

    private mutating func callOnce(
        _ operation: ControlOperation,
        _ requestID: String?,
        _ timeout: Duration?
    ) throws(ControlError) -> JSONValue {
        let deadline = MonotonicTime.now + (timeout ?? operation.defaultTimeout)
        let id = try request(operation, requestID, by: deadline)
        while true {
            let answer = try nextAnswer(by: deadline, orThrow: noAnswer(operation, timeout))
            guard answer.id == id else { continue }
            switch answer.content {
            case .result(let value): return value
            case .failure(let error): throw error
            case .items: continue
            }
        }
    }

    /// Requests several operations, which the daemon carries out at the same time, and returns the outcomes in the order of the operations.
    ///
    /// The time-out of each operation counts from its own request.
    public mutating func call(all operations: [ControlOperation]) -> [Result<JSONValue, ControlError>] {
        var outcomes = callOnce(all: operations)
        var patience = UpgradePatience(runtimeDirectory)
        while true {
            let refused = outcomes.indices.filter { if case .failure(let error) = outcomes[$0] { error.code.provesAbsence } else { false } }
            guard let first = refused.first, case .failure(let error) = outcomes[first], patience.allowsAnotherAttempt(after: error) else {
                return outcomes
            }
            usleep(UpgradePatience.pauseMicroseconds)
            do throws(ControlError) { self = try Self.connected(to: runtimeDirectory) } catch { return outcomes }
            for (index, outcome) in zip(refused, callOnce(all: refused.map { operations[$0] })) { outcomes[index] = outcome }
        }
    }

    private mutating func callOnce(all operations: [ControlOperation]) -> [Result<JSONValue, ControlError>] {
        var outcomes = [Result<JSONValue, ControlError>?](repeating: nil, count: operations.count)
        var open: [Int64: (index: Int, deadline: MonotonicTime)] = [:]
        var next = 0
        do throws(ControlError) {
            while next < operations.count || !open.isEmpty {
                if next < operations.count, open.count < Self.window {
                    let deadline = MonotonicTime.now + operations[next].defaultTimeout
                    let requestID = operations[next].isMutating ? UUID().uuidString : nil
                    open[try request(operations[next], requestID, by: deadline)] = (next, deadline)
                    next += 1
                    continue
                }
                guard let first = open.min(by: { $0.value.deadline < $1.value.deadline }) else { break }
                do throws(ControlError) {
                    let late = noAnswer(operations[first.value.index], nil)
                    let answer = try nextAnswer(by: first.value.deadline, orThrow: late)
                    guard let id = answer.id, let request = open[id] else { continue }
                    switch answer.content {
                    case .result(let value): outcomes[request.index] = .success(value)
                    case .failure(let error): outcomes[request.index] = .failure(error)
                    case .items: continue
                    }
                    open[id] = nil
                } catch {
                    guard error.code == .timedOut else { throw error }
                    outcomes[first.value.index] = .failure(error)
                    open[first.key] = nil
                }
            }
        } catch {
            // The connection has ended, and so have all operations that wait for it.
            return outcomes.map { $0 ?? .failure(error) }
        }
        let missing = ControlError(.failed, "the daemon at \(socket) has given no answer")
        return outcomes.map { $0 ?? .failure(missing) }
    }

    private mutating func request(
        _ operation: ControlOperation,
        _ requestID: String?,
        by deadline: MonotonicTime
    ) throws(ControlError) -> Int64 {
        defer { nextID += 1 }
        let bytes = try ControlJSON.bytes(of: ControlRequest(id: nextID, operation: operation, requestID: requestID).json)
        try bytes.checkRequestSize()
        var message = [UInt8](repeating: 0, count: PairFraming.headerLength)
        message.withUnsafeMutableBytes { PairFraming.writeHeader(of: bytes.count, to: $0) }
        try send(message + bytes, by: deadline)
        return nextID
    }

    private func noAnswer(_ operation: ControlOperation, _ timeout: Duration?) -> ControlError {
        .noAnswer(from: socket, within: timeout ?? operation.defaultTimeout)
    }

    private mutating func nextAnswer(by deadline: MonotonicTime, orThrow late: ControlError) throws(ControlError) -> ControlAnswer {
        let header = try peek(PairFraming.headerLength, by: deadline, orThrow: late)
        let parsed = header.withUnsafeBytes { PairFraming.parse($0, maximum: ControlServer.maximumAnswerSize) }
        guard case .message(let length) = parsed else { throw Self.speaksAnotherProtocol(socket) }
        let message = try receive(PairFraming.headerLength + length, by: deadline, orThrow: late).dropFirst(PairFraming.headerLength)
        guard let answer = (try? ControlJSON.parse(answer: Array(message))).flatMap(ControlAnswer.init(json:)) else {
            throw Self.speaksAnotherProtocol(socket)
        }
        // An answer without a number refuses the whole connection.
        if answer.id == nil, case .failure(let error) = answer.content { throw error }
        return answer
    }

    // MARK: Bytes

    private func send(_ bytes: [UInt8], by deadline: MonotonicTime) throws(ControlError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN, MonotonicTime.now >= deadline {
                throw Self.isOverloaded(socket)
            } else if errno == EPIPE || errno == ECONNRESET {
                // What the daemon has sent before it closed the connection tells why.
                return
            } else if errno != EAGAIN && errno != EINTR {
                throw .daemonGone(from: socket)
            }
        }
    }

    /// Returns the next bytes, which stay to be received.
    private mutating func peek(
        _ count: Int,
        by deadline: MonotonicTime,
        orThrow late: ControlError
    ) throws(ControlError) -> ArraySlice<UInt8> {
        while received.count < count {
            let remaining = deadline - .now
            guard remaining > .zero else { throw late }
            var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = Glibc.poll(&poll, 1, remaining.millisecondsRoundedUp)
            if ready < 0, errno != EINTR { throw .daemonGone(from: socket) }
            if ready > 0 { try receiveSome(atLeast: count - received.count) }
        }
        return received.prefix(count)
    }

    private mutating func receiveSome(atLeast missing: Int) throws(ControlError) {
        let descriptor = descriptor
        let chunk = [UInt8](unsafeUninitializedCapacity: max(missing, 16 << 10)) { buffer, count in
            count = max(0, recv(descriptor, buffer.baseAddress, buffer.count, 0))
        }
        guard !chunk.isEmpty else { throw .daemonGone(from: socket) }
        received += chunk
    }

    private mutating func receive(_ count: Int, by deadline: MonotonicTime, orThrow late: ControlError) throws(ControlError) -> [UInt8] {
        let bytes = Array(try peek(count, by: deadline, orThrow: late))
        received.removeFirst(count)
        return bytes
    }

    // MARK: Connecting

    private static func open(_ path: String, by deadline: MonotonicTime) throws(ControlError) -> Int32 {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw ControlError(.failed, "no socket can be opened: \(String(cString: strerror(errno)))") }
        do throws(ControlError) {
            // Zero would mean no limit.
            try connect(descriptor, to: path, timeout: max(deadline - .now, .milliseconds(1)))
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    private static func connect(_ descriptor: Int32, to path: String, timeout: Duration) throws(ControlError) {
        var time = timeval()
        let (seconds, attoseconds) = timeout.components
        (time.tv_sec, time.tv_usec) = (Int(seconds), Int(attoseconds / 1_000_000_000_000))
        // A connection that the daemon doesn't accept, and bytes that it doesn't read, wait for this time.
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count <= RuntimeDirectory.maximumSocketPathLength else { throw .unreachable(at: path) }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result < 0 else { return }
        switch errno {
        case EACCES, EPERM: throw .mayNotOpen(path)
        case EAGAIN, EINTR, ETIMEDOUT: throw isOverloaded(path)
        default: throw .unreachable(at: path)
        }
    }

    private static func isOverloaded(_ socket: String) -> ControlError { .takesNoConnections(at: socket) }

    private static func speaksAnotherProtocol(_ socket: String) -> ControlError { .speaksAnotherProtocol(at: socket) }
}
