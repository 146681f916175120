import AsyncHTTPClient
import ConcurrencySupport
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOSSL
import Synchronization

/// Requests to etcd's JSON gateway: to the member that answers, with the user's token.
final class EtcdClient: Sendable {
    /// The most that an answer may have: etcd's own limit of a request is 1.5 MiB, a listing has many entries.
    private static let answerLimit = 64 << 20

    let endpoints: EtcdEndpoints
    private let http: HTTPClient
    private let token: EtcdToken?
    private let closing = Lock(false)
    private let count = Atomic<Int>(0)

    var isClosed: Bool { closing.withLock { $0 } }

    var requestCount: Int { count.load(ordering: .relaxed) }

    init(_ options: EtcdOptions) throws(StoreError) {
        endpoints = try EtcdEndpoints(options.endpoints)
        token = options.credentials.map(EtcdToken.init)
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: try options.security.configuration(),
            redirectConfiguration: .disallow,
            timeout: HTTPClient.Configuration.Timeout(connect: .nanoseconds(options.tryLimit.nanosecondsClamped))
        )
        configuration.httpVersion = .http1Only
        // A member that can't be reached is a reason to ask the next one.
        configuration.connectionPool.retryConnectionEstablishment = false
        http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    deinit {
        if !isClosed { http.shutdown().whenComplete { _ in } }
    }

    func close() async {
        let isFirst = closing.withLock { isClosed in
            defer { isClosed = true }
            return !isClosed
        }
        if isFirst { try? await http.shutdown() }
    }

    /// Sends a request, and waits for the whole answer.
    func post<Answer: Decodable & Sendable>(
        _ call: String,
        _ form: some Encodable & Sendable,
        as type: Answer.Type,
        before limit: ContinuousClock.Instant
    ) async throws(EtcdFault) -> Answer {
        let bytes = try await atMember(before: limit) { endpoint, token throws(EtcdFault) in
            try await self.exchange(call, form, at: endpoint, token: token, before: limit)
        }
        do {
            return try JSONDecoder().decode(type, from: Data(bytes))
        } catch {
            throw .unintelligible("\(error)")
        }
    }

    /// Begins a request whose answer is a stream of lines.
    func stream(_ call: String, _ form: some Encodable & Sendable, before limit: ContinuousClock.Instant) async throws(EtcdFault)
        -> (lines: EtcdLines, endpoint: EtcdEndpoints.Endpoint)
    {
        try await atMember(before: limit) { endpoint, token throws(EtcdFault) in
            let response = try await within(limit) { try await self.begin(call, form, at: endpoint, token: token) }
            return (EtcdLines(response.body), endpoint)
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
                token.forget()
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
        if let known = token.known { return known.text }
        do throws(EtcdFault) {
            let bytes = try await exchange("auth/authenticate", token.form, at: endpoint, token: nil, before: limit)
            guard let text = try? JSONDecoder().decode(EtcdForms.Token.self, from: Data(bytes)).token else {
                throw .unintelligible("no token for the user")
            }
            token.keep(text)
            return text
        } catch {
            guard error.isWithoutUsers else { throw error }
            token.keep(nil)
            return nil
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
            let response = try await self.begin(call, form, at: endpoint, token: token)
            return [UInt8](buffer: try await response.body.collect(upTo: Self.answerLimit))
        }
    }

    private func begin(
        _ call: String,
        _ form: some Encodable & Sendable,
        at endpoint: EtcdEndpoints.Endpoint,
        token: String?
    ) async throws -> HTTPClientResponse {
        var request = HTTPClientRequest(url: "\(endpoint.address)/v3/\(call)")
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        if let token { request.headers.add(name: "Authorization", value: token) }
        // A member that has lost its leader says so at once, instead of letting the request wait.
        request.headers.add(name: "Grpc-Metadata-Hasleader", value: "true")
        request.body = .bytes(ByteBuffer(bytes: try JSONEncoder().encode(form)))
        count.add(1, ordering: .relaxed)
        let response = try await http.execute(request, deadline: .distantFuture)
        guard response.status != .ok else { return response }
        let bytes = try await response.body.collect(upTo: Self.answerLimit)
        let failure = try? JSONDecoder().decode(EtcdForms.Failure.self, from: Data([UInt8](buffer: bytes)))
        guard let failure else {
            throw EtcdFault.unintelligible("status \(response.status.code)")
        }
        throw EtcdFault.refused(code: failure.code, message: failure.message)
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
                try await TimeSource.monotonic.sleep(until: .now + max(limit - ContinuousClock.now, .zero))
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

extension EtcdOptions.Security {
    /// The settings of a client that looks at the name in the member's certificate.
    fileprivate func configuration() throws(StoreError) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        do {
            if let authority {
                configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(authority))
            }
            if let certificate, let key {
                configuration.certificateChain = try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) }
                configuration.privateKey = .privateKey(try NIOSSLPrivateKey(file: key, format: .pem))
            }
        } catch {
            throw StoreError(
                code: .unusable,
                message: "Could not read the certificates for etcd: \(error). They are PEM files: \(self)",
                cause: error
            )
        }
        return configuration
    }
}
