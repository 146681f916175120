import ConcurrencySupport
import FoundationEssentials
import Processes
import Synchronization

/// Requests to etcd's JSON gateway: to the member that answers, with the user's token.
final class EtcdClient: Sendable {
    /// The most that an answer may have: etcd's own limit of a request is 1.5 MiB, a listing has many entries.
    private static let answerLimit = 64 << 20
    private static let okay = 200

    let endpoints: EtcdEndpoints
    private let transfers: TransferPool
    private let token: EtcdToken?
    private let connectLimit: Duration
    private let closing = Lock(false)
    private let count = Atomic<Int>(0)

    var isClosed: Bool { closing.withLock { $0 } }

    var requestCount: Int { count.load(ordering: .relaxed) }

    init(_ options: EtcdOptions) throws(StoreError) {
        endpoints = try EtcdEndpoints(options.endpoints)
        token = options.credentials.map(EtcdToken.init)
        connectLimit = options.tryLimit
        let isEncrypted = options.endpoints.contains { $0.hasPrefix("https://") }
        if isEncrypted {
            let certificates = if let known = options.certificates { known } else { try EtcdCertificates(options.security) }
            transfers = try TransferPool(certificates)
        } else {
            transfers = try TransferPool(nil)
        }
    }

    /// Uses other certificates, and another password, for the requests that begin from now on.
    func use(_ certificates: EtcdCertificates, password: String? = nil) throws(StoreError) {
        try transfers.use(certificates)
        if let password { token?.use(password: password) }
    }

    func close() async {
        closing.withLock { $0 = true }
        token?.cancel()
        await transfers.close()
    }

    /// Sends a request, and waits for the whole answer.
    func post<Answer: Decodable & Sendable>(
        _ call: String,
        _ form: some Encodable & Sendable,
        as type: Answer.Type,
        before limit: ContinuousClock.Instant
    ) async throws(EtcdFault) -> Answer {
        try await atMember(before: limit) { endpoint, token throws(EtcdFault) in
            let bytes = try await self.exchange(call, form, at: endpoint, token: token, before: limit)
            do {
                return try JSONDecoder().decode(type, from: Data(bytes))
            } catch {
                throw EtcdFault.unintelligible("\(error)")
            }
        }
    }

    /// Begins a request whose answer is a stream of lines.
    func stream(_ call: String, _ form: some Encodable & Sendable, before limit: ContinuousClock.Instant) async throws(EtcdFault)
        -> (lines: EtcdLines, endpoint: EtcdEndpoints.Endpoint)
    {
        try await atMember(before: limit) { endpoint, token throws(EtcdFault) in
            let lines = try await within(limit) {
                let transfer = try self.openRequest(call, form, at: endpoint, token: token, isStream: true)
                // The transfer ends with its last reference to the lines, also when it fails.
                let lines = EtcdLines(transfer)
                try await lines.awaitFirst()
                if transfer.status != Self.okay {
                    throw Self.failure(transfer.status, try await lines.collect(upTo: Self.answerLimit))
                }
                return lines
            }
            return (lines, endpoint)
        }
    }

    /// The next request gets a new token.
    func forgetToken() { token?.forget() }

    /// Does something with the present member and the user's token; once more when the token was too old.
    private func atMember<Answer>(
        before limit: ContinuousClock.Instant,
        _ action: (EtcdEndpoints.Endpoint, String?) async throws(EtcdFault) -> Answer
    ) async throws(EtcdFault) -> Answer {
        let endpoint = endpoints.current
        do throws(EtcdFault) {
            guard let token else { return try await action(endpoint, nil) }
            let first = try await text(of: token, at: endpoint, before: limit)
            do throws(EtcdFault) {
                return try await action(endpoint, first)
            } catch {
                guard error.isOfTheToken else { throw error }
                token.forget(first)
                return try await action(endpoint, try await text(of: token, at: endpoint, before: limit))
            }
        } catch {
            if error.isOfTheMember { endpoints.fail(endpoint) }
            throw error
        }
    }

    private func text(of token: EtcdToken, at endpoint: EtcdEndpoints.Endpoint, before limit: ContinuousClock.Instant)
        async throws(EtcdFault) -> String?
    {
        try await token.text(at: endpoint.index, before: limit) { form in
            do throws(EtcdFault) {
                let bytes = try await self.exchange("auth/authenticate", form, at: endpoint, token: nil, before: .now + EtcdToken.limit)
                let decoded = try? JSONDecoder().decode(EtcdForms.Token.self, from: Data(bytes)).token
                // It becomes a line of each request.
                guard let text = decoded, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
                    throw .unintelligible("no token for the user")
                }
                return .success(text)
            } catch {
                return error.isWithoutUsers ? .success(nil) : .failure(error)
            }
        }
    }

    private func exchange(
        _ call: String,
        _ form: some Encodable & Sendable,
        at endpoint: EtcdEndpoints.Endpoint,
        token: String?,
        before limit: ContinuousClock.Instant
    ) async throws(EtcdFault) -> [UInt8] {
        try await within(limit) {
            let transfer = try self.openRequest(call, form, at: endpoint, token: token, isStream: false)
            defer { transfer.end() }
            let bytes = try await transfer.collect(upTo: Self.answerLimit)
            if transfer.status != Self.okay { throw Self.failure(transfer.status, bytes) }
            return bytes
        }
    }

    private func openRequest(
        _ call: String,
        _ form: some Encodable & Sendable,
        at endpoint: EtcdEndpoints.Endpoint,
        token: String?,
        isStream: Bool
    ) throws -> Transfer {
        // A member that has lost its leader says so at once, instead of letting the request wait.
        var headers = ["Content-Type: application/json", "Grpc-Metadata-Hasleader: true"]
        if let token { headers.append("Authorization: \(token)") }
        let request = Transfer.Request(
            address: "\(endpoint.address)/v3/\(call)",
            headers: headers,
            body: [UInt8](try JSONEncoder().encode(form)),
            connectLimit: connectLimit,
            isStream: isStream
        )
        count.add(1, ordering: .relaxed)
        return try transfers.startTransfer(request)
    }

    private static func failure(_ status: Int, _ answer: [UInt8]) -> EtcdFault {
        guard let failure = try? JSONDecoder().decode(EtcdForms.Failure.self, from: Data(answer)) else {
            return .unintelligible("status \(status)")
        }
        return .refused(code: failure.code, message: failure.message)
    }
}

/// Does something until a time, and gives it up then.
func within<Answer: Sendable>(_ limit: ContinuousClock.Instant, _ action: @escaping @Sendable () async throws -> Answer)
    async throws(EtcdFault) -> Answer
{
    do {
        return try await withThrowingTaskGroup(of: Answer.self) { group in
            group.addTask { try await action() }
            group.addTask {
                try await ContinuousTimers.sleep(until: limit)
                throw EtcdFault.late
            }
            defer { group.cancelAll() }
            guard let answer = try await group.next() else { throw EtcdFault.cancelled }
            return answer
        }
    } catch {
        // What was given up because its caller was cancelled may say something else.
        throw Task.isCancelled ? .cancelled : EtcdFault(error)
    }
}
