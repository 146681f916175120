import FoundationEssentials
import WireProtocol

/// The requests of one connection and what has become of them, without the connection: its owner sends and receives the bytes.
///
/// `Call` is what the owner keeps of a request until it's settled.
struct ControlSession<Call> {
    /// What an answer means to the owner.
    enum Step {
        /// The request has ended.
        case settled(Call, Result<JSONValue, ControlError>)
        /// Items of a stream have come.
        case items(Call, [JSONValue])
        /// Nothing: the owner has given the request up.
        case skipped
        /// The connection is over, for this reason.
        case over(ControlError)
    }

    private let socket: String
    /// The number of the next request.
    private(set) var nextID: Int64 = 1
    private(set) var open: [Int64: Call] = [:]
    /// The error of requests after the connection's end.
    private(set) var end: ControlError?

    /// - Parameter socket: The name of the other end, for messages.
    init(to socket: String) { self.socket = socket }

    /// Takes a request in.
    ///
    /// - Returns: The number of the request.
    /// - Throws: The reason of the connection's end.
    mutating func openCall(_ call: Call) throws(ControlError) -> Int64 {
        if let end { throw end }
        defer { nextID += 1 }
        open[nextID] = call
        return nextID
    }

    /// Changes what the owner keeps of an open request.
    mutating func change(_ id: Int64, _ body: (inout Call) -> Void) {
        if var call = open[id] {
            body(&call)
            open[id] = call
        }
    }

    /// Gives a request up, whose answer is skipped from now on.
    mutating func forget(_ id: Int64) { open[id] = nil }

    /// Takes an answer in.
    mutating func advance(_ answer: ControlAnswer?) -> Step {
        switch (answer?.id, answer?.content) {
        case (_, nil): return .over(.speaksAnotherProtocol(at: socket))
        // The connection as a whole is refused.
        case (nil, .failure(let error)?): return .over(error)
        case (let id?, .result(let value)?): return open.removeValue(forKey: id).map { .settled($0, .success(value)) } ?? .skipped
        case (let id?, .failure(let error)?): return open.removeValue(forKey: id).map { .settled($0, .failure(error)) } ?? .skipped
        case (let id?, .items(let items)?): return open[id].map { .items($0, items) } ?? .skipped
        case (nil, .items?), (nil, .result?): return .skipped
        }
    }

    /// Ends the session.
    ///
    /// - Returns: The requests that were open.
    mutating func end(with error: ControlError) -> [Call] {
        end = error
        defer { open = [:] }
        return Array(open.values)
    }
}

extension ControlAnswer {
    /// Reads what a daemon has sent; nil when it doesn't speak the control protocol.
    init?(message: [UInt8]) {
        guard let json = try? ControlJSON.parse(answer: message) else { return nil }
        self.init(json: json)
    }
}

extension ControlRequest {
    /// Returns the bytes of the request.
    ///
    /// - Throws: `.invalidRequest` when they are more than a daemon reads.
    func bytes() throws(ControlError) -> [UInt8] {
        let bytes = try ControlJSON.bytes(of: json)
        guard bytes.count <= ControlServer.maximumRequestSize else {
            throw ControlError(
                .invalidRequest,
                "the request has \(bytes.count) bytes; the daemon reads at most \(ControlServer.maximumRequestSize)"
            )
        }
        return bytes
    }
}

extension ControlOperation {
    /// Returns the name of a change, so that the daemon makes it once; nil of a question.
    func newRequestID() -> String? { isMutating ? UUID().uuidString : nil }

    /// Whether the operation may be requested again after an error: it wasn't carried out, or the next daemon has its outcome.
    func mayBeRepeated(after error: ControlError) -> Bool {
        error.code.provesAbsence || isUpgrade && error.code == .unreachable
    }
}
