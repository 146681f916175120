import ConcurrencySupport
import WireProtocol

extension ControlOperation {
    /// The longest time-out that an ask can have.
    static let maximumTimeout = Duration.seconds(3600)

    /// The largest number of a child's instances, as in the configuration file.
    public static let maximumInstances: Int64 = 1_000

    /// The fields of a request that describe the operation: its name and its arguments.
    var fields: [String: JSONValue] {
        var fields: [String: JSONValue] = ["op": .string(name)]
        switch self {
        case .tree, .ps, .deadLetters, .metrics, .ping, .nodes: break
        case .shutdown(let now): if now { fields["now"] = true }
        case .status(let path), .start(let path), .stop(let path), .restart(let path), .kill(let path), .pause(let path), .resume(let path),
            .replace(let path), .replacements(let path), .whereabouts(let path):
            fields["path"] = .string(path)
        case .drain(let node, let isDraining):
            fields["node"] = .string(node)
            fields["drain"] = .bool(isDraining)
        case .move(let path, let node):
            fields["path"] = .string(path)
            fields["node"] = node.map(JSONValue.string)
        case .scale(let path, let instances):
            fields["path"] = .string(path)
            fields["instances"] = .integer(Int64(instances))
        case .ask(let path, let message, let payload, let timeout), .trace(let path, let message, let payload, let timeout):
            fields["path"] = .string(path)
            fields["message"] = .string(message)
            fields["payload"] = payload
            fields["timeout_ms"] = .integer(timeout.wholeMilliseconds)
        case .send(let path, let message, let payload):
            fields["path"] = .string(path)
            fields["message"] = .string(message)
            fields["payload"] = payload
        case .signal(let path, let signal):
            fields["path"] = .string(path)
            fields["signal"] = .integer(Int64(signal))
        case .configurationDifference(let file), .configurationApplication(let file): fields["file"] = file.map(JSONValue.string)
        case .logs(let query): fields.merge(query.fields) { $1 }
        case .events(let query): fields.merge(query.fields) { $1 }
        case .history(let path): fields["path"] = .string(path)
        case .upgrade(let executable, let wait, let isDryRun):
            fields["file"] = executable.map(JSONValue.string)
            fields["wait_ms"] = .integer(wait.wholeMilliseconds)
            if isDryRun { fields["dry_run"] = true }
        case .onNode(let node, let question):
            fields["node"] = .string(node)
            fields["question"] = .object(question.fields)
        }
        return fields
    }

    /// Reads the operation of a request; skips unknown fields, so that later versions can add some.
    init(fields: RequestFields) throws(ControlError) {
        let text = try fields.text("op")
        guard let name = Name(rawValue: text) else {
            throw ControlError(.invalidRequest, "this daemon has no operation `\(text.prefix(60))`; see `coordinatorctl help`")
        }
        switch name {
        case .tree: self = .tree
        case .ps: self = .ps
        case .deadLetters: self = .deadLetters
        case .metrics: self = .metrics
        case .ping: self = .ping
        case .shutdown: self = .shutdown(now: fields.members["now"] == true)
        case .status: self = .status(path: try fields.path())
        case .start: self = .start(path: try fields.path())
        case .stop: self = .stop(path: try fields.path())
        case .restart: self = .restart(path: try fields.path())
        case .replace: self = .replace(path: try fields.path())
        case .replacements: self = .replacements(path: try fields.path())
        case .scale:
            let instances = try fields.integer("instances")
            guard (0...Self.maximumInstances).contains(instances) else {
                throw ControlError(.invalidRequest, "`instances` is out of range; expected a number from 0 to \(Self.maximumInstances)")
            }
            self = .scale(path: try fields.path(), instances: Int(instances))
        case .kill: self = .kill(path: try fields.path())
        case .pause: self = .pause(path: try fields.path())
        case .resume: self = .resume(path: try fields.path())
        case .ask:
            let timeout = try fields.timeout()
            self = .ask(path: try fields.path(), message: try fields.text("message"), payload: fields.payload, timeout: timeout)
        case .send: self = .send(path: try fields.path(), message: try fields.text("message"), payload: fields.payload)
        case .signal:
            let signal = try fields.integer("signal")
            guard (1...64).contains(signal) else {
                throw ControlError(.invalidRequest, "`signal` is out of range; expected a number from 1 to 64")
            }
            self = .signal(path: try fields.path(), signal: Int32(signal))
        case .trace:
            let timeout = try fields.timeout()
            self = .trace(path: try fields.path(), message: try fields.text("message"), payload: fields.payload, timeout: timeout)
        case .configurationDifference: self = .configurationDifference(file: try fields.file())
        case .configurationApplication: self = .configurationApplication(file: try fields.file())
        case .logs: self = .logs(try LogQuery(fields: fields))
        case .events: self = .events(try EventQuery(fields: fields))
        case .history: self = .history(path: try fields.path())
        case .nodes: self = .nodes
        case .whereabouts: self = .whereabouts(path: try fields.path())
        case .drain: self = .drain(node: try fields.text("node"), isDraining: fields.members["drain"] != false)
        case .move:
            self = .move(path: try fields.path(), node: fields.members["node"] == nil ? nil : try fields.text("node"))
        case .onNode: self = .onNode(try fields.text("node"), try Self.question(in: fields))
        case .upgrade:
            let wait = Duration.milliseconds(try fields.integer("wait_ms", default: 30_000))
            guard wait >= .zero, wait <= Self.maximumTimeout else {
                throw ControlError(.invalidRequest, "`wait_ms` is out of range; expected a number from 0 to 3600000")
            }
            self = .upgrade(executable: try fields.file(), wait: wait, isDryRun: fields.members["dry_run"] == true)
        }
    }

    /// Reads what another node is asked for.
    private static func question(in fields: RequestFields) throws(ControlError) -> ControlOperation {
        guard case .object(let members)? = fields.members["question"] else {
            throw ControlError(.invalidRequest, "the request has no `question`; expected an object such as {\"op\":\"ps\"}")
        }
        // A question in a question is none, and isn't read: the depth is bounded.
        guard members["op"] != .string(Name.onNode.rawValue) else { throw isNoQuestion(Name.onNode.rawValue) }
        let question = try ControlOperation(fields: RequestFields(members: members))
        guard question.isNodeQuestion else { throw isNoQuestion(question.name) }
        return question
    }

    private static func isNoQuestion(_ name: String) -> ControlError {
        ControlError(.invalidRequest, "another node isn't asked for `\(name)`; expected ps, events, dead-letters or metrics")
    }
}

/// The members of a request's object; an error names the member that it is about.
struct RequestFields {
    let members: [String: JSONValue]

    /// The payload; an empty object when there is none, which is how a message without fields is encoded.
    var payload: JSONValue { members["payload"] ?? .object([:]) }

    /// The largest number of bytes of a name, which may be kept for longer than its request: as many as a path and a message's name can have.
    private static let maximumTextSize = 1_024

    func text(_ key: String, upTo maximum: Int = maximumTextSize) throws(ControlError) -> String {
        guard case .string(let text)? = members[key], !text.isEmpty else {
            throw ControlError(.invalidRequest, "the request has no `\(key)`; expected a text that isn't empty")
        }
        guard text.utf8.count <= maximum else {
            throw ControlError(.invalidRequest, "`\(key)` has \(text.utf8.count) bytes; expected \(maximum) at most")
        }
        return text
    }

    func path() throws(ControlError) -> String {
        let path = try text("path")
        guard path.hasPrefix("/") else {
            throw ControlError(
                .invalidRequest,
                "the path `\(path.prefix(200))` doesn't begin with a slash; expected a path such as /shop/cart"
            )
        }
        return path
    }

    /// The time that an ask waits for its reply.
    func timeout() throws(ControlError) -> Duration {
        let timeout = Duration.milliseconds(try integer("timeout_ms", default: 5000))
        guard timeout > .zero, timeout <= ControlOperation.maximumTimeout else {
            throw ControlError(.invalidRequest, "`timeout_ms` is out of range; expected a number from 1 to 3600000")
        }
        return timeout
    }

    /// Reads the path of a file; nil when there is none.
    func file() throws(ControlError) -> String? {
        guard members["file"] != nil else { return nil }
        let file = try text("file", upTo: 4_096)
        guard file.hasPrefix("/") else {
            throw ControlError(.invalidRequest, "the file `\(file.prefix(200))` doesn't begin with a slash; expected its whole path")
        }
        return file
    }

    func integer(_ key: String, default fallback: Int64? = nil) throws(ControlError) -> Int64 {
        switch members[key] {
        case .integer(let value)?: return value
        case nil:
            if let fallback { return fallback }
            throw ControlError(.invalidRequest, "the request has no `\(key)`; expected a whole number")
        default: throw ControlError(.invalidRequest, "`\(key)` isn't a whole number")
        }
    }
}
