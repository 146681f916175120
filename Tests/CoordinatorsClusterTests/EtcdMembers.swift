import ConcurrencySupport
import CoordinatorsCluster
import Glibc
import Processes
import TestSupport
import Testing

/// Real members of etcd on ports of the loopback, with their data in a fresh directory.
final class EtcdMembers: Sendable {
    @TaskLocal static var current: EtcdMembers?

    struct Member: Sendable {
        let process: ChildProcess
        let endpoint: String
    }

    /// What the members ask of their clients.
    struct Security: Sendable {
        /// The directory with the files of `Deploy/certificates`.
        var certificates: String
    }

    /// Where members are, for others that go on in their place.
    struct Place {
        let directory: TemporaryDirectory
        let ports: [UInt16]

        init(_ count: Int) throws { (directory, ports) = (try TemporaryDirectory(), try (0..<2 * count).map { _ in try FreePort.find() }) }
    }

    let members: [Member]

    private init(_ members: [Member]) { self.members = members }

    /// The etcd of the suite.
    static var shared: EtcdMembers {
        get throws { try #require(current, "the suite has no etcd") }
    }

    var endpoints: [String] { members.map(\.endpoint) }

    /// Runs members as long as the body.
    static func with(
        _ count: Int,
        security: Security? = nil,
        at place: Place? = nil,
        _ body: (EtcdMembers) async throws -> Void
    ) async throws {
        let place = try place ?? Place(count)
        let (directory, ports) = (place.directory, place.ports)
        let scheme = security == nil ? "http" : "https"
        let peers = (0..<count).map { "m\($0)=http://127.0.0.1:\(ports[2 * $0 + 1])" }.joined(separator: ",")
        let output = Lock<[UInt8]>([])
        var members: [Member] = []
        do {
            for number in 0..<count {
                let client = "\(scheme)://127.0.0.1:\(ports[2 * number])"
                let peer = "http://127.0.0.1:\(ports[2 * number + 1])"
                var arguments = [
                    "--name", "m\(number)", "--data-dir", directory.file("m\(number)"), "--listen-client-urls", client,
                    "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                    "--initial-cluster", peers, "--pre-vote=true", "--auth-token-ttl", "3",
                ]
                if let security {
                    arguments += [
                        "--cert-file", "\(security.certificates)/etcd.crt", "--key-file", "\(security.certificates)/etcd.key",
                        "--trusted-ca-file", "\(security.certificates)/ca.crt", "--client-cert-auth",
                    ]
                }
                let specification = ProcessSpecification(
                    executable: "etcd",
                    arguments: arguments,
                    standardOutput: .captured { bytes in output.withLock { $0 = ($0 + bytes).suffix(4000) } },
                    standardError: .sameAsOutput,
                    diesWithParent: true
                )
                members.append(Member(process: try await ProcessSpawner.shared.spawn(specification), endpoint: client))
            }
            let running = EtcdMembers(members)
            if security == nil { try await running.waitUntilReady(output) }
            try await body(running)
        } catch {
            for member in members { _ = await member.process.terminate(grace: .zero) }
            throw error
        }
        for member in members { _ = await member.process.terminate(grace: .zero) }
        withExtendedLifetime(directory) {}
    }

    private func waitUntilReady(_ output: borrowing Lock<[UInt8]>) async throws {
        let store = try EtcdStore(EtcdOptions(endpoints: endpoints, cluster: "ready"))
        do {
            _ = try await store.list(.everything, until: soon)
        } catch {
            Issue.record("etcd doesn't answer: \(String(decoding: output.withLock { $0 }, as: UTF8.self))")
            throw error
        }
        await store.close()
    }

    /// Runs a body with a store of a cluster of its own.
    func withStore(_ body: (EtcdStore) async throws -> Void) async throws { try await withStore(changed: { _ in }, body) }

    /// Runs a body with a store of a cluster of its own, and other options.
    func withStore(
        changed: (inout EtcdOptions) -> Void,
        _ body: (EtcdStore) async throws -> Void
    ) async throws {
        var options = EtcdOptions(endpoints: endpoints, cluster: "test-\(UInt32.random(in: .min ... .max))")
        changed(&options)
        let store = try EtcdStore(options)
        do {
            try await body(store)
        } catch {
            await store.close()
            throw error
        }
        await store.close()
    }

    /// Runs etcdctl, as foreign hands do, and returns what it prints.
    @discardableResult
    func etcdctl(_ arguments: String...) async throws -> String {
        try await Self.etcdctl(endpoints, arguments)
    }

    @discardableResult
    func etcdctl(_ arguments: [String]) async throws -> String { try await Self.etcdctl(endpoints, arguments) }

    /// Runs etcdctl on one member.
    func etcdctl(at endpoint: String, _ arguments: String...) async throws -> String {
        try await Self.etcdctl([endpoint], arguments)
    }

    private static func etcdctl(_ endpoints: [String], _ arguments: [String]) async throws -> String {
        let output = Lock<[UInt8]>([])
        let isDone = OneShot<Void>()
        let specification = ProcessSpecification(
            executable: "etcdctl",
            arguments: ["--command-timeout=10s", "--endpoints", endpoints.joined(separator: ",")] + arguments,
            environment: ["ETCDCTL_API": "3", "PATH": "/usr/bin:/bin"],
            standardOutput: .captured { bytes in
                if bytes.isEmpty { isDone.settle() } else { output.withLock { $0 += bytes } }
            },
            standardError: .sameAsOutput
        )
        let child = try await ProcessSpawner.shared.spawn(specification)
        let status = await child.waitForExit()
        await isDone.value
        let text = String(decoding: output.withLock { $0 }, as: UTF8.self)
        try #require(status == .exited(code: 0), "etcdctl \(arguments): \(text)")
        return text
    }
}

/// Ports that no other socket gets, and at which connections are refused, until the last reference goes.
final class HeldPorts {
    let numbers: [UInt16]
    private let sockets: [Int32]

    init(_ count: Int) throws {
        let held = try (0..<count).map { _ in try FreePort.hold() }
        (numbers, sockets) = (held.map(\.port), held.map(\.descriptor))
    }

    deinit { for socket in sockets { close(socket) } }
}
