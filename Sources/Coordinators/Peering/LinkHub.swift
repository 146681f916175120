import ConcurrencySupport
import Glibc
import Links
import Logging
import WireProtocol

/// The listener for the links of this process's workers, made when the first worker is.
final class LinkHub: Sendable {
    /// Takes a link whose worker has shown the right secret.
    typealias Attach = @Sendable (Link, Hello) throws -> Link.Handler

    private struct State {
        var listener: LinkListener?
        var expected: [[UInt8]: Attach] = [:]
        var isClosed = false
        /// Whether processes of other users may connect.
        var takesOthers = false
        /// The number of strangers that were refused since the last log entry about them, and its time.
        var strangers = 0
        var toldOfStrangers: MonotonicTime?
    }

    /// The interval between log entries about strangers.
    private static let strangerInterval = Duration.seconds(10)

    private let directory: RuntimeFiles
    /// The name of the socket in the directory.
    private let socket: String
    private let tasks: OwnedTasks
    private let logger: Logger
    private let state = Lock(State())
    /// The lock under which one caller at a time checks that the socket still exists.
    private let turn = Lock(())

    init(directory: RuntimeFiles, socket: String, tasks: OwnedTasks, logger: Logger) {
        self.directory = directory
        self.socket = socket
        self.tasks = tasks
        self.logger = logger
    }

    /// Expects a worker.
    ///
    /// - Returns: The address that the worker has to dial.
    func expect(_ secret: [UInt8], _ attach: @escaping Attach) throws(CoordinatorError) -> String {
        try turn.withLock { _ throws(CoordinatorError) in
            closeIfRemoved()
            return try expectInTurn(secret, attach)
        }
    }

    /// Closes a listener whose socket was removed, because no worker would find it: the next caller makes a new one.
    ///
    /// Existing links stay.
    private func closeIfRemoved() {
        guard let path = try? directory.socketPath(socket), access(path, F_OK) != 0 else { return }
        let lost = state.withLock { state in
            defer { state.listener = nil }
            return state.listener
        }
        guard let lost else { return }
        logger.warning("the socket that workers dial was removed, and is made anew", metadata: ["socket": "\(path)"])
        lost.close()
    }

    private func expectInTurn(_ secret: [UInt8], _ attach: @escaping Attach) throws(CoordinatorError) -> String {
        let (listener, isNew) = try state.withLock { state throws(CoordinatorError) -> (LinkListener, Bool) in
            if state.isClosed { throw CoordinatorError(.stopped, "the runtime has stopped: it takes no workers any more") }
            let existing = state.listener
            let listener = if let existing { existing } else { try listen(takesOthers: state.takesOthers) }
            state.listener = listener
            state.expected[secret] = attach
            return (listener, existing == nil)
        }
        if isNew {
            tasks.add {
                await listener.run { [weak self] link, hello in
                    guard let self else { throw LinkError(.handshake, "nobody expects this worker") }
                    guard let attach = state.withLock({ $0.expected[hello.secret] }) else {
                        tellOfStranger(link)
                        throw LinkError(.handshake, "nobody expects this worker")
                    }
                    return try attach(link, hello)
                }
            }
        }
        return listener.address
    }

    /// Logs a refused peer; a peer whose worker was given up a moment ago may still dial, and any other is a stranger.
    private func tellOfStranger(_ link: Link) {
        let count = state.withLock { state -> Int? in
            state.strangers += 1
            let now = MonotonicTime.now
            if let told = state.toldOfStrangers, now - told < Self.strangerInterval { return nil }
            state.toldOfStrangers = now
            defer { state.strangers = 0 }
            return state.strangers
        }
        guard let count else { return }
        let process = link.peer.map { "\($0.processID)" } ?? "unknown"
        logger.warning(
            "a process that nobody expects was turned away: its secret is wrong, or of a worker that has ended",
            metadata: ["worker.pid": "\(process)", "count": "\(count)"]
        )
    }

    /// Refuses peers with this secret from now on.
    func forget(_ secret: [UInt8]) {
        state.withLock { $0.expected[secret] = nil }
    }

    func close() {
        let listener = state.withLock { state in
            defer { state = State(isClosed: true) }
            return state.listener
        }
        listener?.close()
        if listener != nil { directory.removeFile(socket) }
    }

    /// Lets processes of other users connect, of which each link is still checked: a worker that runs as another user has to be able to dial.
    func letOthersDial() {
        state.withLock { state in
            guard !state.takesOthers else { return }
            state.takesOthers = true
            if state.listener != nil, let path = try? directory.socketPath(socket) { chmod(path, Self.modeForOthers) }
        }
        directory.letOthersPass()
    }

    private static let modeForOthers: UInt32 = 0o666

    private func listen(takesOthers: Bool) throws(CoordinatorError) -> LinkListener {
        do throws(LinkError) {
            let address = "ipc://\(try directory.socketPath(socket))"
            return try LinkListener(address: address, permissions: takesOthers ? Self.modeForOthers : 0o600)
        } catch {
            throw CoordinatorError(.spawnFailed, "workers need a socket that they can dial: \(error)")
        }
    }
}
