import NNG
public import Processes
public import WireProtocol

/// A handler of operators' requests, which the daemon implements.
public protocol ControlHandler: Sendable {
    /// Carries out one operation and returns its result as a JSON object.
    ///
    /// Each ``ControlOperation`` names its result's type, and ``ControlJSON`` converts it. Calls are concurrent. The server cancels the
    /// task when the requester cancels the request, when the server itself is cancelled, and when the requester of a question goes
    /// away; a change that has begun is carried out to its end.
    func handle(_ operation: ControlOperation, from requester: Requester) async throws(ControlError) -> JSONValue

    /// Carries out an operation whose answer is a stream, and returns the result that ends it.
    ///
    /// The server calls this instead of ``handle(_:from:)`` for each operation that ``ControlOperation/isStream``. The task is cancelled when
    /// the requester cancels the stream or goes away, and when the server closes.
    func stream(
        _ operation: ControlOperation,
        from requester: Requester,
        to items: ItemWriter
    ) async throws(ControlError) -> JSONValue

    /// Takes note of an operation that the server hasn't carried out, because the requester's role doesn't allow it.
    func refused(_ operation: ControlOperation, from requester: Requester, _ error: ControlError)
}

extension ControlHandler {
    /// Refuses every stream.
    public func stream(
        _ operation: ControlOperation,
        from requester: Requester,
        to items: ItemWriter
    ) async throws(ControlError) -> JSONValue {
        throw ControlError(.invalidRequest, "this daemon has no stream `\(operation.name)`")
    }

    /// Takes no note.
    public func refused(_ operation: ControlOperation, from requester: Requester, _ error: ControlError) {}
}

/// The process that makes a request, by the kernel's word, or by that of the node that passes the request on.
public struct Requester: Hashable, Sendable {
    /// The ID of the process that connected.
    public var processID: Int32
    /// The effective user ID of that process.
    public var userID: UInt32
    /// The groups of that process; empty when the request comes from another node.
    public var groupIDs: [UInt32]
    /// The role of that process; of a request from another node, all that nodes may pass on.
    public var role: OperatorRole
    /// The name of the change that it requests, as in ``ControlRequest/requestID``.
    public var requestID: String?
    /// The way of the request from another node; nil: the process is on this machine, and has connected itself.
    public var passage: Passage?

    /// The way of a request from another node.
    public struct Passage: Hashable, Sendable {
        /// The node that passes the request on, which has proved its name.
        public var node: String
        /// The description that the node has sent with the request.
        public var origin: RequestOrigin

        /// Creates the way of a request.
        public init(node: String, origin: RequestOrigin) { (self.node, self.origin) = (node, origin) }
    }

    /// Creates a requester.
    public init(
        processID: Int32,
        userID: UInt32,
        groupIDs: [UInt32] = [],
        role: OperatorRole,
        requestID: String? = nil,
        passage: Passage? = nil
    ) {
        self.processID = processID
        self.userID = userID
        self.groupIDs = groupIDs
        self.role = role
        self.requestID = requestID
        self.passage = passage
    }

    /// The reason why the requester may not have an operation carried out; nil when its role allows it.
    func refusal(of operation: ControlOperation) -> ControlError? {
        if operation.role <= role { return nil }
        let subject = passage.map { "the node \($0.node)" } ?? "user \(userID)"
        let advice = "ask an operator who has that role, or have `operators` of the configuration file give it to a group of this user"
        return ControlError(
            .notPermitted,
            "`\(operation.name)` needs the role `\(operation.role.rawValue)`, and \(subject) has the role `\(role.rawValue)`; "
                + (passage == nil ? advice : "nodes pass nothing else on")
        )
    }
}
