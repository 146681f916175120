import CMicroHTTPD

/// The head of a request, and the way to its body.
struct HTTPRequest: Sendable {
    /// The method, such as `GET`.
    let method: String
    /// The path as it was sent, without the parameters.
    let path: String
    /// The parameters of the address, decoded.
    let parameters: [(name: String, value: String)]
    /// The header fields; their names are in lower case.
    let fields: [(name: String, value: String)]
    let exchange: HTTPExchange

    /// Reads the head that the library has parsed; for the library's thread.
    init(method: String, path: String, connection: OpaquePointer, exchange: HTTPExchange) {
        self.method = method
        self.path = path
        parameters = Self.pairs(.GET_ARGUMENT_KIND, connection).map { (Self.decoded($0), Self.decoded($1)) }
        fields = Self.pairs(.HEADER_KIND, connection).map { ($0.lowercased(), $1) }
        self.exchange = exchange
    }

    /// The value of a header field; what came in several fields is joined by commas.
    subscript(field: HTTPField) -> String? {
        let values = values(of: field)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// The values of the fields of a name.
    func values(of field: HTTPField) -> [String] {
        let name = field.rawValue.lowercased()
        return fields.filter { $0.name == name }.map(\.value)
    }

    /// Whether a body follows the head.
    var hasBody: Bool { self[.transferEncoding] != nil || self[.contentLength].map { Int($0) != 0 } ?? false }

    /// Receives the body.
    ///
    /// - Throws: ``HTTPExchange/Failure`` when it's larger than allowed, or the connection ends before it's whole.
    func body(upTo limit: Int, within time: Duration) async throws(HTTPExchange.Failure) -> [UInt8] {
        guard hasBody else { return [] }
        if let length = self[.contentLength].flatMap(Int.init), length > limit { throw .tooLarge }
        return try await exchange.body(upTo: limit, within: time)
    }

    private static func pairs(_ kind: MHD_ValueKind, _ connection: OpaquePointer) -> [(String, String)] {
        var pairs: [(String, String)] = []
        // Unsafe: the library calls back before it returns, with texts that live as long as the request.
        withUnsafeMutablePointer(to: &pairs) { pairs in
            _ = MHD_get_connection_values_n(
                connection,
                kind,
                { pairs, _, name, nameCount, value, valueCount in
                    let name = String(decoding: UnsafeRawBufferPointer(start: name, count: nameCount), as: UTF8.self)
                    let value = String(decoding: UnsafeRawBufferPointer(start: value, count: valueCount), as: UTF8.self)
                    pairs?.assumingMemoryBound(to: [(String, String)].self).pointee.append((name, value))
                    return .YES
                },
                pairs
            )
        }
        return pairs
    }

    private static func decoded(_ text: String) -> String {
        var bytes = Array(text.utf8CString)
        let count = MHD_http_unescape(&bytes)
        return String(decoding: bytes[..<count].lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// The header fields that requests are asked for and answers have.
enum HTTPField: String {
    case allow = "Allow"
    case authorization = "Authorization"
    case cacheControl = "Cache-Control"
    case connection = "Connection"
    case contentLength = "Content-Length"
    case contentSecurityPolicy = "Content-Security-Policy"
    case contentType = "Content-Type"
    case crossOriginOpenerPolicy = "Cross-Origin-Opener-Policy"
    case crossOriginResourcePolicy = "Cross-Origin-Resource-Policy"
    case eTag = "ETag"
    case host = "Host"
    case ifNoneMatch = "If-None-Match"
    case lastEventID = "Last-Event-ID"
    case origin = "Origin"
    case permissionsPolicy = "Permissions-Policy"
    case referrerPolicy = "Referrer-Policy"
    case scrapeTimeout = "X-Prometheus-Scrape-Timeout-Seconds"
    case secFetchSite = "Sec-Fetch-Site"
    case transferEncoding = "Transfer-Encoding"
    case wwwAuthenticate = "WWW-Authenticate"
    case xAccelBuffering = "X-Accel-Buffering"
    case xContentTypeOptions = "X-Content-Type-Options"
}
