import Control
import WireProtocol

/// The description of the API, see https://spec.openapis.org/oas/v3.1.0.html: operations are as they describe themselves, and the answers' schemas
/// are found in the types.
struct OpenAPI {
    /// The document as it's served.
    static let document: [UInt8] = {
        var description = OpenAPI()
        do {
            try description.addQuestions()
            try description.addChanges()
            return try ControlJSON.bytes(of: description.json)
        } catch {
            preconditionFailure("the API can't be described: \(error)")
        }
    }()

    private static let refusals: [String: String] = [
        "400": "The parameters or the body are wrong.", "401": "The token is missing or wrong.",
        "403": "The console only shows, or the request comes from another site's page.", "404": "Nothing has the path.",
        "405": "Another method is needed.", "409": "The operation failed, or the life that was meant is over.",
        "413": "The body is too large.", "415": "The body isn't JSON.", "421": "The console doesn't answer under this name.",
        "429": "Too many browsers follow the tree.", "503": "The daemon doesn't answer.", "504": "The daemon is too slow.",
    ]
    private static let path: JSONValue = ["type": "string", "pattern": "^(/|(/[A-Za-z0-9_.-]+)+)$", "maxLength": 1024]
    private static let text: JSONValue = ["type": "string"]
    private static let numbers: JSONValue = ["type": "array", "items": ["type": ["number", "null"]]]

    private var paths: [String: JSONValue] = [:]
    private var schemas: [String: JSONValue] = [:]

    private var json: JSONValue {
        let failure = Self.object(["error": ["$ref": "#/components/schemas/ControlError"]])
        let refusals = Self.refusals.mapValues {
            ["description": .string($0), "content": ["application/json": ["schema": failure]]] as JSONValue
        }
        return [
            "openapi": "3.1.0",
            "info": [
                "title": "coordinator-console", "version": "1", "license": ["name": "MIT", "identifier": "MIT"],
                "description": """
                What a console shows of a running coordinatord, and the changes that a console with a token makes. It mirrors the control \
                protocol; the answers are those of `coordinatorctl --json`.
                """,
            ],
            "servers": [["url": "http://127.0.0.1:7077"]],
            "paths": .object(paths),
            "components": [
                "schemas": .object(schemas), "responses": .object(refusals),
                "securitySchemes": ["token": ["type": "http", "scheme": "bearer", "description": "The secret of --token-file."]],
            ],
        ]
    }

    // MARK: - Addresses

    private mutating func addQuestions() throws {
        for question in Questions.kept.values {
            let operation = type(of: question.content)
            try add(question: operation)
        }
        for question in Questions.ofPaths.values { try add(question: question, [Self.parameter("path", Self.path, isRequired: true)]) }
        let (event, line) = (try reference(to: ControlEvent.self), try reference(to: LogLine.self))
        let trace = try reference(to: TraceResult.self)
        _ = try reference(to: ControlError.self)
        let onePath = [Self.parameter("path", Self.path)]
        let after: JSONValue = [
            "type": "integer", "minimum": 0, "maximum": .integer(1 << 53), "default": 0,
            "description": "The number of the last event that was seen; one that is yet to come is another console's, and counts as 0.",
        ]
        add(
            "/api/v1/console",
            "What a page must know of its console.",
            Self.object([
                "version": Self.text, "readOnly": ["type": "boolean"], "operations": ["type": "array", "items": Self.text],
            ])
        )
        add(
            "/api/v1/events",
            "The latest events, oldest first.",
            Self.list(
                "events",
                Self.object([
                    "sequence": ["type": "integer"], "event": event,
                ])
            ),
            onePath + [
                Self.parameter("after", after),
                Self.parameter("limit", ["type": "integer", "minimum": 1, "maximum": 1000, "default": 200]),
            ]
        )
        try add(
            question: ControlOperation.Flows.self,
            onePath + [
                Self.parameter(
                    "selection",
                    ["type": "string", "enum": .array(ControlOperation.Flows.Selection.allCases.map { .string($0.rawValue) })]
                ),
                Self.parameter("after", Self.path),
                Self.parameter("limit", ["type": "integer", "minimum": 1, "maximum": 1000, "default": 100]),
            ]
        )
        add(
            "/api/v1/logs",
            ControlOperation.Logs.summary,
            Self.object(["path": Self.text, "lines": ["type": "array", "items": line]]),
            [
                Self.parameter("path", Self.path, isRequired: true),
                Self.parameter("lines", ["type": "integer", "minimum": 1, "maximum": 1000, "default": 200]),
                Self.parameter("pattern", ["type": "string", "maxLength": 200, "description": "A POSIX extended regular expression."]),
            ]
        )
        add(
            "/api/v1/series",
            "The figures of the last hour, of a path or of the whole tree.",
            Self.object([
                "interval_s": ["type": "integer"], "end": ["type": "integer"], "rate": Self.numbers, "waiting": Self.numbers,
                "restarts": Self.numbers, "p50": Self.numbers, "p99": Self.numbers, "cpu": Self.numbers, "memory": Self.numbers,
            ]),
            onePath
        )
        add(
            "/api/v1/traces",
            "The latest asks that were traced by way of this console.",
            Self.list(
                "traces",
                Self.object([
                    "time": Self.text, "path": Self.text, "message": Self.text, "trace": trace,
                ])
            ),
            onePath
        )
        add("/healthz", "Whether the console runs.", mediaType: "text/plain; charset=utf-8", refusals: "421", "503", "504")
        add("/readyz", "Whether the daemon answers the console.", mediaType: "text/plain; charset=utf-8", refusals: "421", "503", "504")
        let prometheus = "text/plain; version=0.0.4; charset=utf-8"
        add("/metrics", "Metrics in the text format of Prometheus.", mediaType: prometheus, refusals: "421", "503", "504")
        let position: JSONValue = ["type": "string", "pattern": "^[0-9a-z]+\\.[0-9]+\\.[0-9]+$"]
        let lastEvent: JSONValue = ["name": "Last-Event-ID", "in": "header", "schema": position]
        let stream = "Rows that change and events, as server-sent events; resumed with the last `id`, in Last-Event-ID, else in `position`."
        let places = [lastEvent, Self.parameter("position", position)]
        add("/api/v1/stream", stream, Self.text, places, mediaType: "text/event-stream", refusals: "421", "429")
    }

    private mutating func addChanges() throws {
        let change: [String: JSONValue] = [
            "path": Self.path,
            "incarnation": ["type": ["integer", "null"], "description": "The life that is meant; when it is over, nothing happens."],
            "request_id": Self.optionalText(
                Changes.longestRequestID,
                "The name of the change, which is made once however often it's requested."
            ),
        ]
        for operation in Changes.lifecycle.values { try add(change: operation, Self.object(change, required: "path")) }
        for operation in Changes.flows.values {
            var members = change
            members["incarnation"] = nil
            if operation.address == ControlOperation.FlowCancel.address {
                members["reason"] = Self.optionalText(Changes.longestReason, "What whoever waits for the flow gets.")
            }
            try add(change: operation, Self.object(members, required: "path"))
        }
        var ask = change
        ask["incarnation"] = nil
        ask["message"] = ["type": "string", "minLength": 1]
        ask["payload"] = [:]
        try add(change: ControlOperation.Trace.self, Self.object(ask, required: "path", "message"))
        add(
            change: Changes.unlock,
            "Whether the token is right; nothing is changed.",
            Self.object(["unlocked": ["type": "boolean"]]),
            ["type": "object"]
        )
    }

    private mutating func add<Operation: DescribedOperation>(question operation: Operation.Type, _ parameters: [JSONValue] = []) throws {
        add(operation.address, operation.summary, try reference(to: Operation.Answer.self), parameters)
    }

    private mutating func add<Operation: DescribedOperation>(change operation: Operation.Type, _ body: JSONValue) throws {
        add(change: operation.address, operation.summary, try reference(to: Operation.Answer.self), body)
    }

    private mutating func add(change address: String, _ summary: String, _ answer: JSONValue, _ body: JSONValue) {
        let refusals = Self.refusals.keys.filter { $0 != "429" }
        paths[address] = [
            "post": [
                "summary": .string(summary), "security": [["token": []]],
                "requestBody": ["required": true, "content": ["application/json": ["schema": body]]],
                "responses": Self.responses(answer, "application/json", refusals),
            ]
        ]
    }

    private mutating func add(
        _ address: String,
        _ summary: String,
        _ answer: JSONValue = text,
        _ parameters: [JSONValue] = [],
        mediaType: String = "application/json",
        refusals: String...
    ) {
        let refusals = refusals.isEmpty ? ["400", "404", "405", "409", "421", "503", "504"] : refusals
        let responses = Self.responses(answer, mediaType, refusals)
        paths[address] = ["get": ["summary": .string(summary), "parameters": .array(parameters), "responses": responses]]
    }

    // MARK: - Parts

    private mutating func reference<Answer: Decodable>(to answer: Answer.Type) throws -> JSONValue {
        let reference = "#/components/schemas/\(answer)"
        schemas["\(answer)"] = try AnswerSchema(of: answer) { $0 == answer ? reference : nil }.json
        return ["$ref": .string(reference)]
    }

    private static func responses(_ answer: JSONValue, _ mediaType: String, _ refusals: [String]) -> JSONValue {
        var responses: [String: JSONValue] = [:]
        for status in refusals { responses[status] = ["$ref": .string("#/components/responses/\(status)")] }
        responses["200"] = ["description": "The answer.", "content": .object([mediaType: ["schema": answer]])]
        return .object(responses)
    }

    private static func parameter(_ name: String, _ schema: JSONValue, isRequired: Bool = false) -> JSONValue {
        ["name": .string(name), "in": "query", "required": .bool(isRequired), "schema": schema]
    }

    private static func object(_ properties: [String: JSONValue], required: String...) -> JSONValue {
        let required = required.isEmpty ? properties.keys.sorted() : required
        return ["type": "object", "properties": .object(properties), "required": .array(required.map(JSONValue.string))]
    }

    /// A text that may be left out; the bytes of its characters count, of which a schema knows nothing.
    private static func optionalText(_ limit: Int, _ description: String) -> JSONValue {
        [
            "type": ["string", "null"], "minLength": 1, "maxLength": .integer(Int64(limit)),
            "description": .string("\(description) At most \(limit) bytes of UTF-8."),
        ]
    }

    private static func list(_ name: String, _ item: JSONValue) -> JSONValue {
        object([name: ["type": "array", "items": item]])
    }
}
