import ConcurrencySupport
import WireProtocol

/// An argument of an operation: a member of a request, and a property of the operation.
struct OperationArgument<Operation: DescribedOperation>: Sendable {
    typealias Property<Value> = any WritableKeyPath<Operation, Value> & Sendable

    /// The member's name.
    let name: String
    /// The time that a message waits for its reply, if this is that.
    var replyTimeout: (Property<Duration>)?
    /// The path that the operation is about, if this is that.
    var path: (Property<String>)?
    /// The paths that an operator names, if this is what has them.
    var operands: Operands?
    /// The life that is meant, if this is that.
    var life: (Property<UInt64?>)?
    /// Returns the member; nil when it is left out.
    let write: @Sendable (Operation) -> JSONValue?
    let read: @Sendable (inout Operation, RequestFields) throws(ControlError) -> Void
}

extension OperationArgument {
    /// The paths among the arguments: one, or a list.
    struct Operands: Sendable {
        let isList: Bool
        let get: @Sendable (Operation) -> [String]
        let set: @Sendable (inout Operation, [String]) -> Void
    }

    /// The path in the tree that the operation is about.
    static func path(_ property: Property<String>) -> Self {
        var argument = Self(name: "path", path: property) {
            .string($0[keyPath: property])
        } read: { operation, fields throws(ControlError) in
            operation[keyPath: property] = try fields.path()
        }
        argument.operands = Operands(isList: false) {
            [$0[keyPath: property]]
        } set: {
            $0[keyPath: property] = $1.first ?? ""
        }
        return argument
    }

    /// A path that may be left out.
    static func path(_ property: Property<String?>) -> Self {
        var argument = Self(name: "path") {
            $0[keyPath: property].map(JSONValue.string)
        } read: { operation, fields throws(ControlError) in
            operation[keyPath: property] = fields.members["path"] == nil ? nil : try fields.path()
        }
        argument.operands = Operands(isList: false) {
            $0[keyPath: property].map { [$0] } ?? []
        } set: {
            $0[keyPath: property] = $1.first
        }
        return argument
    }

    /// A list of paths.
    static func paths(_ property: Property<[String]>, atMost maximum: Int) -> Self {
        var argument = Self(name: "paths") {
            .array($0[keyPath: property].map(JSONValue.string))
        } read: { operation, fields throws(ControlError) in
            operation[keyPath: property] = try fields.paths(atMost: maximum)
        }
        argument.operands = Operands(isList: true) {
            $0[keyPath: property]
        } set: {
            $0[keyPath: property] = $1
        }
        return argument
    }

    static func text(_ name: String, _ property: Property<String>) -> Self {
        Self(name: name) {
            .string($0[keyPath: property])
        } read: { operation, fields throws(ControlError) in
            operation[keyPath: property] = try fields.text(name)
        }
    }

    /// A text that may be left out.
    static func text(_ name: String, _ property: Property<String?>) -> Self {
        Self(name: name) {
            $0[keyPath: property].map(JSONValue.string)
        } read: { operation, fields throws(ControlError) in
            operation[keyPath: property] = fields.members[name] == nil ? nil : try fields.text(name)
        }
    }

    /// The whole path of a file, which may be left out.
    static func file(_ property: Property<String?>) -> Self {
        Self(name: "file") {
            $0[keyPath: property].map(JSONValue.string)
        } read: { operation, fields throws(ControlError) in
            operation[keyPath: property] = try fields.file()
        }
    }

    static func number<Number: FixedWidthInteger & Sendable>(
        _ name: String,
        _ property: Property<Number>,
        in bounds: ClosedRange<Int64>
    ) -> Self {
        Self(name: name) {
            .integer(Int64(clamping: $0[keyPath: property]))
        } read: { operation, fields throws(ControlError) in
            operation[keyPath: property] = Number(clamping: try fields.integer(name, in: bounds))
        }
    }

    /// A number that may be left out; one that is too large or too small is the nearest that isn't.
    static func number<Number: FixedWidthInteger & Sendable>(
        _ name: String,
        _ property: Property<Number?>,
        atLeast minimum: Int64 = .min
    ) -> Self {
        Self(name: name) {
            $0[keyPath: property].map { .integer(Int64(clamping: $0)) }
        } read: { operation, fields throws(ControlError) in
            operation[keyPath: property] = try fields.optionalInteger(name).map { Number(clamping: max(minimum, $0)) }
        }
    }

    /// The number of the life that is meant, which may be left out.
    static func life(_ property: Property<UInt64?>) -> Self {
        Self(name: "incarnation", life: property) {
            $0[keyPath: property].map { .integer(Int64(clamping: $0)) }
        } read: { operation, fields throws(ControlError) in
            let isThere = try fields.optionalInteger("incarnation") != nil
            operation[keyPath: property] = isThere ? UInt64(clamping: try fields.integer("incarnation", in: 0...Int64.max)) : nil
        }
    }

    /// A truth, which is written only where it isn't the usual `false`.
    static func flag(_ name: String, _ property: Property<Bool>, default usual: Bool = false) -> Self {
        Self(name: name) {
            $0[keyPath: property] || usual ? .bool($0[keyPath: property]) : nil
        } read: { operation, fields in
            operation[keyPath: property] = usual ? fields.members[name] != false : fields.members[name] == true
        }
    }

    /// A time in milliseconds, an hour at most.
    static func milliseconds(
        _ name: String,
        _ property: Property<Duration>,
        atLeast minimum: Int64,
        default usual: Int64
    ) -> Self {
        Self(name: name) {
            .integer($0[keyPath: property].wholeMilliseconds)
        } read: { operation, fields throws(ControlError) in
            operation[keyPath: property] = .milliseconds(try fields.integer(name, default: usual, in: minimum...3_600_000))
        }
    }

    /// The time that a message waits for its reply.
    static func timeout(_ property: Property<Duration>) -> Self {
        var argument = milliseconds("timeout_ms", property, atLeast: 1, default: 5000)
        argument.replyTimeout = property
        return argument
    }

    /// The content of a message; an empty object when there is none, which is how a message without fields is encoded.
    static func payload(_ property: Property<JSONValue>) -> Self {
        Self(name: "payload") {
            $0[keyPath: property]
        } read: { operation, fields in
            operation[keyPath: property] = fields.members["payload"] ?? .object([:])
        }
    }

    /// A value that may be left out.
    static func value(_ name: String, _ property: Property<JSONValue?>) -> Self {
        Self(name: name) {
            $0[keyPath: property]
        } read: { operation, fields in
            operation[keyPath: property] = fields.members[name]
        }
    }

    /// What another node is asked for.
    static func question(_ property: Property<ControlOperation>) -> Self {
        Self(name: "question") {
            .object($0[keyPath: property].fields)
        } read: { operation, fields throws(ControlError) in
            operation[keyPath: property] = try fields.question()
        }
    }
}

/// The members of a request's object; an error names the member that it is about.
struct RequestFields {
    let members: [String: JSONValue]

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

    func paths(atMost maximum: Int) throws(ControlError) -> [String] {
        guard case .array(let values)? = members["paths"], !values.isEmpty, values.count <= maximum else {
            throw ControlError(.invalidRequest, "the request has no `paths`; expected a list of 1 to \(maximum) paths")
        }
        var paths: [String] = []
        for value in values { paths.append(try RequestFields(members: ["path": value]).path()) }
        return paths
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

    func integer(_ key: String, default fallback: Int64? = nil, in bounds: ClosedRange<Int64>) throws(ControlError) -> Int64 {
        let value = try integer(key, default: fallback)
        guard bounds.contains(value) else {
            let expected = "expected a number from \(bounds.lowerBound) to \(bounds.upperBound)"
            throw ControlError(.invalidRequest, "`\(key)` is out of range; \(expected)")
        }
        return value
    }

    func optionalInteger(_ key: String) throws(ControlError) -> Int64? {
        members[key] == nil || members[key] == .null ? nil : try integer(key)
    }

    /// Reads what another node is asked for.
    func question() throws(ControlError) -> ControlOperation {
        guard case .object(let members)? = members["question"] else {
            throw ControlError(.invalidRequest, "the request has no `question`; expected an object such as {\"op\":\"ps\"}")
        }
        // A question in a question is none, and isn't read: the depth is bounded.
        let outer = ControlOperation.OnNode.name
        let question = members["op"] == .string(outer) ? nil : try ControlOperation(fields: RequestFields(members: members))
        guard let question, question.isNodeQuestion else {
            let names = ControlOperation.types.filter { $0.traits.contains(.asksNode) }.map { $0.name }
            let expected = "expected \(names.dropLast().joined(separator: ", ")) or \(names.last ?? "")"
            throw ControlError(.invalidRequest, "another node isn't asked for `\(question?.name ?? outer)`; \(expected)")
        }
        return question
    }
}
