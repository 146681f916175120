import ConcurrencySupport
import Control
import ServiceLifecycle
import Supervisord

/// What a process writes, sent to a client of supervisord as it's written: `GET /logtail/NAME` and `GET /logtail/NAME/stderr`.
struct LogTail: Sendable {
    static let path = "/logtail/"

    /// The number of lines that a client gets of what was written before.
    private static let linesBefore = 10
    /// The largest number of clients at the same time: each has a connection of its own to the daemon.
    private static let maximumClients = 16

    let methods: SupervisordMethods
    let gate: RequestGuard
    private let clients = ClientCount()

    init(methods: SupervisordMethods, gate: RequestGuard) {
        self.methods = methods
        self.gate = gate
    }

    func respond(to request: HTTPRequest) async throws -> HTTPResponse {
        try gate.checkOrigin(request)
        let (name, stream) = try Self.parts(of: request.path)
        guard let place = clients.enter(atMost: Self.maximumClients) else {
            throw Refusal(.tooManyRequests, "tooManyStreams", "too many clients follow logs; end one")
        }
        let process: SupervisedProcess
        do {
            process = try await methods.process(name)
        } catch let fault as XMLRPCFault where fault.code == .badName {
            throw Refusal(.notFound, "noSuchPath", "there is no process \(name); see `supervisorctl status`")
        }
        // A client that reads slowly has the daemon wait: the console's own connection stays free.
        let client = try await methods.daemon.another()
        let lines = try await client.items(of: .logs(LogQuery(paths: [process.path], lines: Self.linesBefore, follows: true)))
        let body = HTTPResponse.Body.stream { write in
            defer {
                client.close()
                place.leave()
            }
            // The end of the log is also that of the daemon or the console: the client sees the end of the stream.
            try await withGracefulShutdownHandler {
                while case .items(let items)? = try? await lines.next() {
                    for item in items {
                        let line = try ControlJSON.decode(LogLine.self, from: item)
                        guard line.path == process.path, line.stream == stream, line.gap == nil else { continue }
                        try await write(Array((line.line + (line.partial == true ? "" : "\n")).utf8))
                    }
                }
            } onGracefulShutdown: {
                client.close()
            }
        }
        return .text(.ok, "text/plain; charset=utf-8", body)
    }

    /// Returns the process and the stream that a path names.
    private static func parts(of path: String) throws(Refusal) -> (name: String, stream: LogLine.Stream) {
        let parts = path.dropFirst(Self.path.count).split(separator: "/", omittingEmptySubsequences: false)
        switch (parts.count, parts.last) {
        case (1, _), (2, "stdout"): return (String(parts[0]), .stdout)
        case (2, "stderr"): return (String(parts[0]), .stderr)
        default: throw Refusal(.notFound, "noSuchPage", "expected /logtail/NAME, /logtail/NAME/stdout or /logtail/NAME/stderr")
        }
    }
}

/// The number of clients that follow logs.
private final class ClientCount: Sendable {
    private let count = Lock(0)

    /// Takes a place, unless all are taken.
    func enter(atMost maximum: Int) -> Place? {
        let isFree = count.withLock { count in
            guard count < maximum else { return false }
            count += 1
            return true
        }
        return isFree ? Place(self) : nil
    }

    /// A client's place, which the end of the answer gives back, also of one that was never sent.
    final class Place: Sendable {
        private let owner: Lock<ClientCount?>

        init(_ owner: ClientCount) { self.owner = Lock(owner) }

        deinit { leave() }

        /// Gives the place back; the second call does nothing.
        func leave() {
            let owner = owner.withLock { owner in
                defer { owner = nil }
                return owner
            }
            owner?.count.withLock { $0 -= 1 }
        }
    }
}
