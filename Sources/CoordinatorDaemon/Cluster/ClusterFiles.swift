import ConcurrencySupport
import Control
import CoordinatorsCluster
import DaemonConfiguration
import Glibc
import NNG
import Processes

/// The files of the cluster's part of the configuration, as they're in use: certificates, keys, lists and secrets of etcd's members and of the
/// other nodes.
///
/// The files for one kind of peers are renewed together. They are read whole and looked at before they're used, so that a half of a renewal, or
/// one that no peer would believe, changes nothing.
final class ClusterFiles: Sendable {
    /// What the files for one kind of peers have.
    struct Contents: Hashable {
        fileprivate(set) var bytes: [ClusterFile: [UInt8]] = [:]
        /// The time at which each is of no use any more, in seconds since 1970; those of which nothing is known aren't in it.
        fileprivate(set) var expiries: [ClusterFile: Int] = [:]

        func text(_ file: ClusterFile) -> String? { bytes[file].map { String(decoding: $0, as: UTF8.self) } }

        /// The secret: the first line of its file.
        func secret(_ file: ClusterFile) -> String? {
            text(file).map { $0.split(separator: "\n", omittingEmptySubsequences: false).first.map(String.init) ?? "" }
        }

        /// What has expired, in words; nil: nothing has.
        fileprivate func expired(_ cluster: ClusterConfiguration) -> String? {
            for (file, end) in expiries.sorted(by: { $0.value < $1.value }) where end <= time(nil) {
                return "\(file.path(in: cluster) ?? "") has expired on \(DateTime(seconds: end))"
            }
            return nil
        }
    }

    private struct State {
        var contents: [ClusterFile.Peer: Contents] = [:]
        /// Why the last renewal has failed.
        var failures: [ClusterFile.Peer: String] = [:]
    }

    private let cluster: ClusterConfiguration
    private let state = Lock(State())

    /// Reads all files; blocks as ``RegularFile`` does.
    ///
    /// One that has expired is used all the same: the daemon starts, and says so.
    ///
    /// - Throws: `.invalidSpecification` with the first problem.
    init(_ cluster: ClusterConfiguration) throws(ProcessError) {
        self.cluster = cluster
        for peer in ClusterFile.Peer.allCases {
            let contents = try Self.read(cluster, for: peer)
            state.withLock { state in
                state.contents[peer] = contents
                state.failures[peer] = contents.expired(cluster)
            }
        }
    }

    private static func failure(_ message: String) -> ProcessError {
        ProcessError(code: .invalidSpecification, errno: 0, message: message)
    }

    /// The contents in use.
    func contents(for peer: ClusterFile.Peer) -> Contents { state.withLock { $0.contents[peer] ?? Contents() } }

    /// Why the last renewal has failed, or what in use has expired; nil: all is well.
    func failure(for peer: ClusterFile.Peer) -> String? { state.withLock { $0.failures[peer] ?? $0.contents[peer]?.expired(cluster) } }

    /// What becomes of a renewal.
    enum Renewal {
        case unchanged
        case inUse
        /// The former contents stay in use. Not new: the last attempt has failed for the same reason.
        case failed(String, isNew: Bool)
    }

    /// Reads the files for some peers again.
    ///
    /// - Parameter use: Uses contents that differ from the former ones; what it throws says why they can't be.
    func renew(_ peer: ClusterFile.Peer, _ use: (Contents) async throws -> Void) async -> Renewal {
        do {
            let cluster = cluster
            let paths = ClusterFile.allCases.filter { $0.peer == peer }.compactMap { $0.path(in: cluster) }
            guard !paths.isEmpty else { return .unchanged }
            let next = try await BlockingCalls.shared.run("the cluster's files, \(peer)", action: "read \(paths.joined(separator: ", "))") {
                () throws(ProcessError) in try Self.read(cluster, for: peer)
            }
            guard next != contents(for: peer) else {
                state.withLock { $0.failures[peer] = nil }
                return .unchanged
            }
            if let expired = next.expired(cluster) { throw Self.failure(expired) }
            try await use(next)
            state.withLock { ($0.contents[peer], $0.failures[peer]) = (next, nil) }
            return .inUse
        } catch {
            if Task.isCancelled { return .unchanged }
            let reason = (error as? ProcessError)?.message ?? (error as? StoreError)?.message ?? ControlError(error).message
            let former = state.withLock { state in
                defer { state.failures[peer] = reason }
                return state.failures[peer]
            }
            return .failed(reason, isNew: former != reason)
        }
    }

    /// What operators are told.
    var description: [TreeMetrics.ClusterFile] {
        ClusterFile.allCases.compactMap { file in
            guard let path = file.path(in: cluster) else { return nil }
            return TreeMetrics.ClusterFile(
                file: file.rawValue,
                path: path,
                expirySeconds: contents(for: file.peer).expiries[file],
                problem: failure(for: file.peer)
            )
        }
    }

    // MARK: - Reading

    private static func read(_ cluster: ClusterConfiguration, for peer: ClusterFile.Peer) throws(ProcessError) -> Contents {
        var contents = Contents()
        if peer == .store, case .directory = cluster.store { return contents }
        let looks = FileLooks()
        for file in ClusterFile.allCases where file.peer == peer {
            guard let path = file.path(in: cluster) else { continue }
            let bytes: [UInt8]
            do throws(TrustedFile.Failure) { bytes = try file.at(path).read(looks) } catch { throw failure("\(path) \(error.explanation)") }
            contents.bytes[file] = bytes
            contents.expiries[file] = try check(bytes, of: file, at: path)
        }
        try checkKey(contents, cluster, peer)
        return contents
    }

    /// Returns when the content is of no use any more; nil: that isn't known.
    private static func check(_ bytes: [UInt8], of file: ClusterFile, at path: String) throws(ProcessError) -> Int? {
        let text = String(decoding: bytes, as: UTF8.self)
        let kind: PEMText.Kind
        switch file.content {
        case .authorities: kind = .authorities
        case .certificate: kind = .certificate
        case .key: kind = .key
        case .revocations: kind = .revocations
        case .secret:
            let count = text.split(separator: "\n", omittingEmptySubsequences: false).first?.utf8.count ?? 0
            let range = file == .linkToken ? NodeIdentity.minimumTokenLength...NodeIdentity.maximumTokenLength : 1...1024
            if range.contains(count) { return nil }
            throw failure(
                "the first line of \(path) has \(count) bytes; expected a secret of \(range.lowerBound) to \(range.upperBound)"
            )
        }
        do throws(PEMText.Problem) {
            return try PEMText(text, of: kind).expiry()
        } catch {
            // libcurl's library may know the algorithm.
            if error == .unknownAlgorithm, file.peer == .store { return nil }
            throw failure("\(path) isn't a PEM file with \(name(of: file.content)) that can be used")
        }
    }

    private static func name(of content: ClusterFile.Content) -> String {
        switch content {
        case .authorities: "certificates of authorities"
        case .certificate: "a certificate"
        case .key: "a key without a password"
        case .revocations: "lists of revoked certificates"
        case .secret: "a secret"
        }
    }

    private static func checkKey(_ contents: Contents, _ cluster: ClusterConfiguration, _ peer: ClusterFile.Peer) throws(ProcessError) {
        let (file, keyFile): (ClusterFile, ClusterFile) = peer == .store ? (.storeCertificate, .storeKey) : (.linkCertificate, .linkKey)
        guard let certificate = contents.text(file), let key = contents.text(keyFile) else { return }
        guard (try? PEMText(key, of: .key).isKey(of: PEMText(certificate, of: .certificate))) == false else { return }
        throw failure("\(keyFile.path(in: cluster) ?? "") isn't the key of the certificate in \(file.path(in: cluster) ?? "")")
    }
}
