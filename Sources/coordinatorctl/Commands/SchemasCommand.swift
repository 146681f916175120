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

    /// The files in `Deploy/schema`, and the types of what is in them; `coordinatord --schemas` has those of files that need no daemon.
    static var files: KeyValuePairs<String, any Decodable.Type> {
        [
            "ask": AskResult.self, "bench": BenchResult.self, "config-changes": ConfigurationChanges.self,
            "dead-letters": DeadLetterList.self,
            "doctor": DoctorReport.self, "error": CommandFailure.self, "events": ControlEvent.self, "failed-path": FailedPath.self,
            "flow": FlowList.Entry.self, "flow-list": PathResults<FlowList.Entry>.self, "flows": FlowList.self, "history": LifeHistory.self,
            "lifecycle": LifecycleResult.self, "lifecycle-list": PathResults<LifecycleResult>.self,
            "logs": LogLine.self, "metrics": TreeMetrics.self, "node": TreeNode.self, "nodes": NodeList.self, "ps": ProcessList.self,
            "requested": RequestedResult.self, "scale": ScaleResult.self, "send": SendResult.self,
            "shutdown": ShutdownCommand.Nothing.self, "signal": SignalResult.self, "signal-list": PathResults<SignalResult>.self,
            "status": TreeNode.self, "status-list": PathResults<TreeNode>.self, "top": TopReport.self, "trace": TraceResult.self,
            "tree": TreeNode.self, "upgrade": UpgradeResult.self, "where": SubtreeLocation.self,
        ]
    }

    func run() throws {
        try Terminal.print(try ControlJSON.text(of: AnswerSchema.schemas(of: Self.files, noting: true)) + "\n")
    }
}
