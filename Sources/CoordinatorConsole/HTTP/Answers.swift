import Control
import HTTPTypes
import Hummingbird

extension Response {
    /// The headers of every answer.
    ///
    /// Nothing of another site is loaded, nothing inline runs, no other site's page shows the console in a frame or reads from it.
    private static let safety: HTTPFields = {
        var fields = HTTPFields()
        fields[.contentSecurityPolicy] =
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
            + "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
        fields[.xContentTypeOptions] = "nosniff"
        for (name, value) in [
            ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"), ("Permissions-Policy", "camera=(), microphone=(), geolocation=()"),
        ] {
            if let name = HTTPField.Name(name) { fields[name] = value }
        }
        return fields
    }()

    /// An answer of a media type.
    static func text(_ status: HTTPResponse.Status = .ok, _ mediaType: String, _ body: ResponseBody) -> Response {
        var headers = safety
        headers[.contentType] = mediaType
        headers[.cacheControl] = "no-store, no-transform"
        return Response(status: status, headers: headers, body: body)
    }

    /// An answer of JSON bytes.
    static func json(bytes: [UInt8], status: HTTPResponse.Status = .ok) -> Response {
        text(status, "application/json", ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// An answer of a value.
    static func json(_ value: some Encodable) throws(ControlError) -> Response { json(bytes: try ControlJSON.bytes(of: value)) }

    /// A file of the page.
    static func asset(_ asset: Asset, known: String?) -> Response {
        var response = text(.ok, asset.mediaType, ResponseBody(byteBuffer: asset.body))
        response.headers[.cacheControl] = "no-cache"
        response.headers[.eTag] = asset.tag
        guard known == asset.tag else { return response }
        response.status = .notModified
        response.body = ResponseBody()
        response.headers[.contentLength] = nil
        return response
    }

    /// A request that wasn't carried out.
    static func refusal(_ refusal: Refusal) -> Response {
        let bytes = try? ControlJSON.bytes(of: ["error": ["code": refusal.code, "message": refusal.message]])
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
        self.init(status, error.code.name, error.message)
    }
}
