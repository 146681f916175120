import Control
import WireProtocol

/// The part of the API that changes something: the operations on a lifecycle, and an ask that is traced.
struct Changes: Sendable {
    /// The addresses.
    static let operations: Set<String> = Set(lifecycle.keys).union(flows.keys).union([ControlOperation.Trace.address, unlock])
    /// The address at which a token is tried; nothing is changed there.
    static let unlock = "/api/v1/unlock"

    static let lifecycle = addresses(
        of: ControlOperation.Start.self,
        ControlOperation.Stop.self,
        ControlOperation.Restart.self,
        ControlOperation.Pause.self,
        ControlOperation.Resume.self,
        ControlOperation.Kill.self,
        ControlOperation.Reload.self
    )

    /// What is done about durable flows, whether their coordinators live or not.
    static let flows = addresses(
        of: ControlOperation.FlowRetry.self,
        ControlOperation.FlowSkip.self,
        ControlOperation.FlowCancel.self,
        ControlOperation.FlowResume.self
    )

    /// The largest body.
    private static let maximumBody = 64 << 10
    /// The most bytes of the name of a change, as the daemon takes it.
    static let longestRequestID = 128
    /// The most bytes of the reason for which a flow is cancelled.
    static let longestReason = 1_024

    let daemon: DaemonConnection
    let traces: TraceShelf

    func carryOut(_ address: String, _ request: HTTPRequest) async throws -> HTTPResponse {
        if address == Self.unlock { return try .json(["unlocked": true]) }
        let body = try await members(of: request)
        guard let path = body["path"]?.stringValue, path.hasPrefix("/") else {
            throw Refusal(
                .badRequest,
                "invalidRequest",
                "`path` is missing or doesn't begin with a slash; expected a path such as /shop/cart"
            )
        }
        let requestID = try body.text("request_id", atMost: Self.longestRequestID)
        let life = try body.number("incarnation")
        guard life == nil || Self.lifecycle[address] != nil else {
            let advice = "`incarnation` is for the changes of a lifecycle, such as /api/v1/restart; leave it out here"
            throw Refusal(.badRequest, "invalidRequest", advice)
        }
        if address == ControlOperation.Trace.address { return try await trace(path, body, requestID) }
        let operation: ControlOperation
        if let lifecycle = Self.lifecycle[address] {
            operation = lifecycle.at(path, life: life)
        } else if address == ControlOperation.FlowCancel.address {
            operation = .flowCancel(path: path, reason: try body.text("reason", atMost: Self.longestReason))
        } else if address == ControlOperation.FlowSkip.address {
            operation = .flowSkip(path: path, page: try body.number("page"))
        } else if let flow = Self.flows[address] {
            operation = flow.at(path)
        } else {
            throw Refusal(.notFound, "noSuchPage", "there is no such operation")
        }
        return .json(bytes: try ControlJSON.bytes(of: try await daemon.call(operation, requestID: requestID)))
    }

    private func trace(_ path: String, _ body: JSONValue, _ requestID: String?) async throws -> HTTPResponse {
        guard let message = body["message"]?.stringValue, !message.isEmpty else {
            throw Refusal(.badRequest, "invalidRequest", "`message` is missing; expected the name of a message")
        }
        let operation = ControlOperation.trace(path: path, message: message, payload: body["payload"] ?? [:], timeout: .seconds(5))
        let answer = try await daemon.call(operation, requestID: requestID)
        traces.add(try ControlJSON.decode(TraceResult.self, from: answer), asked: path, message: message)
        return .json(bytes: try ControlJSON.bytes(of: answer))
    }

    private func members(of request: HTTPRequest) async throws -> JSONValue {
        let value = try ControlJSON.parse(try await request.collectBody(upTo: Self.maximumBody))
        guard value.objectValue != nil else { throw Refusal(.badRequest, "invalidRequest", "the body isn't a JSON object") }
        return value
    }
}

extension DescribedOperation {
    /// The operation's address in the API.
    static var address: String { "/api/v1/\(name)" }
}

/// Returns operations by their addresses.
func addresses(of operations: any DescribedOperation.Type...) -> [String: any DescribedOperation.Type] {
    Dictionary(uniqueKeysWithValues: operations.map { ($0.address, $0) })
}

extension HTTPRequest {
    /// The time in which a body must come whole.
    private static let bodyTimeout = Duration.seconds(10)

    /// Returns the body.
    ///
    /// - Throws: the refusal of a body that is too large.
    func collectBody(upTo maximum: Int) async throws(Refusal) -> [UInt8] {
        do {
            return try await body(upTo: maximum, within: Self.bodyTimeout)
        } catch {
            throw Refusal(.contentTooLarge, "tooLarge", "the body has more than \(maximum) bytes")
        }
    }
}

extension JSONValue {
    /// Returns a member that is a whole number, and not a negative one, if there is one.
    fileprivate func number(_ name: String) throws(Refusal) -> UInt64? {
        guard let member = self[name], !member.isNull else { return nil }
        guard let number = member.integerValue.flatMap({ UInt64(exactly: $0) }) else {
            throw Refusal(.badRequest, "invalidRequest", "`\(name)` isn't a whole number")
        }
        return number
    }

    /// Returns a member that is a text, if there is one.
    fileprivate func text(_ name: String, atMost limit: Int) throws(Refusal) -> String? {
        guard let member = self[name], !member.isNull else { return nil }
        guard let text = member.stringValue, (1...limit).contains(text.utf8.count) else {
            throw Refusal(.badRequest, "invalidRequest", "`\(name)` isn't a text of 1 to \(limit) bytes")
        }
        return text
    }
}
