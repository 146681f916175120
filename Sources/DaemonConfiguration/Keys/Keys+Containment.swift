import Processes
import WireProtocol

/// The mapping of `limits`: those of each process, and those of a process with its descendants.
struct LimitKeys: Hashable, Sendable {
    var resources: [ProcessAttributes.Resource: ProcessAttributes.Limit] = [:]
    var group = GroupLimits()
}

extension ProcessAttributes {
    var allLimits: LimitKeys {
        get { LimitKeys(resources: limits, group: groupLimits ?? GroupLimits()) }
        set { (limits, groupLimits) = (newValue.resources, newValue.group == GroupLimits() ? nil : newValue.group) }
    }
}

extension Keys {
    /// The limits of a process with its descendants.
    @KeyList<LimitKeys> static func groupLimits() -> [Key<LimitKeys>] {
        Key("memory", .positiveSize, \.group.memory, default: "any", effect: .restart).or("memory_max", "mem_limit")
            .says(
                """
                The bytes of memory of the process and its descendants, held by their control group: beyond it the kernel kills one of them. \
                This limit, `cpus` and `pids` need a control group that is left to the daemon; without one the child isn't started.
                """
            )
        Key("cpus", .number(0.01...10_000), \.group.cpus, default: "any", effect: .restart).or("cpu_quota")
            .says("The number of processors whose time the process and its descendants may take, such as `0.5`.")
        Key("pids", .integer(1...4_194_304), \.group.pids, default: "any", effect: .restart).or("tasks_max", "pids_limit")
            .says("The number of processes and threads of the process and its descendants.")
    }

    /// The keys of every process about what it may do.
    @KeyList<Process> static func powers<Process: ConfiguredProcess>() -> [Key<Process>] {
        Key("oom_score_adj", .integer(-1_000...1_000), \.process.attributes.oomScoreAdjustment, default: "the daemon's")
            .says(
                """
                How much the process is one to be killed when no memory is left, from `-1000` (never) to `1000`; only a daemon of root can \
                go below its own.
                """
            )
        Key("capabilities", .capabilities, \.process.attributes.capabilities, default: "root's own; of another user none")
            .or("cap_add", "ambient_capabilities")
            .says(
                """
                The only parts of root's powers that the process has, and that it and its descendants can get, a list such as \
                `[net_bind_service]`; `[]` for none. Only a daemon of root can give some, to a process of any user.
                """
            )
    }
}

extension Value<Set<Capability>> {
    static var capabilities: Value {
        let names = Capability.allCases.map(\.rawValue)
        let others = "^((cap_)?(\(names.joined(separator: "|")))|(CAP_)?(\(names.joined(separator: "|").uppercased())))$"
        let schema: JSONValue = ["anyOf": [["enum": .array(names.map { .string($0) })], ["type": "string", "pattern": .string(others)]]]
        let item = Value<Capability>(schema, show: \.rawValue) { reader, node, name in
            if let capability = node.text.flatMap({ Capability(name: $0) }) { return capability }
            reader.report(at: node.mark, "\(name) is \(node.summary); \(Spelling.hint(for: node.text ?? "", among: names))")
            return nil
        }
        return item.list("a capability", expected: "a list of capabilities, such as [net_bind_service]")
            .map({ Set($0) }, { $0.sorted { $0.number < $1.number } })
    }
}

extension Value<ProgramInput> {
    static var input: Value {
        let show: @Sendable (ProgramInput) -> String = { input in
            switch input {
            case .null: "null"
            case .open: "open"
            case .file(let path): path
            }
        }
        var value = Value(["anyOf": [["type": "null"], Value<String>.path("").schema]], show: show) { reader, node, name in
            if node.plain == .null || node.text == "null" { return .null }
            if node.text == "open" { return .open }
            return reader.path(node, name, expected: "open, null or the path of a file").map { .file($0) }
        }
        value.changingTexts = { input, change in if case .file(let path) = input { .file(change(path)) } else { input } }
        return value
    }
}
