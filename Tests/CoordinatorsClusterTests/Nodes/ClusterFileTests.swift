import ConcurrencySupport
import Control
import DaemonConfiguration
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

/// Every file that the cluster's part of a configuration names × what can be wrong with it: at the daemon's start, in its configuration's check,
/// and when it's renewed.
@Suite("Files of a cluster", .timeLimit(.minutes(3))) struct ClusterFileTests {
    /// What is wrong with a file.
    enum Fault: CaseIterable {
        case missing, unreadable, garbage, pipe, open, owned, exchangeable, foreign, expired

        /// Whether the file can have it.
        func concerns(_ file: ClusterFile) -> Bool {
            switch self {
            case .missing, .unreadable, .garbage, .pipe, .open, .exchangeable: true
            case .foreign: file.content == .key
            // Root alone gives files away.
            case .owned: (file.content == .key || file.content == .secret) && geteuid() == 0
            case .expired: file.content == .certificate || file.content == .authorities || file.content == .revocations
            }
        }

        /// Whether a look at the file shows it, without its content.
        var isShown: Bool {
            switch self {
            case .missing, .unreadable, .pipe, .open, .owned, .exchangeable: true
            case .garbage, .foreign, .expired: false
            }
        }
    }

    /// The files of one node, and what they're made of.
    private struct Node {
        let directory: TemporaryDirectory
        let certificates: Certificates
        let expired: Certificates

        init() async throws {
            directory = try TemporaryDirectory()
            certificates = try await Self.certificates()
            expired = try await Certificates("a")
            try await expired.expire("a")
            try await expired.revoke(isExpired: true)
            try await expired.expireAuthority()
            for file in ClusterFile.allCases { try mend(file) }
        }

        static func certificates() async throws -> Certificates {
            let certificates = try await Certificates("a", "etcd=127.0.0.1")
            try await certificates.removeCommonName(of: "a")
            try await certificates.revoke()
            return certificates
        }

        func path(_ file: ClusterFile) -> String { directory.file(file.rawValue) }

        private func text(_ file: ClusterFile, _ certificates: Certificates) throws -> String {
            switch file.content {
            case .authorities: try certificates.text("ca.crt")
            case .certificate: try certificates.text("a.crt")
            case .key: try certificates.text("a.key")
            case .revocations: try certificates.text("ca.crl")
            case .secret: file == .storePassword ? "password\n" : "a secret of this test\n"
            }
        }

        func mend(_ file: ClusterFile, by others: Certificates? = nil) throws {
            unlink(path(file))
            try Files.write(try text(file, others ?? certificates), to: path(file))
        }

        func spoil(_ file: ClusterFile, _ fault: Fault) throws {
            if fault != .open, fault != .owned { unlink(path(file)) }
            switch fault {
            case .missing: break
            // Root may read what has no mode.
            case .unreadable: symlink(path(file), path(file))
            case .garbage: try Files.write(file.content == .secret ? "\n" : "-----BEGIN NOTHING-----\n", to: path(file))
            case .pipe: mkfifo(path(file), 0o600)
            case .open: chmod(path(file), 0o666)
            case .owned: chown(path(file), 12_345, gid_t.max)
            case .exchangeable:
                // The right file, where anyone may put another one.
                let shared = "\(path(file)).shared"
                mkdir(shared, 0o700)
                try Files.write(try text(file, certificates), to: "\(shared)/file")
                chmod(shared, 0o777)
                symlink("\(shared)/file", path(file))
            case .foreign, .expired: try Files.write(try text(file, expired), to: path(file))
            }
        }

        func configure(endpoints: [String]) throws -> String {
            func security(_ authority: ClusterFile, _ certificate: ClusterFile, _ key: ClusterFile, _ list: ClusterFile) -> String {
                "{ authority: \(path(authority)), certificate: \(path(certificate)), key: \(path(key)), crl: \(path(list)) }"
            }
            let file = directory.file("tree.yaml")
            try Files.write(
                """
                cluster:
                  name: files
                  node: a
                  endpoints: [\(endpoints.joined(separator: ", "))]
                  ttl: 3s
                  tls: \(security(.storeAuthority, .storeCertificate, .storeKey, .storeRevocations))
                  user: node
                  password_file: \(path(.storePassword))
                  listen: 127.0.0.1:0
                  token_file: \(path(.linkToken))
                  link_tls: \(security(.linkAuthority, .linkCertificate, .linkKey, .linkRevocations))
                children: []
                """,
                to: file
            )
            return file
        }
    }

    private func eventually(
        _ what: @autoclosure () -> String,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ condition: () async throws -> Bool
    ) async throws {
        try await eventuallyWithoutError(what(), sourceLocation: sourceLocation, condition)
    }

    private static let coordinatord = BuiltProgram("coordinatord")

    /// What a check reports, the daemon doesn't start with; nor with what only the content shows.
    @Test func noneIsUsedAtTheStart() async throws {
        // A file for each case, so that all run side by side.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for file in ClusterFile.allCases {
                group.addTask {
                    let node = try await Node()
                    let configuration = try node.configure(endpoints: ["https://127.0.0.1:1"])
                    let cluster = try #require(try DaemonConfiguration.load(path: configuration, checkingFiles: true).cluster)
                    #expect(file.path(in: cluster) == node.path(file))
                    for fault in Fault.allCases where fault.concerns(file) && fault != .expired {
                        try node.spoil(file, fault)
                        let arguments = ["--config", configuration, "--runtime-dir", node.directory.file("run")]
                        let ended = try await Self.coordinatord.run(arguments, within: .seconds(20))
                        #expect(ended.exitCode == 78 && ended.errors.contains(node.path(file)), "\(file), \(fault): \(ended)")
                        let checked = try await Self.coordinatord.run(["--check-config", configuration], within: .seconds(20))
                        #expect(checked.exitCode == (fault.isShown ? 78 : 0), "\(file), \(fault): \(checked)")
                        if fault.isShown {
                            let lines = try #require(Files.text(of: configuration)).split(separator: "\n")
                            let line = lines.firstIndex { $0.contains(node.path(file)) }
                            #expect(checked.errors.contains("tree.yaml:\((line ?? -9) + 1):"), "\(file), \(fault): \(checked)")
                        }
                        try node.mend(file)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// What is wrong is said at once, the former content stays in use, and so does the node's place in the cluster.
    @Test func aRenewalThatFailsChangesNothing() async throws {
        let (node, next) = (try await Node(), try await Node.certificates())
        let place = try EtcdMembers.Place(1)
        let log = Lock("")
        try await EtcdMembers.with(1, security: .init(certificates: node.certificates.directory), at: place) { etcd in
            let own = node.certificates.directory
            let files = ["--cacert", "\(own)/ca.crt", "--cert", "\(own)/etcd.crt", "--key", "\(own)/etcd.key"]
            for command in [
                ["user", "add", "root:secret"], ["user", "grant-role", "root", "root"], ["user", "add", "node:password"],
                ["user", "grant-role", "node", "root"], ["auth", "enable"],
            ] {
                try await etcd.etcdctl(command + files)
            }
        }
        let endpoint = "https://127.0.0.1:\(place.ports[0])"
        let specification = ProcessSpecification(
            executable: Self.coordinatord.path,
            arguments: ["--config", try node.configure(endpoints: [endpoint]), "--runtime-dir", node.directory.file("run")],
            standardOutput: .null,
            standardError: .captured { bytes in log.withLock { $0 += String(decoding: bytes, as: UTF8.self) } }
        )
        try await withChild(specification) { daemon in
            func answer<Answer: Decodable & Sendable>(_ operation: ControlOperation) async throws -> Answer {
                let client = try await ControlClient.connect(runtimeDirectory: RuntimeDirectory(path: node.directory.file("run")))
                defer { client.close() }
                return try ControlJSON.decode(Answer.self, from: try await client.call(operation))
            }
            func isMember() async throws -> Bool { try await (answer(.nodes) as NodeList).membership == "member" }
            func problems() async throws -> [String: String] {
                let files = try await (answer(.metrics) as TreeMetrics).clusterFiles ?? []
                return files.reduce(into: [:]) { $0[$1.file] = $1.problem }
            }
            try await EtcdMembers.with(1, security: .init(certificates: node.certificates.directory), at: place) { _ in
                try await eventually("it's a member: \(log.withLock { $0 })") { try await isMember() }
                for file in ClusterFile.allCases {
                    for fault in Fault.allCases where fault.concerns(file) {
                        try node.spoil(file, fault)
                        try daemon.send(.hangup)
                        try await eventually("\(file), \(fault) is told") {
                            try await problems()[file.rawValue]?.contains(node.path(file)) == true
                        }
                        #expect(try await isMember(), "\(file), \(fault)")
                        let others = try await problems().keys.filter { ClusterFile(rawValue: $0)?.peer != file.peer }
                        #expect(others.isEmpty, "\(file), \(fault)")
                        try node.mend(file)
                        try daemon.send(.hangup)
                        try await eventually("\(file) is mended") { try await problems().isEmpty }
                    }
                }
                let events = try await BuiltProgram("coordinatorctl").run(["--runtime-dir", node.directory.file("run"), "events"])
                let doctor = try await BuiltProgram("coordinatorctl").run(["--runtime-dir", node.directory.file("run"), "doctor"])
                for file in ClusterFile.allCases { #expect(events.output.contains(node.path(file)), "\(file)") }
                #expect(doctor.output.contains("cluster files") && doctor.output.contains("expires first"), "\(doctor)")
                let metrics: TreeMetrics = try await answer(.metrics)
                for file in metrics.clusterFiles ?? [] {
                    let content = ClusterFile(rawValue: file.file)?.content
                    let expires = content == .certificate || content == .authorities || content == .revocations
                    let days = file.expirySeconds.map { ($0 - time(nil)) / 86_400 }
                    #expect(expires ? (0...31).contains(days ?? -1) : days == nil, "\(file)")
                }
                // Another authority of all.
                for file in ClusterFile.allCases { try node.mend(file, by: next) }
                try daemon.send(.hangup)
                for peer in ["etcd", "the cluster's links"] {
                    try await eventually("those of \(peer) are in use") {
                        log.withLock { $0.contains("new certificates and secrets of \(peer) are in use") }
                    }
                }
            }
            // An etcd that trusts the next authority alone.
            try await EtcdMembers.with(1, security: .init(certificates: next.directory), at: place) { _ in
                // What it writes to the store shows that it speaks with it.
                try await eventually("etcd is spoken with: \(log.withLock { $0 })") {
                    let _: JSONValue = try await answer(.drain(node: "a", isDraining: true))
                    return try await isMember()
                }
                for file in ClusterFile.allCases { try node.spoil(file, .pipe) }
                try daemon.send(.hangup)
                try daemon.send(.terminate)
                let begin = ContinuousClock.now
                #expect(await daemon.waitForExit() == .exited(code: 0))
                #expect(ContinuousClock.now - begin < .patient(.seconds(10)))
            }
        }
    }
}
