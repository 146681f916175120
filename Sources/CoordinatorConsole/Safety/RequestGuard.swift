/// Decides whether a request may be answered, from its head alone.
struct RequestGuard: Sendable {
    private let allowedHosts: Set<String>
    private let token: [UInt8]?

    init(_ configuration: ConsoleConfiguration) {
        allowedHosts = Set(ListenAddress.loopbackHosts).union(configuration.allowedHosts)
        token = configuration.token.map { Array($0.utf8) }
    }

    /// Whether no request can change anything.
    var isReadOnly: Bool { token == nil }

    /// Refuses a head that no browser and no proxy sends: one that is too large, and one whose end or name is said in two ways.
    func checkForm(_ head: HTTPRequest) throws(Refusal) {
        let sizes = head.fields.map { $0.name.utf8.count + $0.value.utf8.count }
        guard sizes.count <= 64, sizes.reduce(0, +) <= 16 << 10, sizes.max() ?? 0 <= 8 << 10 else {
            throw Refusal(.requestHeaderFieldsTooLarge, "tooLarge", "the head has more than 64 fields, 8 KiB in one or 16 KiB in all")
        }
        for field in [HTTPField.contentLength, .host, .transferEncoding] where head.values(of: field).count > 1 {
            throw Refusal(.badRequest, "invalidRequest", "the head has several fields \(field.rawValue)")
        }
        if let coding = head[.transferEncoding], coding.lowercased() != "chunked" || head[.contentLength] != nil {
            throw Refusal(.badRequest, "invalidRequest", "the length of the body is unclear")
        }
    }

    /// Refuses a request whose `Host` is none of the console's names.
    ///
    /// The page of another site that has had its name lead here can send requests, but not under one of these names.
    func checkHost(_ head: HTTPRequest) throws(Refusal) {
        guard let host = head[.host].map(Self.name(of:)), allowedHosts.contains(host) else {
            throw Refusal(.misdirectedRequest, "wrongHost", "the console doesn't answer under this name; see --allowed-host")
        }
    }

    /// Refuses a change that another site's page may have sent, and one without the token.
    func checkChange(_ head: HTTPRequest) throws(Refusal) {
        try checkOrigin(head)
        let words = Array((head[.authorization] ?? "").utf8)
        let scheme = Array("Bearer ".utf8)
        let given = words.starts(with: scheme) ? Array(words.dropFirst(scheme.count)) : []
        try checkToken(given, missing: "the header `Authorization: Bearer TOKEN` is missing, or its token is wrong", scheme: "Bearer")
        guard let type = head[.contentType], type.split(separator: ";").first == "application/json" else {
            throw Refusal(.unsupportedMediaType, "wrongMediaType", "expected a body of the type application/json")
        }
    }

    /// Refuses a request that another site's page may have sent.
    func checkOrigin(_ head: HTTPRequest) throws(Refusal) {
        if let origin = head[.origin] {
            // The console's own page; a proxy with TLS before it is https.
            guard let authority = head[.host], ["http://\(authority)", "https://\(authority)"].contains(origin) else {
                throw Refusal(.forbidden, "wrongOrigin", "the request comes from another site's page")
            }
        }
        if let site = head[.secFetchSite], site != "same-origin", site != "none" {
            throw Refusal(.forbidden, "wrongOrigin", "the request comes from another site's page")
        }
    }

    /// Refuses a change without the token, and every change where there is none.
    ///
    /// - Parameters:
    ///   - given: the token of the request; empty when it has none.
    ///   - message: what is wrong with a request without the token.
    ///   - scheme: the way in which the token can be given, for the answer's header.
    func checkToken(_ given: [UInt8], missing message: String, scheme: String) throws(Refusal) {
        guard let token else {
            throw Refusal(.forbidden, "readOnly", "this console only shows; start it with --token-file to allow changes")
        }
        guard Self.areEqual(given, token) else { throw Refusal(.unauthorized, "wrongToken", message, scheme: scheme) }
    }

    /// Compares in a time that depends on the lengths alone.
    static func areEqual(_ given: [UInt8], _ expected: [UInt8]) -> Bool {
        var difference = UInt8(given.count == expected.count ? 0 : 1)
        for index in given.indices { difference |= given[index] ^ expected[index % max(1, expected.count)] }
        return difference == 0
    }

    /// Returns the name of an authority, without its port and brackets.
    private static func name(of authority: String) -> String {
        if authority.hasPrefix("[") { return String(authority.dropFirst().prefix { $0 != "]" }) }
        return String(authority.prefix { $0 != ":" }).lowercased()
    }
}

/// A request that isn't carried out.
struct Refusal: Error {
    var status: HTTPResponse.Status
    var code: String
    var message: String
    /// The methods to which the address answers, when that is the reason.
    var allowed: String?
    /// The way in which the token can be given, when the reason is that it's missing.
    var scheme: String?
    /// Whether what was requested may have been carried out, when the daemon has said so.
    var maybeExecuted: Bool?

    init(_ status: HTTPResponse.Status, _ code: String, _ message: String, allowed: String? = nil, scheme: String? = nil) {
        self.status = status
        self.code = code
        self.message = message
        self.allowed = allowed
        self.scheme = scheme
    }
}
