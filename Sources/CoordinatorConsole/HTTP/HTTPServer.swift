import CMicroHTTPD
import ConcurrencySupport
import Glibc
import Processes
import ServiceLifecycle

/// An HTTP server: GNU libmicrohttpd on a thread of its own, and a task for each request.
///
/// The library parses, frames and times out, and calls back on the thread, where nothing waits: a connection without an answer is suspended,
/// and the task with the answer wakes the thread, which resumes it. https://www.gnu.org/software/libmicrohttpd/
///
/// `@unchecked`: what isn't guarded by the lock belongs to the thread, from its start on.
final class HTTPServer: @unchecked Sendable {
    struct Limits {
        /// The largest number of connections at a time; further ones wait to be accepted.
        var connections: Int
        /// The time after which a connection without a request, or one that doesn't take an answer, is closed.
        var idleTime: Duration
        /// The memory of a connection, into which a head has to fit.
        var memory: Int
    }

    /// The time in which answers that have begun have to be sent when the server stops.
    private static let patience = Duration.seconds(5)

    /// What the thread is to do besides.
    private enum Order: Comparable {
        case serve
        /// Accept nothing more, and end with the last answer.
        case finish
        case end
    }

    /// A request whose answer wasn't sent yet.
    private struct Entry {
        let exchange: HTTPExchange
        let connection: OpaquePointer
        var isSuspended = false
        /// Whether a suspended connection that its client closes is to be noticed.
        var isStream = false
    }

    private let inbox = Lock((woken: [HTTPExchange](), order: Order.serve))
    /// An eventfd(2), for the thread.
    private let alarm: Int32
    private let socket: ListeningSocket
    private var daemon: OpaquePointer?
    private var entries: [UInt64: Entry] = [:]
    private var nextID: UInt64 = 1
    private var isStopping = false
    private var incoming: AsyncStream<HTTPRequest>.Continuation?

    /// Creates a server of a socket.
    ///
    /// - Throws: an error when the kernel has no descriptors for it.
    init(_ socket: ListeningSocket, _ limits: Limits) throws {
        self.socket = socket
        alarm = SystemCalls.live.eventDescriptor()
        guard alarm >= 0 else { throw ProcessError(-alarm, action: "make an eventfd for HTTP") }
        daemon = coordinator_http_start(
            try socket.listen().descriptor,
            UInt32(limits.connections),
            UInt32(limits.idleTime.components.seconds),
            limits.memory,
            { context, connection, path, method, _, part, count, id in
                guard let context, let connection, let path, let method, let count, let id else { return .NO }
                // Unsafe: the server outlives its daemon, and the library passes the texts and bytes for the time of the call.
                let server = Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
                guard let entry = server.entries[UInt64(UInt(bitPattern: id.pointee))] else {
                    return server.startExchange(connection, String(cString: method), String(cString: path), &id.pointee)
                }
                guard count.pointee == 0 else {
                    entry.exchange.connectionReceived(UnsafeRawBufferPointer(start: part, count: count.pointee))
                    count.pointee = 0
                    return .YES
                }
                return server.advance(entry)
            },
            { context, _, id, _ in
                guard let context, let id else { return }
                // Unsafe: as above.
                let server = Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
                server.entries.removeValue(forKey: UInt64(UInt(bitPattern: id.pointee)))?.exchange.connectionEnded()
                id.pointee = nil
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
        guard daemon != nil else { throw ProcessError(errno, action: "serve HTTP at \(socket.address)") }
    }

    deinit {
        if let daemon {
            // The descriptor stays the socket's.
            MHD_quiesce_daemon(daemon)
            MHD_stop_daemon(daemon)
        }
        close(alarm)
    }

    // MARK: Tasks

    /// Serves until the service is asked to stop, or the task is cancelled; may be called once.
    func run(_ respond: @escaping @Sendable (HTTPRequest) async -> HTTPResponse) async throws {
        let (requests, incoming) = AsyncStream.makeStream(of: HTTPRequest.self)
        self.incoming = incoming
        let end = OneShot<Void>()
        let hasThread = DetachedThread.run {
            self.serve()
            incoming.finish()
            end.settle()
        }
        guard hasThread else { throw ProcessError(EAGAIN, action: "start the thread of HTTP") }
        await withTaskCancellationOrGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                for await request in requests { group.addTask { await request.exchange.run(request, respond: respond) } }
                // A cancelled task takes no further requests.
                self.give(.end)
            }
            await end.value
        } onCancelOrGracefulShutdown: {
            self.give(.finish)
            _ = TimeSource.monotonic.schedule(at: .now + Self.patience) { [weak self] in self?.give(.end) }
        }
    }

    /// Has the thread look at an exchange again.
    func wake(_ exchange: HTTPExchange) {
        inbox.withLock { $0.woken.append(exchange) }
        SystemCalls.live.wake(alarm)
    }

    private func give(_ order: Order) {
        inbox.withLock { $0.order = max($0.order, order) }
        SystemCalls.live.wake(alarm)
    }

    // MARK: The thread

    private func serve() {
        guard let daemon else { return }
        while true {
            obey(daemon)
            Self.run(daemon)
            if isStopping, entries.isEmpty { break }
            wait(daemon)
        }
        MHD_stop_daemon(daemon)
        self.daemon = nil
    }

    /// Has the library do what there is to do.
    ///
    /// At its limit of connections it doesn't look at the listener, and takes that up again only when it's run after some have ended: otherwise those
    /// who wait for room would wait for the next event of another connection, or for ever.
    private static func run(_ daemon: OpaquePointer) {
        var former: UInt32
        repeat {
            former = coordinator_http_connections(daemon)
            MHD_run(daemon)
        } while coordinator_http_connections(daemon) < former
    }

    private func obey(_ daemon: OpaquePointer) {
        let (woken, order) = inbox.withLock { inbox in
            defer { inbox.woken = [] }
            return inbox
        }
        if order > .serve, !isStopping {
            isStopping = true
            // The descriptor stays the socket's.
            MHD_quiesce_daemon(daemon)
        }
        if order == .end { for entry in entries.values { entry.exchange.connectionEnded() } }
        for id in order == .end ? Array(entries.keys) : woken.map(\.id) { resume(id) }
    }

    /// Waits for work of the library, for an order, and for the clients of suspended streams.
    private func wait(_ daemon: OpaquePointer) {
        let streams = entries.values.filter { $0.isSuspended && $0.isStream }
        var polled = [coordinator_http_poll_descriptor(daemon), alarm].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        polled += streams.map { pollfd(fd: coordinator_http_socket($0.connection), events: coordinator_http_peer_closed, revents: 0) }
        var milliseconds: UInt64 = 0
        poll(&polled, nfds_t(polled.count), MHD_get_timeout(daemon, &milliseconds) == .YES ? Int32(clamping: milliseconds) : -1)
        var count: UInt64 = 0
        read(alarm, &count, MemoryLayout.size(ofValue: count))
        for (stream, polled) in zip(streams, polled.dropFirst(2)) where polled.revents != 0 {
            stream.exchange.connectionEnded()
            resume(stream.exchange.id)
        }
    }

    private func startExchange(
        _ connection: OpaquePointer,
        _ method: String,
        _ path: String,
        _ id: inout UnsafeMutableRawPointer?
    ) -> MHD_Result {
        guard !isStopping else { return .NO }
        let exchange = HTTPExchange(nextID, server: self)
        nextID += 1
        let entry = Entry(exchange: exchange, connection: connection)
        entries[exchange.id] = entry
        // Unsafe: a number in the place of a pointer, which is the library's to keep.
        id = UnsafeMutableRawPointer(bitPattern: UInt(exchange.id))
        let request = HTTPRequest(method: method, path: path, connection: connection, exchange: exchange)
        incoming?.yield(request)
        // The library ends a connection whose answer it gets before it has asked a second time, when it has the whole request.
        return request.hasBody ? advance(entry) : .YES
    }

    private func advance(_ entry: Entry) -> MHD_Result {
        switch entry.exchange.connectionAsks() {
        case .wait: suspend(entry.exchange.id)
        case .receive: break
        case .send(let response): return send(response, entry)
        case .close: return .NO
        }
        return .YES
    }

    private func suspend(_ id: UInt64) {
        guard let connection = entries[id]?.connection else { return }
        entries[id]?.isSuspended = true
        MHD_suspend_connection(connection)
    }

    private func resume(_ id: UInt64) {
        guard let entry = entries[id] else { return }
        if entry.exchange.isOver { shutdown(coordinator_http_socket(entry.connection), Int32(SHUT_RDWR)) }
        guard entry.isSuspended else { return }
        entries[id]?.isSuspended = false
        MHD_resume_connection(entry.connection)
    }

    private func send(_ answer: HTTPResponse, _ entry: Entry) -> MHD_Result {
        var answer = answer
        let response: OpaquePointer?
        switch answer.body {
        case .bytes(let bytes):
            response = bytes.withUnsafeBytes {
                // Unsafe: the library copies the bytes, and doesn't write to them.
                MHD_create_response_from_buffer($0.count, UnsafeMutableRawPointer(mutating: $0.baseAddress), .RESPMEM_MUST_COPY)
            }
        case .stream:
            entries[entry.exchange.id]?.isStream = true
            // A slow reader is waited for; what comes after the stream has a connection of its own, with a limit.
            coordinator_http_set_idle_limit(entry.connection, 0)
            answer.headers[.connection] = "close"
            // Unsafe: the response has a reference to the reader, which its end gives back.
            response = MHD_create_response_from_callback(
                .max,
                8 << 10,
                { reader, _, buffer, count in
                    guard let reader, let buffer else { return -2 }
                    let stream = Unmanaged<StreamReader>.fromOpaque(reader).takeUnretainedValue()
                    return stream.read(UnsafeMutableRawBufferPointer(start: buffer, count: count))
                },
                Unmanaged.passRetained(StreamReader(server: self, exchange: entry.exchange)).toOpaque(),
                { reader in if let reader { Unmanaged<StreamReader>.fromOpaque(reader).release() } }
            )
        }
        guard let response else { return .NO }
        defer { MHD_destroy_response(response) }
        for (field, value) in answer.headers { MHD_add_response_header(response, field.rawValue, value) }
        return MHD_queue_response(entry.connection, answer.status.rawValue, response)
    }

    /// What the library reads a stream from.
    private final class StreamReader {
        let server: HTTPServer
        let exchange: HTTPExchange

        init(server: HTTPServer, exchange: HTTPExchange) {
            self.server = server
            self.exchange = exchange
        }

        /// Returns the number of bytes that it has put into the buffer, or what MHD_ContentReaderCallback may return besides.
        func read(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
            switch exchange.connectionSends(buffer) {
            case .bytes(let count): return count
            case .wait:
                server.suspend(exchange.id)
                return 0
            case .end: return Int(MHD_CONTENT_READER_END_OF_STREAM)
            case .close: return Int(MHD_CONTENT_READER_END_WITH_ERROR)
            }
        }
    }
}
