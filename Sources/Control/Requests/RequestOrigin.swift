import WireProtocol

/// The description of an operator's request that a node passes on to another one.
///
/// It's believed from nodes alone: a daemon skips the origin that an operator's program names.
public struct RequestOrigin: Hashable, Sendable {
    /// The process that has made the request, on the machine of the node that passes it on.
    public var processID: Int32
    /// The user of that process, on that machine.
    public var userID: UInt32
    /// The user's name there.
    public var user: String?
    /// The name of the requesting program.
    public var command: String?
    /// The epoch of the owner for which the request is meant.
    public var epoch: UInt64

    /// Creates an origin.
    public init(processID: Int32, userID: UInt32, user: String? = nil, command: String? = nil, epoch: UInt64) {
        (self.processID, self.userID, self.user, self.command, self.epoch) = (processID, userID, user, command, epoch)
    }

    var json: JSONValue {
        var members: [String: JSONValue] = [
            "pid": .integer(Int64(processID)), "uid": .integer(Int64(userID)), "epoch": .integer(Int64(truncatingIfNeeded: epoch)),
        ]
        members["user"] = user.map(JSONValue.string)
        members["command"] = command.map(JSONValue.string)
        return .object(members)
    }

    init(json: JSONValue) throws(ControlError) {
        guard case .integer(let pid)? = json["pid"], let processID = Int32(exactly: pid), case .integer(let uid)? = json["uid"],
            let userID = UInt32(exactly: uid), case .integer(let epoch)? = json["epoch"], let epoch = UInt64(exactly: epoch)
        else { throw ControlError(.invalidRequest, "`origin` has no `pid`, `uid` and `epoch`") }
        self.init(processID: processID, userID: userID, user: Self.text(json["user"]), command: Self.text(json["command"]), epoch: epoch)
    }

    private static func text(_ value: JSONValue?) -> String? {
        guard case .string(let text)? = value else { return nil }
        // It goes into the log, whose lines must stay lines.
        return String(String.UnicodeScalarView(text.unicodeScalars.prefix(64).map { $0.properties.generalCategory == .control ? " " : $0 }))
    }
}
