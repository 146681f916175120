import FoundationEssentials
import Supervisord

/// Answers the clients of supervisord over HTTP: its XML-RPC at `/RPC2`.
struct SupervisordInterface: Sendable {
    static let path = "/RPC2"

    /// The largest body.
    private static let maximumBody = 64 << 10

    let methods: SupervisordMethods
    let gate: RequestGuard

    func respond(to request: HTTPRequest) async throws -> HTTPResponse {
        try gate.checkXML(request)
        let body = try await request.collectBody(upTo: Self.maximumBody)
        let call: XMLRPCCall
        do throws(XMLRPCCall.Problem) {
            call = try XMLRPCCall(xml: body)
        } catch {
            throw Refusal(.badRequest, "invalidRequest", "the body isn't a call of XML-RPC: \(error)")
        }
        // Before any part of a call that has several is carried out.
        if SupervisordMethods.isChange(call) { try gate.checkPassword(request) }
        do throws(XMLRPCFault) {
            return .xml(try await methods.perform(call).response)
        } catch {
            return .xml(error.response)
        }
    }
}

extension RequestGuard {
    /// Refuses a call that another site's page may have sent: it can't send this type without having asked.
    fileprivate func checkXML(_ head: HTTPRequest) throws(Refusal) {
        try checkOrigin(head)
        let type = head[.contentType]?.split(separator: ";").first
        guard type == "text/xml" || type == "application/xml" else {
            throw Refusal(.unsupportedMediaType, "wrongMediaType", "expected a body of the type text/xml")
        }
    }

    /// Refuses a change without the token, which is the password of any user.
    fileprivate func checkPassword(_ head: HTTPRequest) throws(Refusal) {
        let words = (head[.authorization] ?? "").split(separator: " ")
        var password: [UInt8] = []
        if words.count == 2, words[0] == "Basic", let pair = Data(base64Encoded: String(words[1])), let colon = pair.firstIndex(of: 0x3A) {
            password = Array(pair[(colon + 1)...])
        }
        try checkToken(password, missing: "the password of `supervisorctl` isn't the console's token", scheme: "Basic realm=\"supervisor\"")
    }
}

extension HTTPResponse {
    fileprivate static func xml(_ text: String) -> HTTPResponse {
        .text(.ok, "text/xml; charset=utf-8", .bytes(Array(text.utf8)))
    }
}
