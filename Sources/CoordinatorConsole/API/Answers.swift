import Control
import WireProtocol

extension HTTPResponse {
    /// The headers of every answer.
    ///
    /// Nothing of another site is loaded, nothing inline runs, no other site's page shows the console in a frame or reads from it.
    private static let safety: [HTTPField: String] = [
        .contentSecurityPolicy:
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
            + "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        .xContentTypeOptions: "nosniff",
        .referrerPolicy: "no-referrer",
        .crossOriginOpenerPolicy: "same-origin",
        .crossOriginResourcePolicy: "same-origin",
        .permissionsPolicy: "camera=(), microphone=(), geolocation=()",
    ]

    /// An answer of a media type.
    static func text(_ status: Status = .ok, _ mediaType: String, _ body: Body) -> HTTPResponse {
        var headers = safety
        headers[.contentType] = mediaType
        headers[.cacheControl] = "no-store, no-transform"
        return HTTPResponse(status: status, headers: headers, body: body)
    }

    /// An answer of JSON bytes.
    static func json(bytes: [UInt8], status: Status = .ok) -> HTTPResponse {
        text(status, "application/json", .bytes(bytes))
    }

    /// An answer of a value.
    static func json(_ value: some Encodable) throws(ControlError) -> HTTPResponse { json(bytes: try ControlJSON.bytes(of: value)) }

    /// A file of the page.
    static func asset(_ asset: Asset, known: String?) -> HTTPResponse {
        var response = text(known == asset.tag ? .notModified : .ok, asset.mediaType, .bytes(asset.body))
        response.headers[.cacheControl] = "no-cache"
        response.headers[.eTag] = asset.tag
        return response
    }

    /// A request that wasn't carried out.
    static func refusal(_ refusal: Refusal) -> HTTPResponse {
        let error = ControlError(.init(name: refusal.code), refusal.message, maybeExecuted: refusal.maybeExecuted)
        let bytes = try? ControlJSON.bytes(of: ["error": error.json] as JSONValue)
        var response = json(bytes: bytes ?? [], status: refusal.status)
        response.headers[.wwwAuthenticate] = refusal.scheme
        response.headers[.allow] = refusal.allowed
        return response
    }
}

extension Refusal {
    /// Tells a browser what the daemon has told the console.
    init(_ error: ControlError) {
        let status: HTTPResponse.Status =
            switch error.code {
            case .noSuchPath: .notFound
            case .invalidRequest, .badConfiguration: .badRequest
            case .notPermitted: .forbidden
            case .unreachable: .serviceUnavailable
            case .timedOut: .gatewayTimeout
            default: .conflict
            }
        // Who asks isn't known here.
        self.init(status, error.code.name, error.withoutQuotation.message)
        maybeExecuted = error.maybeExecuted
    }
}
