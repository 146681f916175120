import ConcurrencySupport
import Glibc
import Links
import Logging
import Processes
import WireProtocol

/// The listeners for the links of this process's workers: one for each user as whom some run, made when the first of them is.
///
/// A socket belongs to the user whose workers dial it, so that the kernel keeps all others out, except root.
final class LinkHub: Sendable {
    /// Takes a link whose worker has shown the right secret, and hands it over to its handler.
    typealias Attach = LinkListener.Welcome

    private struct State {
        /// The listeners, by the users of the workers that dial them.
        var listeners: [UInt32: LinkListener] = [:]
        var expected: [[UInt8]: Attach] = [:]
        var isClosed = false
        /// The number of strangers that were refused since the last log entry about them, and its time.
        var unexpectedPeers = 0
        var toldOfStrangers: MonotonicTime?
    }

    /// The interval between log entries about strangers.
    private static let strangerInterval = Duration.seconds(10)

    private let directory: RuntimeFiles
    /// The name of the socket of this user's workers in the directory; those of others are named after it.
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
    /// - Parameter user: The user as whom the worker runs.
    /// - Returns: The address that the worker has to dial.
    func expect(_ secret: [UInt8], from user: UInt32 = geteuid(), _ attach: @escaping Attach) throws(CoordinatorError) -> String {
        try turn.withLock { _ throws(CoordinatorError) in
            closeIfRemoved(user)
            return try expectInTurn(secret, user, attach)
        }
    }

    /// Closes a listener whose socket was removed, because no worker would find it: the next caller makes a new one.
    ///
    /// Existing links stay.
    private func closeIfRemoved(_ user: UInt32) {
        guard let path = try? socketPath(of: user), access(path, F_OK) != 0 else { return }
        guard let lost = state.withLock({ $0.listeners.removeValue(forKey: user) }) else { return }
        logger.warning("the socket that workers dial was removed, and is made anew", metadata: ["socket": "\(path)"])
        lost.close()
    }

    private func expectInTurn(_ secret: [UInt8], _ user: UInt32, _ attach: @escaping Attach) throws(CoordinatorError) -> String {
        let (listener, isNew) = try state.withLock { state throws(CoordinatorError) -> (LinkListener, Bool) in
            if state.isClosed { throw CoordinatorError(.stopped, "the runtime has stopped: it takes no workers any more") }
            let existing = state.listeners[user]
            let listener = if let existing { existing } else { try listen(for: user) }
            state.listeners[user] = listener
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
            state.unexpectedPeers += 1
            let now = MonotonicTime.now
            if let told = state.toldOfStrangers, now - told < Self.strangerInterval { return nil }
            state.toldOfStrangers = now
            defer { state.unexpectedPeers = 0 }
            return state.unexpectedPeers
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
        let listeners = state.withLock { state in
            defer { state = State(isClosed: true) }
            return state.listeners
        }
        for (user, listener) in listeners {
            listener.close()
            directory.removeFile(RuntimeFiles.socketName(socket, of: user))
        }
    }

    private func socketPath(of user: UInt32) throws(LinkError) -> String {
        try directory.socketPath(RuntimeFiles.socketName(socket, of: user))
    }

    private func listen(for user: UInt32) throws(CoordinatorError) -> LinkListener {
        do throws(LinkError) {
            let path = try socketPath(of: user)
            let listener = try LinkListener(address: "ipc://\(path)")
            if user != geteuid() { try give(path, to: user, or: listener) }
            return listener
        } catch {
            throw CoordinatorError(.spawnFailed, "workers need a socket that they can dial: \(error)")
        }
    }

    /// Gives a socket to the user whose workers dial it, and lets that user pass through the directory; if that fails, the listener is closed.
    private func give(_ path: String, to user: UInt32, or listener: LinkListener) throws(LinkError) {
        // The group stays: it may do nothing.
        if lchown(path, user, .max) == 0 { return directory.letOthersPass() }
        let reason = String(cString: strerror(errno))
        listener.close()
        unlink(path)
        throw LinkError(.connection, "\(path) can't be given to user \(user): \(reason)")
    }
}

extension Link {
    /// Returns the reason to refuse the peer; `nil` when it runs as the user and is of the session of the process, which was spawned.
    func reasonToRefuse(in process: ProcessIdentity, of user: UInt32) -> String? {
        guard let peer else { return "the peer's identity is unknown" }
        guard peer.userID == user else { return "the peer runs as user \(peer.userID), not \(user)" }
        let session = getsid(peer.processID)
        guard session >= 0 else { return "the peer \(peer.processID) has ended" }
        guard session == process.processID else {
            return "the peer \(peer.processID) isn't of the session of \(process.processID), which was spawned"
        }
        return nil
    }
}
