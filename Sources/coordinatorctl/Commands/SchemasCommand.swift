import ArgumentParser
import Control
import WireProtocol

/// The command `schemas`, from which `Deploy/schemas` writes the JSON schemas of answers.
struct SchemasCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schemas",
        abstract: "Print the JSON schemas of answers, with the type that each member belongs to.",
        shouldDisplay: false
    )

    /// The files in `Deploy/schema` that are written, and the types of the answers in them.
    static let files: [String: any (Decodable & Sendable).Type] = [
        "ask": AskResult.self, "config-changes": ConfigurationChanges.self, "dead-letters": DeadLetterList.self,
        "doctor": DoctorReport.self, "error": CommandFailure.self, "events": ControlEvent.self,
        "history": LifeHistory.self, "lifecycle": LifecycleResult.self, "logs": LogLine.self, "metrics": TreeMetrics.self,
        "node": TreeNode.self, "nodes": NodeList.self, "ps": ProcessList.self, "scale": ScaleResult.self, "send": SendResult.self,
        "signal": SignalResult.self, "top": TopReport.self, "trace": TraceResult.self, "upgrade": UpgradeResult.self,
        "where": Whereabouts.self,
    ]

    /// Returns the schema of a file.
    static func schema(of type: (some Decodable).Type, in file: String, noting members: Bool = false) throws -> JSONValue {
        try AnswerSchema(of: type, reference: "\(file).json") { type, member in
            members ? ["member": .string("\(type).\(member)")] : nil
        }.json
    }

    func run() throws {
        var schemas: [String: JSONValue] = [:]
        for (file, type) in Self.files { schemas[file] = try Self.schema(of: type, in: file, noting: true) }
        try Terminal.print(try ControlJSON.text(of: JSONValue.object(schemas)) + "\n")
    }
}
