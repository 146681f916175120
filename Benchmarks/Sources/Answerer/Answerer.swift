import Coordinators
import Glibc

/// What `Benchmarks/restarts` kills, as a coordinator in a worker: binds a Unix socket and answers every connection with its pid.
///
/// The first argument is the socket, the second how many warm spares the worker has.
@main
struct Answerer {
    static func main() async throws {
        try await CoordinatorRuntime.main(AnswererParent.self, coordinators: [AnswererCoordinator.self]) { root in
            let arguments = CommandLine.arguments
            guard arguments.count == 3, let spares = Int(arguments[2]) else { return }
            (root.socket, root.spares) = (arguments[1], spares)
        }
    }
}

/// Restarts the answerer at once, however often: what is measured is the speed, not the policy.
actor AnswererParent: Coordinator {
    struct Configuration: CoordinatorConfiguration {
        var socket = ""
        var spares = 0
    }

    static let supervision = SupervisionPolicy(.oneForOne, intensity: 1_000, period: .seconds(1), backoff: .none)

    nonisolated let context: Context
    private let configuration: Configuration

    init(_ context: Context) {
        self.context = context
        configuration = context.configuration
    }

    func start() async throws {
        guard !configuration.socket.isEmpty else { throw AnswererError("usage: Answerer SOCKET SPARES") }
        try await context.start(AnswererCoordinator.self, as: "answerer", in: .worker(spares: configuration.spares)) {
            $0.socket = self.configuration.socket
        }
    }
}

actor AnswererCoordinator: Coordinator {
    struct Configuration: CoordinatorConfiguration {
        var socket = ""
    }

    nonisolated let context: Context
    private let socketPath: String

    init(_ context: Context) {
        self.context = context
        socketPath = context.configuration.socket
    }

    func start() throws {
        let listener = try Self.listen(at: socketPath)
        Thread.begin { Self.answer(listener) }
    }

    private static func listen(at path: String) throws -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8CString)
        guard bytes.count <= MemoryLayout.size(ofValue: address.sun_path) else { throw AnswererError("'\(path)' is too long for a socket") }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes.map { UInt8(bitPattern: $0) }) }
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        unlink(path)
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
        guard listener > 0, status == 0, Glibc.listen(listener, 16) == 0 else {
            throw AnswererError("'\(path)' can't be listened at: \(String(cString: strerror(errno)))")
        }
        return listener
    }

    private static func answer(_ listener: Int32) -> Never {
        var pid = getpid()
        while true {
            let connection = accept(listener, nil, nil)
            if connection < 0 { continue }
            // A client that has gone is no reason to die.
            _ = send(connection, &pid, MemoryLayout.size(ofValue: pid), Int32(MSG_NOSIGNAL))
            close(connection)
        }
    }
}

struct AnswererError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// A thread of its own: accepting blocks.
enum Thread {
    private final class Body: Sendable {
        let run: @Sendable () -> Never
        init(_ run: @escaping @Sendable () -> Never) { self.run = run }
    }

    static func begin(_ run: @escaping @Sendable () -> Never) {
        var thread = pthread_t()
        let body = Unmanaged.passRetained(Body(run)).toOpaque()
        let status = pthread_create(&thread, nil, { Unmanaged<Body>.fromOpaque($0.unsafelyUnwrapped).takeRetainedValue().run() }, body)
        precondition(status == 0, "no thread: \(status)")
    }
}
