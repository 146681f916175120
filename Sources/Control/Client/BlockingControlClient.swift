import ConcurrencySupport
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

    /// A time that counts as unlimited.
    private static let forEver = Duration.seconds(365 * 86_400)

    private var descriptor: Int32
    private let runtimeDirectory: RuntimeDirectory
    private let socket: String
    private var session: ControlSession<Call>
    /// What was received and not read yet.
    private var received: [UInt8] = []
    private let patience: ClientPatience

    /// Connects to the daemon of a runtime directory.
    ///
    /// A daemon that has no descriptor for the connection is asked again.
    ///
    /// - Parameters:
    ///   - timeout: the time to wait for the connection.
    ///   - patience: the patience for all that is requested on the connection; when its time is over, nothing is sent or waited for.
    /// - Throws: `.unreachable` when no daemon listens there, `.notPermitted` when this user may not open the socket, `.timedOut`.
    public init(
        runtimeDirectory: RuntimeDirectory,
        timeout: Duration = ClientPatience.answerLimit,
        patience: ClientPatience = ClientPatience()
    ) throws(ControlError) {
        self.runtimeDirectory = runtimeDirectory
        self.patience = patience
        socket = runtimeDirectory.controlSocket
        session = ControlSession(to: socket)
        let deadline = min(MonotonicTime.now + timeout, patience.end)
        descriptor = -1
        if MonotonicTime.now >= patience.end { throw .notSent(to: socket) }
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
    /// - Parameter patience: as of ``init(runtimeDirectory:timeout:patience:)``.
    /// - Throws: as ``init(runtimeDirectory:timeout:patience:)``.
    public static func connected(
        to directory: RuntimeDirectory,
        patience: ClientPatience = ClientPatience()
    ) throws(ControlError) -> BlockingControlClient {
        var upgrade = UpgradePatience(directory)
        while true {
            do throws(ControlError) {
                return try BlockingControlClient(runtimeDirectory: directory, patience: patience)
            } catch {
                guard upgrade.allowsAnotherAttempt(after: error) else { throw error }
                if MonotonicTime.now >= patience.end { throw .notSent(to: directory.controlSocket) }
            }
            usleep(UpgradePatience.pauseMicroseconds)
        }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// What is wanted of the daemon.
    private struct Wanted {
        var operation: ControlOperation
        /// The name of a change, which stays when it's requested again.
        var requestID: String?
        /// The time to wait for the answer at most; nil: as long as the daemon answers questions.
        var timeout: Duration?
        /// Whether the operation waits for children, which have times of their own.
        var takesItsTime: Bool { operation.defaultTimeout == nil }

        init(_ operation: ControlOperation, timeout: Duration?, _ patience: ClientPatience) {
            (self.operation, requestID) = (operation, operation.newRequestID())
            self.timeout = [timeout ?? operation.defaultTimeout, patience.limit].compactMap(\.self).min()
            // One that takes no questions meanwhile is only waited for.
            if patience.isForBeginning, operation.isMutating, !takesItsTime { self.timeout = ClientPatience.beginning }
        }
    }

    /// A request that waits for its answer.
    private struct Call {
        /// Its place among those that are wanted; nil: it's the question what these wait for.
        var index: Int?
        /// The time until which it waits, or after which the daemon is asked.
        var deadline: MonotonicTime
        /// The time until which it waits at the most.
        var end: MonotonicTime
    }

    /// Requests an operation and waits for its result.
    ///
    /// - Parameter timeout: the time to wait for the answer; by default that of ``ControlClient/call(_:requestID:timeout:)``.
    /// - Throws: the daemon's error, `.timedOut`, or `.unreachable` when the daemon goes away before it answers.
    public mutating func call(_ operation: ControlOperation, timeout: Duration? = nil) throws(ControlError) -> JSONValue {
        try call(all: [operation], timeout: timeout)[0].get()
    }

    /// Requests an operation, and waits for its result; one that the daemon refuses since it's being replaced isn't requested again.
    ///
    /// - Parameter timeout: the time to wait for the answer.
    /// - Throws: as ``call(_:timeout:)``, and `.upgrading` and `.idle`.
    package mutating func callOnce(_ operation: ControlOperation, timeout: Duration) throws(ControlError) -> JSONValue {
        try callOnce([Wanted(operation, timeout: timeout, patience)])[0].get()
    }

    /// Requests several operations, which the daemon carries out at the same time, and returns the outcomes in the order of the operations.
    ///
    /// The time-out of each operation counts from its own request, and the time of the client's patience is that of all. What wasn't sent before
    /// its end has `.timedOut`, with the proof that nothing was executed; an operation that was only to be begun, and goes on, `.timedOut` too.
    public mutating func call(all operations: [ControlOperation], timeout: Duration? = nil) -> [Result<JSONValue, ControlError>] {
        let wish = patience
        let all = operations.map { Wanted($0, timeout: timeout, wish) }
        var outcomes = callOnce(all)
        var upgrade = UpgradePatience(runtimeDirectory)
        while true {
            let refusals = outcomes.enumerated().compactMap { index, outcome -> (index: Int, error: ControlError)? in
                guard case .failure(let error) = outcome, operations[index].mayBeRepeated(after: error) else { return nil }
                return (index, error)
            }
            guard let first = refusals.first, upgrade.allowsAnotherAttempt(after: first.error) else { return outcomes }
            usleep(UpgradePatience.pauseMicroseconds)
            do throws(ControlError) {
                self = try Self.connected(to: runtimeDirectory, patience: patience)
            } catch {
                for refusal in refusals { outcomes[refusal.index] = .failure(failure(error, after: refusal.error)) }
                return outcomes
            }
            for (refusal, outcome) in zip(refusals, callOnce(refusals.map { all[$0.index] })) {
                if case .failure(let error) = outcome {
                    outcomes[refusal.index] = .failure(failure(error, after: refusal.error))
                } else {
                    outcomes[refusal.index] = outcome
                }
            }
        }
    }

    /// Returns the failure of a request that was made again: the first one may have been carried out, unless its own failure proves that it
    /// wasn't.
    private func failure(_ error: ControlError, after first: ControlError) -> ControlError {
        guard !first.code.provesAbsence, error.maybeExecuted == false else { return error }
        if error.code == .timedOut, let limit = patience.limit { return .noAnswer(from: socket, within: limit) }
        var doubted = error
        doubted.maybeExecuted = true
        return doubted
    }

    /// Requests an operation whose answer is a stream that ends by itself, and returns its items.
    ///
    /// - Parameter timeout: the time to wait for the end of the stream.
    package mutating func items(of operation: ControlOperation, timeout: Duration = .seconds(10)) throws(ControlError) -> [JSONValue] {
        let deadline = min(MonotonicTime.now + timeout, patience.end)
        if MonotonicTime.now >= patience.end { throw .notSent(to: socket) }
        let bytes = try ControlRequest(id: session.nextID, operation: operation, requestID: operation.newRequestID()).bytes()
        let id = try session.openCall(Call(index: nil, deadline: deadline, end: deadline))
        // What still comes for a request that was given up is skipped.
        defer { session.forget(id) }
        try send(message: bytes, by: deadline)
        var items: [JSONValue] = []
        while true {
            let message = try nextMessage(by: deadline, orThrow: .noAnswer(from: socket, within: timeout))
            switch session.advance(ControlAnswer(message: message)) {
            case .settled(_, let outcome):
                _ = try outcome.get()
                return items
            case .items(_, let more): items += more
            case .skipped: break
            case .over(let error): throw error
            }
        }
    }

    private mutating func callOnce(_ all: [Wanted]) -> [Result<JSONValue, ControlError>] {
        var outcomes = [Result<JSONValue, ControlError>?](repeating: nil, count: all.count)
        var next = 0
        do throws(ControlError) {
            // The answer to the question what is waited for isn't waited for itself.
            while next < all.count || session.open.contains(where: { $0.value.index != nil }) {
                if next < all.count, session.open.count < Self.window {
                    defer { next += 1 }
                    let wanted = all[next]
                    let request = ControlRequest(id: session.nextID, operation: wanted.operation, requestID: wanted.requestID)
                    let bytes: [UInt8]
                    do throws(ControlError) { bytes = try request.bytes() } catch {
                        outcomes[next] = .failure(error)
                        continue
                    }
                    let now = MonotonicTime.now
                    guard now < patience.end else {
                        outcomes[next] = .failure(.notSent(to: socket))
                        continue
                    }
                    let end = min(now + (wanted.timeout ?? Self.forEver), patience.end)
                    let call = Call(index: next, deadline: wanted.takesItsTime ? min(now + patience.first, end) : end, end: end)
                    let id = try session.openCall(call)
                    do throws(ControlError) {
                        try send(message: bytes, by: min(end, now + ClientPatience.answerLimit))
                    } catch {
                        // The daemon hasn't all of it.
                        session.forget(id)
                        throw error
                    }
                    continue
                }
                guard let (id, first) = session.open.min(by: { $0.value.deadline < $1.value.deadline }) else { break }
                let late = lateness(of: first, all)
                do throws(ControlError) {
                    let answer = ControlAnswer(message: try nextMessage(by: first.deadline, orThrow: late))
                    switch session.advance(answer) {
                    case .settled(let call, let outcome):
                        if let index = call.index { outcomes[index] = outcome } else { readAnswer(look: outcome, all, &outcomes) }
                    case .items, .skipped: break
                    case .over(let error): throw error
                    }
                } catch {
                    guard error == late else { throw error }
                    if first.index != nil, first.deadline < first.end {
                        try look(all)
                    } else {
                        // A daemon that doesn't answer the question doesn't work on what was asked before either.
                        for (id, call) in session.open.filter({ $0.key == id || first.index == nil }) {
                            if let index = call.index { outcomes[index] = .failure(error) }
                            session.forget(id)
                        }
                    }
                }
            }
        } catch {
            // The connection has ended, and so have all operations that wait for it; those that were sent may have been carried out.
            let sent = Set(session.end(with: error).compactMap(\.index))
            return outcomes.enumerated().map { index, outcome in
                var failure = error
                if error.maybeExecuted != nil { failure.maybeExecuted = sent.contains(index) }
                return outcome ?? .failure(failure)
            }
        }
        for id in session.open.keys { session.forget(id) }
        let missing = ControlError(.failed, "the daemon at \(socket) has given no answer")
        return outcomes.map { $0 ?? .failure(missing) }
    }

    private func lateness(of call: Call, _ all: [Wanted]) -> ControlError {
        guard let index = call.index, let limit = all[index].timeout else { return .silent(at: socket) }
        return .noAnswer(from: socket, within: limit)
    }

    /// The open operations that take their time.
    private func waiting(_ all: [Wanted]) -> [(id: Int64, index: Int)] {
        session.open.compactMap { id, call in call.index.flatMap { all[$0].takesItsTime ? (id, $0) : nil } }.sorted { $0.index < $1.index }
    }

    /// Asks what the open operations wait for, unless that is being asked already.
    private mutating func look(_ all: [Wanted]) throws(ControlError) {
        let waiting = waiting(all)
        let now = MonotonicTime.now
        for (id, _) in waiting { session.change(id) { $0.deadline = min(now + ClientPatience.interval, $0.end) } }
        if now >= patience.end || session.open.contains(where: { $0.value.index == nil }) { return }
        let question = ControlOperation.look(at: waiting.map { all[$0.index].operation })
        let bytes = try ControlRequest(id: session.nextID, operation: question, requestID: nil).bytes()
        let end = now + ClientPatience.answerLimit
        _ = try session.openCall(Call(index: nil, deadline: end, end: end))
        try send(message: bytes, by: min(end, patience.end))
    }

    /// Takes an answer to that question: whatever it is, the daemon works.
    private mutating func readAnswer(
        look outcome: Result<JSONValue, ControlError>,
        _ all: [Wanted],
        _ outcomes: inout [Result<JSONValue, ControlError>?]
    ) {
        let waiting = waiting(all)
        if patience.isForBeginning {
            for (id, index) in waiting {
                outcomes[index] = .failure(.goesOn(at: socket))
                session.forget(id)
            }
        } else if let tree = try? outcome.get() {
            patience.tell?(waiting.map { all[$0.index].operation }, tree)
        }
    }

    private func send(message bytes: [UInt8], by deadline: MonotonicTime) throws(ControlError) {
        var message = [UInt8](repeating: 0, count: PairFraming.headerLength)
        message.withUnsafeMutableBytes { PairFraming.writeHeader(of: bytes.count, to: $0) }
        try send(message + bytes, by: deadline)
    }

    private mutating func nextMessage(by deadline: MonotonicTime, orThrow late: ControlError) throws(ControlError) -> [UInt8] {
        let header = try peek(PairFraming.headerLength, by: deadline, orThrow: late)
        let parsed = header.withUnsafeBytes { PairFraming.parse($0, maximum: ControlServer.maximumAnswerSize) }
        guard case .message(let length) = parsed else { throw Self.speaksAnotherProtocol(socket) }
        return Array(try receive(PairFraming.headerLength + length, by: deadline, orThrow: late).dropFirst(PairFraming.headerLength))
    }

    // MARK: Bytes

    private func send(_ bytes: [UInt8], by deadline: MonotonicTime) throws(ControlError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, flags) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                let remaining = deadline - .now
                guard remaining > .zero else { throw Self.isOverloaded(socket) }
                var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = Glibc.poll(&poll, 1, remaining.millisecondsRoundedUp)
            } else if errno == EPIPE || errno == ECONNRESET {
                // What the daemon has sent before it closed the connection tells why.
                return
            } else if errno != EINTR {
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
        // A connection that the daemon doesn't accept waits for this time.
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
