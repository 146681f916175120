import ConcurrencySupport
import Glibc
import Supervision
import WireProtocol

extension ConfigurationReader {
    /// Reads the whole file; when problems were reported, returns nil or a value that must not be used.
    ///
    /// - Parameter size: the size of the file in bytes.
    mutating func configuration(_ root: YAMLNode?, size: Int) -> DaemonConfiguration? {
        guard let root, root.plain != .null else {
            report(at: Mark(), "the file is empty; expected a mapping with `children`")
            return nil
        }
        guard checkTree(root, size: size),
            let fields = self.fields(
                root,
                "the file",
                keys: ["children", "supervision", "orphan_grace", "operators", "logging", "observability", "cluster"]
            )
        else { return nil }
        // Read first, because it has the defaults of the children's limits.
        let supervision = fields["supervision"].map { self.supervision($0) } ?? SupervisionPolicy()
        let logging = fields["logging"].map { self.logging($0, isOfFile: true) } ?? LoggingConfiguration()
        let children = required("children", of: fields, expected: "the list of what the daemon keeps alive (`children: []` for nothing)")
            .flatMap { self.children($0, supervision, logging, pathLength: 0) }
        var configuration = DaemonConfiguration(children: children ?? [], supervision: supervision)
        configuration.logging = logging
        if let operators = fields["operators"] { configuration.operators = self.operators(operators) }
        if let node = fields["observability"] { configuration.observability = observability(node) }
        configuration.cluster = fields["cluster"].flatMap { self.cluster($0, "`cluster`") }
        if let grace = fields["orphan_grace"].flatMap({ self.duration($0, "`orphan_grace`") }) { configuration.orphanGrace = grace }
        return configuration
    }

    /// - Parameters:
    ///   - supervision: the supervision of the children, which has the defaults of their limits.
    ///   - logging: the logging of the supervisor, which has the defaults of theirs.
    ///   - pathLength: the length of the supervisor's path, in bytes.
    mutating func children(
        _ node: YAMLNode,
        _ supervision: SupervisionPolicy,
        _ logging: LoggingConfiguration,
        pathLength: Int
    ) -> [ConfiguredChild]? {
        guard let nodes = list(node, "`children`", expected: "a list, each item with `key` and `worker` or `program`") else { return nil }
        var siblings = Siblings()
        for node in nodes {
            let keys = [
                "key", "worker", "program", "restart", "shutdown", "restart_limits", "children", "supervision", "instances", "autostart",
                "after", "requires", "logging", "overlap", "placement", "receives",
            ]
            guard let fields = self.fields(node, "a child", keys: keys) else {
                siblings.isComplete = false
                continue
            }
            let keyNode = required("key", of: fields, expected: "the child's name among its siblings")
            let key = keyNode.flatMap { self.childKey($0, pathLength) }
            let instances = fields["instances"].flatMap { self.wholeNumber($0, "`instances`", in: 0...Self.maximumInstances) }
            let content = self.content(fields, logging, pathLength: pathLength + (key ?? "").utf8.count + 1)
            let restart: RestartType? = fields["restart"].flatMap { self.choice($0, "`restart`") }
            let shutdown = fields["shutdown"].flatMap { self.shutdown($0, of: content) }
            let limits = fields["restart_limits"].flatMap { self.restartLimits($0, supervision) }
            let childLogging = fields["logging"].map { self.logging($0, logging, of: content, isOfFile: false) }
            let overlap = fields["overlap"].flatMap { self.overlap($0, content, shutdown) }
            let autostart = fields["autostart"].flatMap { self.truth($0, "`autostart`") }
            let placement = fields["placement"].flatMap { self.placement($0, isAtTop: pathLength == 0) }
            let receives = fields["receives"].map { node in
                pathLength == 0 ? self.receives(node, content, instances: instances, &siblings) : receivesBelow(node)
            }
            let (after, requires) = (names(fields, "after"), names(fields, "requires"))
            if let key, let keyNode { register(key, keyNode, instances, &siblings) } else { siblings.isComplete = false }
            if let key, let content {
                var child = ConfiguredChild(
                    key: key,
                    content: content,
                    restart: restart ?? .permanent,
                    shutdown: shutdown,
                    restartLimits: limits,
                    instances: instances,
                    overlap: overlap ?? false,
                    autostart: autostart ?? true,
                    after: after.map(\.name),
                    requires: requires.map(\.name)
                )
                child.logging = childLogging
                child.placement = placement
                child.receives = receives ?? []
                siblings.add(child, after + requires)
            }
        }
        checkDependencies(of: siblings)
        return siblings.children
    }

    /// The largest number of instances of one child.
    private static let maximumInstances = 1_000
    /// The largest number of spares of one worker.
    private static let maximumSpares = 100
    /// The length of the longest path, in bytes; a path on a link has at most 1,024.
    private static let maximumPathLength = 1_000
    /// The length of the longest key, in bytes; a path on a link has at most 1,024, and descendants add to it.
    private static let maximumKeyLength = 255
    /// The search path of execvp(3) when there is no PATH.
    private static let defaultSearchPath = "/bin:/usr/bin"

    private mutating func childKey(_ node: YAMLNode, _ pathLength: Int) -> String? {
        guard let key = text(node, "`key`", expected: "a name") else { return nil }
        let isControl = { (scalar: Unicode.Scalar) in scalar.properties.generalCategory == .control }
        guard !key.contains("/"), key != ".", key != "..", !key.unicodeScalars.contains(where: isControl) else {
            report(
                at: node.mark,
                "`key` is `\(key)`; expected a name without slashes and control characters, for it becomes a part of a path"
            )
            return nil
        }
        guard key.utf8.count <= Self.maximumKeyLength else {
            report(
                at: node.mark,
                "`key` has \(key.utf8.count) bytes; expected at most \(Self.maximumKeyLength), for it becomes a part of a path"
            )
            return nil
        }
        guard pathLength + 1 + key.utf8.count <= Self.maximumPathLength else {
            report(
                at: node.mark,
                "the child's path has more than \(Self.maximumPathLength) bytes; expected shorter keys, or fewer groups in groups"
            )
            return nil
        }
        return key
    }

    private mutating func content(_ fields: Fields, _ logging: LoggingConfiguration, pathLength: Int) -> ConfiguredChild.Content? {
        // All that are given are read, to find the problems inside them.
        let worker = fields["worker"].map { self.worker($0).map(ConfiguredChild.Content.worker) }
        let program = fields["program"].map { self.program($0).map(ConfiguredChild.Content.program) }
        let group = fields["children"].map { self.group($0, fields, logging, pathLength).map(ConfiguredChild.Content.group) }
        let given = [worker, program, group].compactMap(\.self)
        if group == nil, let node = fields["supervision"], fields.excused.isDisjoint(with: ["children"]) {
            report(at: node.mark, "`supervision` is for a child with `children`; expected `children` too, or `restart_limits`")
        }
        if given.count == 1 { return given[0] }
        if given.isEmpty {
            guard fields.excused.isDisjoint(with: ["worker", "program", "children"]) else { return nil }
            report(at: fields.mark, "a child has neither `worker` nor `program`, and no `children`; expected one of them")
        } else {
            let names = [("`worker`", worker), ("`program`", program), ("`children`", group)].filter { $0.1 != nil }.map(\.0)
            report(at: fields.mark, "a child has both \(names.joined(separator: " and ")); expected one of them")
        }
        return nil
    }

    private mutating func group(
        _ node: YAMLNode,
        _ fields: Fields,
        _ logging: LoggingConfiguration,
        _ pathLength: Int
    ) -> ConfiguredGroup? {
        let supervision = fields["supervision"].map { self.supervision($0) } ?? SupervisionPolicy()
        return children(node, supervision, logging, pathLength: pathLength).map { ConfiguredGroup(children: $0, supervision: supervision) }
    }

    private mutating func worker(_ node: YAMLNode) -> ConfiguredWorker? {
        let keys = [
            "executable", "coordinator", "configuration", "environment", "directory", "hang", "user", "group", "umask", "nice", "limits",
            "environment_files", "inherit_environment", "recycle", "spares",
        ]
        guard let fields = self.fields(node, "`worker`", keys: keys) else { return nil }
        let executable = required("executable", of: fields, expected: "the path of the worker's executable")
            .flatMap { self.path($0, "`executable`", expected: "the path of the worker's executable") }
        let coordinator = required("coordinator", of: fields, expected: "the name of the coordinator that the worker hosts")
            .flatMap { self.text($0, "`coordinator`", expected: "the name of the coordinator that the worker hosts") }
        let configuration = fields["configuration"].flatMap { self.json($0) }
        let environment = fields["environment"].flatMap { self.environment($0) }
        let directory = self.directory(fields)
        let hang: ConfiguredWorker.HangResponse? = fields["hang"].flatMap { self.choice($0, "`hang`") }
        let spares = fields["spares"].flatMap { self.wholeNumber($0, "`spares`", in: 0...Self.maximumSpares) }
        let process = processSettings(fields, isWorker: true)
        if let executable, let node = fields["executable"] {
            checkExecutable(executable, searchPath: nil, directory: directory, at: node)
        }
        guard let executable, let coordinator else { return nil }
        return ConfiguredWorker(
            executable: executable,
            coordinator: coordinator,
            configuration: configuration == .null ? nil : configuration,
            environment: environment ?? [:],
            directory: directory,
            hang: hang ?? .report,
            spares: spares ?? 0,
            process: process
        )
    }

    private mutating func program(_ node: YAMLNode) -> ConfiguredProgram? {
        let keys = [
            "command", "environment", "directory", "user", "group", "umask", "nice", "limits", "environment_files", "inherit_environment",
            "recycle", "stop_signal", "exit_codes", "start_seconds", "start_timeout", "ready", "watchdog", "health",
            "sockets",
        ]
        guard let fields = self.fields(node, "`program`", keys: keys) else { return nil }
        let expected = "a list of the program and its arguments, such as [python3, mailer.py]"
        let command = required("command", of: fields, expected: expected).flatMap { self.command($0, expected: expected) }
        let environment = fields["environment"].flatMap { self.environment($0) }
        let directory = self.directory(fields)
        if let command, case .sequence(let nodes)? = fields["command"]?.content, let node = nodes.first {
            let searchPath = environment?["PATH"] ?? getenv("PATH").map { String(cString: $0) } ?? Self.defaultSearchPath
            checkExecutable(command[0], searchPath: searchPath, directory: directory, at: node)
        }
        let (process, settings) = (processSettings(fields, isWorker: false), programSettings(fields))
        return command.map {
            ConfiguredProgram(command: $0, environment: environment ?? [:], directory: directory, process: process, settings: settings)
        }
    }

    mutating func command(_ node: YAMLNode, expected: String) -> [String]? {
        guard let nodes = list(node, "`command`", expected: expected) else { return nil }
        guard let program = nodes.first else {
            report(at: node.mark, "`command` is an empty list; expected \(expected)")
            return nil
        }
        let first = path(program, "the program of `command`", expected: "its name or path")
        let arguments = nodes.dropFirst().map { verbatim($0, "an argument of `command`") }
        guard let first, !arguments.contains(nil) else { return nil }
        return [first] + arguments.compactMap(\.self)
    }

    private mutating func directory(_ fields: Fields) -> String? {
        guard let node = fields["directory"], let path = path(node, "`directory`", expected: "the path of a directory") else { return nil }
        checkDirectory(path, at: node)
        return path
    }

    private mutating func environment(_ node: YAMLNode) -> [String: String]? {
        guard case .mapping(let pairs) = node.content else {
            report(at: node.mark, "`environment` is \(node.summary); expected a mapping of names to values, such as { LANG: C }")
            return nil
        }
        var environment: [String: String] = [:]
        for (keyNode, valueNode) in pairs {
            guard let name = keyNode.text, !name.isEmpty, !name.contains("=") else {
                report(at: keyNode.mark, "the name of a variable is \(keyNode.summary); expected a name without `=`")
                continue
            }
            environment[name] = verbatim(valueNode, "the variable `\(name)`")
        }
        return environment
    }

    private mutating func shutdown(_ node: YAMLNode, of content: ConfiguredChild.Content?) -> Shutdown? {
        if case .mapping = node.content { return draining(node, content) }
        switch node.text {
        case "brutalKill"?: return .brutalKill
        case "infinity"?: return .infinity
        case let word? where word.first?.isLetter == true:
            // A text that begins with a letter isn't a number without a unit.
            report(
                at: node.mark,
                "`shutdown` is `\(word)`; \(Spelling.hint(for: word, among: ["brutalKill", "infinity"])) (or a duration, such as 5s)"
            )
            return nil
        default: return duration(node, "`shutdown`", or: ", or brutalKill, or infinity").map(Shutdown.timeout)
        }
    }

    private mutating func overlap(_ node: YAMLNode, _ content: ConfiguredChild.Content?, _ shutdown: Shutdown?) -> Bool? {
        guard let overlap = truth(node, "`overlap`"), overlap else { return false }
        switch content {
        case .program?:
            report(at: node.mark, "`overlap` is for workers: a program has no messages that its next life could take; expected none")
        case .group?:
            report(at: node.mark, "`overlap` is for workers; expected it at the children of the group")
        case .worker? where shutdown == .brutalKill:
            report(at: node.mark, "`overlap` needs time for what a life has taken, and `shutdown` is brutalKill; expected a duration")
        case .worker?, nil: break
        }
        return overlap
    }

    private mutating func draining(_ node: YAMLNode, _ content: ConfiguredChild.Content?) -> Shutdown? {
        guard let fields = self.fields(node, "`shutdown`", keys: ["draining"]),
            let time = required("draining", of: fields, expected: "the time, such as 30s")
        else { return nil }
        if case .program? = content {
            report(at: time.mark, "`draining` is for workers: a program decides by itself what it does after SIGTERM; expected a duration")
            return nil
        }
        return duration(time, "`draining`").map(Shutdown.draining)
    }

    private mutating func supervision(_ node: YAMLNode) -> SupervisionPolicy {
        var policy = SupervisionPolicy()
        guard let fields = self.fields(node, "`supervision`", keys: ["strategy", "intensity", "period", "backoff"]) else { return policy }
        if let node = fields["strategy"], let strategy: SupervisionPolicy.Strategy = choice(node, "`strategy`") {
            policy.strategy = strategy
        }
        if let intensity = fields["intensity"].flatMap({ self.wholeNumber($0, "`intensity`", in: 0...1_000_000) }) {
            policy.intensity = intensity
        }
        if let period = fields["period"].flatMap({ self.period($0) }) { policy.period = period }
        if let node = fields["backoff"] { policy.backoff = backoff(node) }
        return policy
    }

    private mutating func restartLimits(_ node: YAMLNode, _ supervision: SupervisionPolicy) -> RestartLimits? {
        guard let fields = self.fields(node, "`restart_limits`", keys: ["intensity", "period", "backoff"]) else { return nil }
        return RestartLimits(
            intensity: fields["intensity"].flatMap { self.intensity($0) },
            period: fields["period"].flatMap { self.period($0) },
            backoff: fields["backoff"].map { self.backoff($0, supervision.backoff) }
        )
    }

    private mutating func intensity(_ node: YAMLNode) -> RestartLimits.Intensity? {
        guard let word = node.text, word.first?.isLetter == true else {
            return wholeNumber(node, "`intensity`", in: 0...1_000_000, or: ", or unlimited").map(RestartLimits.Intensity.restarts)
        }
        if word == "unlimited" { return .unlimited }
        report(at: node.mark, "`intensity` is `\(word)`; \(Spelling.hint(for: word, among: ["unlimited"])) (or a whole number)")
        return nil
    }

    private mutating func period(_ node: YAMLNode) -> Duration? {
        let period = duration(node, "`period`")
        if period == .zero { report(at: node.mark, "`period` is zero; expected a time in which restarts can be counted, such as 60s") }
        return period
    }

    /// - Parameter defaults: the values of omitted keys.
    private mutating func backoff(_ node: YAMLNode, _ defaults: Backoff = Backoff()) -> Backoff {
        var backoff = defaults
        let keys = ["minimum", "maximum", "reset_after", "factor", "jitter"]
        guard let fields = self.fields(node, "`backoff`", keys: keys) else { return backoff }
        if let minimum = fields["minimum"].flatMap({ self.duration($0, "`minimum`") }) { backoff.minimum = minimum }
        if let maximum = fields["maximum"].flatMap({ self.duration($0, "`maximum`") }) { backoff.maximum = maximum }
        if let factor = fields["factor"].flatMap({ self.number($0, "`factor`", in: 1...1_000) }) { backoff.factor = factor }
        if let jitter = fields["jitter"].flatMap({ self.number($0, "`jitter`", in: 0...1) }) { backoff.jitter = jitter }
        if let resetAfter = fields["reset_after"].flatMap({ self.duration($0, "`reset_after`") }) { backoff.resetAfter = resetAfter }
        if backoff.minimum > backoff.maximum {
            let (minimum, maximum) = (backoff.minimum.configurationText, backoff.maximum.configurationText)
            report(at: fields.mark, "`backoff` goes from \(minimum) down to \(maximum); expected `minimum` to be at most `maximum`")
        }
        return backoff
    }
}
