import ConcurrencySupport
import Supervision
import WireProtocol

extension Keys {
    static let child = Table(
        "child",
        ConfiguredChild(key: "", content: .group(ConfiguredGroup(children: []))),
        .one(["worker", "program", "children", "oneshot"]),
        .needs("supervision", "children") { _ in
            "`supervision` is for a child with `children`; expected `children` too, or `restart_limits`"
        },
        .needs("defaults", "children") { _ in "`defaults` is for a child with `children`, whose children it's for; expected `children` too"
        },
        .when("program", ["receives": false, "overlap": ["const": false], "stop_timeout": ["not": ["type": "object"]]]),
        .when(
            "oneshot",
            [
                "receives": false, "overlap": ["const": false], "stop_timeout": ["not": ["type": "object"]],
                "restart": ["not": ["const": "always"]],
            ]
        ),
        .when("worker", ["schedule": false, "logging": ["properties": ["standard_error": ["const": "together"]]]]),
        .when(
            "children",
            [
                "receives": false, "overlap": ["const": false], "schedule": false, "on_exit": false, "on_failure": false,
                "children": ["items": ["properties": ["placement": false, "receives": false]]],
            ]
        ),
        .when("instances", ["receives": false]),
        .when("schedule", ["placement": false]),
        .schema([
            "not": [
                "required": ["worker", "overlap", "stop_timeout"],
                "properties": ["overlap": ["const": true], "stop_timeout": ["const": "brutal_kill"]],
            ]
        ]),
        .schema([
            "if": ["required": ["schedule", "restart"], "properties": ["restart": ["const": "always"]]],
            "then": ["properties": ["schedule": ["required": ["overlap"], "properties": ["overlap": ["const": "restart"]]]]],
        ])
    ) {
        Key("name", .childName, \.key).formerly("key").or("id").required("the child's name among its siblings")
            .says(
                """
                The child's name among its siblings, at most 255 bytes, without slashes and control characters, those of the direction of \
                text among them; its path is a slash and the name.
                """
            )
        Key("worker", .table(worker), \.worker, default: "").or("coordinator").says("A process of coordinators: see below.")
        Key("program", .table(program), \.program, default: "").or("process", "service")
            .says("Any other program: see below.")
        Key("restart", .restart, \.restart, default: "`always`; of a oneshot `never`", effect: .live)
            .or("autorestart", "restart_policy")
            .says(
                """
                `always`: the child is restarted whenever it has ended; `on_failure`: unless it ended normally (exit code 0, or stopped); \
                `never`: not at all. A oneshot is run again only after a failure, by `on_failure`.
                """
            )
        Key("stop_timeout", .shutdown, \.shutdown, default: "`5s` for a program, `infinity` for a worker or group", effect: .live)
            .formerly("shutdown").or("stopwaitsecs", "stop_grace_period", "kill_timeout", "timeout_stop_sec", "grace_period")
            .says(
                """
                The time that the child is given to stop: a duration, after which the child is killed; `brutal_kill`: none; `infinity`: no \
                limit; a mapping, of a worker or group: see below.
                """
            )
        Key("restart_limits", .table(restartLimits), \.restartLimits, default: "those of `supervision`", effect: .live)
            .or("startretries", "max_restarts")
            .says("The child's own limits of restarts: see below.")
        Key("children", .children, \.children, default: "", effect: .live).or("programs", "services", "processes")
            .inScope { child, scope in
                scope.supervision = child.supervision
                scope.path += "/\(child.key)"
                scope.pathLength += child.key.utf8.count + 1
                scope.instances = child.instances ?? scope.instances
            }
            .says("A group: children with a supervisor of their own, see below.")
        Key("oneshot", .table(oneshot), \.oneshot, default: "").or("task", "job", "init")
            .says("A program that runs once, to its end, for which others can wait: see below.")
        Key("supervision", .table(supervision), \.supervision, default: "all its defaults", effect: .live)
            .says("The supervision of a group's children: see below.")
        Key("instances", .integer(0...1_000), \.instances, default: "one child, under the name itself", effect: .live)
            .or("numprocs", "replicas", "scale")
            .says(
                """
                The number of equal children, whose names are the name with `-1`, `-2` and so on; from 0 to 1000. `coordinatorctl scale` \
                changes the number of a running daemon. From one number to another the last ones end or begin; a child that gets this key, \
                or loses it, is another child.
                """
            )
        Key("autostart", .truth, \.autostart, effect: .live).or("enabled")
            .says("`true`: the child is started with its supervisor; `false`: by an operator, or because a sibling requires it.")
        Key("after", .dependencies, \.afterList, default: "none", effect: .live).or("depends_on")
            .says("The siblings, or any other children, for which the child's start waits, and that are stopped after it: see below.")
        Key("requires", .dependencies, \.requiresList, default: "none", effect: .live).or("needs", "wants")
            .says("The siblings, or any other children, without which the child doesn't run: see below.")
        Key("logging", .table(logging) { $0.scope.logging }, \.logging, default: "the file's `logging`", effect: .live).or("logs", "log")
            .says("What becomes of the child's output: see below; an omitted key is as under the file's `logging`.")
        Key("overlap", .truth, \.overlap, effect: .live)
            .says(
                """
                `true`: a rolling restart of the worker starts the next life before the present one ends, and can go back; the path lives \
                twice meanwhile. Only for a coordinator without state of its own, and not with `stop_timeout: brutal_kill`.
                """
            )
        Key("placement", .placement, \.placement, default: "it runs here")
            .says(
                """
                `cluster`: the child is placed by the cluster, and runs on one node at a time; a mapping: on a node that has what it \
                wants, see below. Only at the top of the file, and without `after` and `requires`.
                """
            )
        Key("receives", .prefixes, \.receives, default: "none", effect: .nextDaemon)
            .says(
                """
                The beginnings of the names of messages that the daemon hands on to the worker, such as `[Catalog., Search.Query]`: see \
                below. Only at the top of the file, and without `instances`.
                """
            )
        Key("on_exit", .choice, \.onExit, effect: .live).or("exit_on_end", "on_end")
            .says(
                """
                `end_daemon`: when the child has ended and isn't restarted, whatever the reason but a request, the daemon shuts down, and \
                ends with the child's exit code, or with 128 and the number of its signal.
                """
            )
        Key("on_failure", .choice, \.onFailure, effect: .live).or("exit_on_failure", "on_give_up")
            .says("`end_daemon`: the same, but only when the child was given up, or has ended abnormally and isn't restarted.")
        Key("schedule", .table(schedule), \.schedule, default: "it runs all the time", effect: .live)
            .or("cron", "cron_restart", "timer", "on_calendar")
            .says("The times at which the program runs: see below.")
        Key("defaults", .defaults, \.defaults, default: "those around the group", effect: .live).or("default", "common")
            .says("Of a group: what each worker and program in it has that doesn't say it itself; see below.")
    } check: { reader, fields, child in
        reader.checkSchedule(fields, &child)
        if fields["stop_timeout"] == nil { child.shutdown = ConfiguredChild.defaultShutdown(of: child.content) }
        if child.isOneshot, fields["restart"] == nil { child.restart = .temporary }
        reader.checkInstancePorts(fields, &child)
        reader.check(fields, child)
    }

    static let placement = Table("placement", ClusterPlacement()) {
        Key("labels", .labels, \.labels, default: "none").says("The labels that the node has to have, all of them.")
        Key("apart", .text("the name of a group of children"), \.apart, default: "none")
            .says("The name of a group of children, of which a node has one at most; the instances of a child are one with it.")
        Key("weight", .integer(0...1_000_000), \.weight).says("The part of a node's `capacity` that the child takes.")
        Key("moves", .integer(0...1_000), \.moves)
            .says(
                """
                The number of nodes from which the child may be moved on because it fails there more often than its limits of restarts \
                allow.
                """
            )
    }

    static let draining = Table("stop_timeout", Shutdown.draining(.zero)) {
        Key("draining", .duration, \.drainingTime).required("the time, such as 30s")
            .says(
                """
                The time for all of it, as a duration. The last sixth of it, 5 s at most, is for what isn't finished, which is cancelled.
                """
            )
    }
}

extension ConfigurationReader {
    /// Reads the children of one supervisor.
    mutating func children(_ node: YAMLNode) -> [ConfiguredChild]? {
        guard let nodes = list(node, "`children`", expected: "a list, each item with `name` and `worker` or `program`") else { return nil }
        let children = nodes.map { read(Keys.child, $0, "a child") }
        checkSiblings(
            children.compactMap(\.self).map { ($0.subject, $0.fields) },
            isComplete: !children.contains { $0?.subject.key.isEmpty ?? true }
        )
        return children.compactMap { $0?.subject }
    }

    /// Reports what the keys of a child demand of one another.
    fileprivate mutating func check(_ fields: Fields, _ child: ConfiguredChild) {
        let isAtTop = scope.pathLength == 0
        if let node = fields["placement"], !isAtTop {
            report(at: node.mark, "`placement` is for a child at the top of the file, which is placed with all that is below it")
        }
        if let node = fields["receives"] {
            if !isAtTop {
                report(
                    at: node.mark,
                    "`receives` is for a child at the top of the file: the daemon's root hands messages on to its own children"
                )
            } else if fields["program"] != nil || fields["oneshot"] != nil {
                report(at: node.mark, "`receives` is for workers: a program takes no messages; expected none")
            } else if fields["children"] != nil {
                report(at: node.mark, "`receives` is for workers at the top of the file: a group takes no messages; expected none")
            } else if fields["instances"] != nil {
                report(
                    at: node.mark,
                    "a child has both `receives` and `instances`, and nothing says which instance gets a message; expected one of them"
                )
            }
        }
        if let node = fields["restart"], child.isOneshot, child.restart == .permanent {
            let expected = "`on_failure` or `never`, or a `program`"
            report(at: node.mark, "a oneshot runs to its end, and `restart` is `always`; expected \(expected)")
        }
        if fields["children"] != nil {
            for key in ["on_exit", "on_failure"] {
                guard let node = fields[key] else { continue }
                report(at: node.mark, "`\(key)` is for what has an exit code; expected it at the children of the group")
            }
        }
        if let node = fields["stop_timeout"]?["draining"], fields["program"] != nil || fields["oneshot"] != nil {
            report(at: node.mark, "`draining` is for workers: a program decides by itself what it does after SIGTERM; expected a duration")
        }
        if let node = fields["overlap"], child.overlap {
            if fields["program"] != nil || fields["oneshot"] != nil {
                report(at: node.mark, "`overlap` is for workers: a program has no messages that its next life could take; expected none")
            } else if fields["children"] != nil {
                report(at: node.mark, "`overlap` is for workers; expected it at the children of the group")
            } else if fields["worker"] != nil, child.shutdown == .brutalKill {
                report(
                    at: node.mark,
                    "`overlap` needs time for what a life has taken, and `stop_timeout` is brutal_kill; expected a duration"
                )
            }
        }
        if let node = fields["logging"]?["standard_error"], fields["worker"] != nil, child.logging?.standardError == .separate {
            let reason = "a worker has one stream, which survives the daemon"
            report(at: node.mark, "`standard_error` is `separate`, but \(reason); expected together")
        }
    }
}

// MARK: - Values

extension Value<String> {
    /// The length of the longest path, in bytes; a path on a link has at most 1,024.
    private static var maximumPathLength: Int { 1_000 }
    /// The length of the longest key, in bytes; descendants add to it.
    private static var maximumKeyLength: Int { 255 }

    static var childName: Value {
        let schema: JSONValue = [
            "type": "string", "minLength": 1, "maxLength": 255,
            "pattern": "^[^/\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]+$",
            "not": ["enum": [".", ".."]],
        ]
        return Value(schema) { reader, node, name in
            guard let key = reader.text(node, name, expected: "a name") else { return nil }
            let count = key.utf8.count
            if key.contains("/") || key == "." || key == ".." || key.unicodeScalars.contains(where: \.disturbsLines) {
                let expected = "a name without slashes and control characters, for it becomes a part of a path"
                reader.report(at: node.mark, "\(name) is `\(key)`; expected \(expected)")
            } else if count > maximumKeyLength {
                let expected = "at most \(maximumKeyLength), for it becomes a part of a path"
                reader.report(at: node.mark, "\(name) has \(count) bytes; expected \(expected)")
            } else if reader.scope.pathLength + 1 + count > maximumPathLength {
                let expected = "shorter names, or fewer groups in groups"
                reader.report(at: node.mark, "the child's path has more than \(maximumPathLength) bytes; expected \(expected)")
            } else {
                return key
            }
            return nil
        }
    }

    /// The beginning of messages' names.
    fileprivate static var prefix: Value {
        let schema: JSONValue = [
            "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^(?!coordinators\\.)[^\\s|]+$",
        ]
        return Value(schema) { reader, node, name in
            guard let prefix = reader.text(node, name, expected: "the beginning of messages' names") else { return nil }
            if prefix.utf8.count > 255 {
                reader.report(at: node.mark, "\(name) has \(prefix.utf8.count) bytes; expected at most 255")
            } else if !prefix.unicodeScalars.allSatisfy({ $0.isPrintable && $0 != "|" }) {
                // The bar stands between the names of one message.
                let expected = "no spaces, control characters and `|`, which no name of a message has"
                reader.report(at: node.mark, "\(name) is `\(prefix)`; expected \(expected)")
            } else if prefix.hasPrefix(ReservedName.prefix) {
                let reserved = "`\(ReservedName.prefix)`, which is the runtime's own"
                reader.report(at: node.mark, "\(name) is `\(prefix)`; expected another beginning than \(reserved)")
            } else {
                return prefix
            }
            return nil
        }
    }
}

extension Value<[String]> {
    static var prefixes: Value {
        var value = Value<String>.prefix.list(
            "an entry of `receives`",
            expected: "a list of beginnings of messages' names, such as [Catalog.]"
        )
        value.schema["uniqueItems"] = true
        return value
    }
}

extension Value<DependencyList> {
    /// A list of names, or a mapping of names to conditions.
    static var dependencies: Value {
        let expected = "a list of siblings' names, such as [database], or a mapping of them to conditions, such as { migrate: completed }"
        let name = Value<String>.text("a sibling's name, or a path")
        let condition = Value<DependencyCondition>.choice
        let list = name.list("", expected: expected)
        let mapping: JSONValue = ["type": "object", "propertyNames": name.schema, "additionalProperties": condition.schema]
        let show: @Sendable (DependencyList) -> String = { list in
            let members = list.names.map { name in list.conditions[name].map { "\(name): \($0.rawValue)" } ?? name }
            return list.conditions.isEmpty ? "[\(members.joined(separator: ", "))]" : "{ \(members.joined(separator: ", ")) }"
        }
        return Value(["anyOf": [list.schema, mapping]], show: show) { reader, node, key in
            guard case .mapping(let pairs) = node.content else {
                let names = reader.list(node, key, expected: expected)?.compactMap { name.read(&reader, $0, "a name in \(key)") }
                return names.map { DependencyList(names: $0) }
            }
            var list = DependencyList()
            for (keyNode, valueNode) in pairs {
                guard let other = name.read(&reader, keyNode, "a name in \(key)") else { continue }
                list.names.append(other)
                list.conditions[other] = condition.read(&reader, valueNode, "`\(other)` in \(key)")
            }
            return list
        }
    }
}

extension Unicode.Scalar {
    /// Whether the scalar would break a line in which it's shown, or have what follows shown in another order.
    fileprivate var disturbsLines: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: properties.isBidiControl
        }
    }

    /// Whether the scalar is seen, and isn't a space.
    fileprivate var isPrintable: Bool {
        switch properties.generalCategory {
        case .control, .format, .unassigned, .surrogate, .privateUse, .spaceSeparator, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}

extension Value<ClusterPlacement> {
    static var placement: Value {
        Value.table(Keys.placement).or("cluster", ClusterPlacement()) { reader, node, name in
            let expected = "`cluster`, or a mapping with what the child wants of its node"
            reader.report(at: node.mark, "\(name) is `\(node.text ?? "")`; expected \(expected)")
            return nil
        }
    }
}

extension Value<RestartType> {
    static var restart: Value {
        .choice(
            RestartType.allCases.map { (word: $0.configurationText, value: $0) },
            formerly: ["permanent": "always", "transient": "on_failure", "temporary": "never"],
            or: [
                "unless-stopped": "always", "yes": "always", "true": "always", "unexpected": "on_failure", "on-abnormal": "on_failure",
                "on-error": "on_failure", "no": "never", "false": "never", "none": "never",
            ]
        )
    }
}

extension Value<Shutdown> {
    static var shutdown: Value {
        let (time, draining) = (Value<Duration>.duration, Value.table(Keys.draining))
        let words: JSONValue = ["enum": ["brutal_kill", "infinity"]]
        var value = Value(["anyOf": [time.schema, words, draining.schema]], show: \.configurationText) { reader, node, name in
            if case .mapping = node.content { return draining.read(&reader, node, name) }
            switch node.text {
            case "brutal_kill"?: return .brutalKill
            case "infinity"?: return .infinity
            case let word? where word.first?.isLetter == true:
                if reader.isFormer(node, name, ["brutalKill": "brutal_kill"]) { return nil }
                // A text that begins with a letter isn't a number without a unit.
                let hint = Spelling.hint(for: word, among: ["brutal_kill", "infinity"])
                reader.report(at: node.mark, "\(name) is `\(word)`; \(hint) (or a duration, such as 5s)")
                return nil
            default: return reader.duration(node, name, or: ", or brutal_kill, or infinity").map(Shutdown.timeout)
            }
        }
        value.table = draining.table
        return value
    }
}

// MARK: - Properties

extension ConfiguredChild {
    fileprivate var worker: ConfiguredWorker? {
        get { if case .worker(let worker) = content { worker } else { nil } }
        set { content = newValue.map { .worker($0) } ?? content }
    }

    fileprivate var program: ConfiguredProgram? {
        get { if case .program(let program) = content, !program.isOneshot { program } else { nil } }
        set { content = newValue.map { .program($0) } ?? content }
    }

    fileprivate var oneshot: ConfiguredProgram? {
        get { if case .program(let program) = content, program.isOneshot { program } else { nil } }
        set { content = newValue.map { .program($0) } ?? content }
    }

    private var group: ConfiguredGroup? { if case .group(let group) = content { group } else { nil } }

    fileprivate var children: [ConfiguredChild]? {
        get { group?.children }
        set {
            guard let newValue else { return }
            var group = group ?? ConfiguredGroup(children: [])
            group.children = newValue
            content = .group(group)
        }
    }

    /// What a group says for its children.
    fileprivate var defaults: JSONValue? {
        get { group?.defaults }
        set {
            guard var group else { return }
            group.defaults = newValue
            content = .group(group)
        }
    }

    /// The supervision of a group's children; of another child the default.
    fileprivate var supervision: SupervisionPolicy {
        get { group?.supervision ?? SupervisionPolicy() }
        set {
            guard var group else { return }
            group.supervision = newValue
            content = .group(group)
        }
    }
}

extension Shutdown {
    fileprivate var drainingTime: Duration {
        get { if case .draining(let time) = self { time } else { .zero } }
        set { self = .draining(newValue) }
    }
}
