/// An answer to a request.
struct HTTPResponse: Sendable {
    /// The statuses of answers.
    enum Status: UInt32 {
        case ok = 200
        case notModified = 304
        case badRequest = 400
        case unauthorized = 401
        case forbidden = 403
        case notFound = 404
        case methodNotAllowed = 405
        case conflict = 409
        case contentTooLarge = 413
        case unsupportedMediaType = 415
        case misdirectedRequest = 421
        case tooManyRequests = 429
        case requestHeaderFieldsTooLarge = 431
        case internalServerError = 500
        case serviceUnavailable = 503
        case gatewayTimeout = 504
    }

    enum Body: Sendable {
        /// All bytes; the answer to HEAD, and one that says that nothing was modified, have only their number.
        case bytes([UInt8])
        /// What a function writes, until it returns.
        ///
        /// Each call of its argument waits until the connection has taken the bytes, and throws when there is no connection any more. The
        /// function runs in any case, in a task that is cancelled when the connection ends, and can give back there what it has taken.
        case stream(@Sendable (_ write: @Sendable ([UInt8]) async throws -> Void) async throws -> Void)
    }

    var status: Status
    var headers: [HTTPField: String]
    var body: Body
}
