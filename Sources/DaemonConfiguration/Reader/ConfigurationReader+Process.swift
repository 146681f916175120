import Processes

/// The keys that a worker and a program have in common, about their processes.
extension ConfigurationReader {
    /// - Parameter isWorker: whether the process is a worker, which handles messages.
    mutating func processSettings(_ fields: Fields, isWorker: Bool) -> ProcessSettings {
        var settings = ProcessSettings()
        if let node = fields["environment_files"] { settings.environmentFiles = environmentFiles(node) }
        if let inherits = fields["inherit_environment"].flatMap({ self.truth($0, "`inherit_environment`") }) {
            settings.inheritsEnvironment = inherits
        }
        settings.attributes = attributes(fields)
        settings.recycling = fields["recycle"].flatMap { self.recycling($0, isWorker: isWorker) }
        return settings
    }

    // MARK: Attributes

    private mutating func attributes(_ fields: Fields) -> ProcessAttributes {
        var attributes = ProcessAttributes()
        attributes.user = fields["user"].flatMap { self.account($0, "`user`") }
        attributes.group = fields["group"].flatMap { self.account($0, "`group`") }
        if checksFiles, let problem = Account.problem(with: attributes) {
            report(at: (fields["user"] ?? fields["group"])?.mark ?? fields.mark, problem)
        }
        attributes.umask = fields["umask"].flatMap { self.umask($0) }
        attributes.nice = fields["nice"].flatMap { self.wholeNumber($0, "`nice`", in: -20...19) }
        if let node = fields["limits"] { attributes.limits = limits(node) }
        return attributes
    }

    /// Reads a name or a number.
    private mutating func account(_ node: YAMLNode, _ name: String) -> String? {
        if case .integer(let number)? = node.plain, UInt32(exactly: number) != nil { return String(number) }
        return text(node, name, expected: "the name or the number of an account")
    }

    /// Reads which users may operate the daemon: a group, or a list of groups.
    mutating func operators(_ node: YAMLNode) -> OperatorConfiguration {
        if case .mapping(let pairs) = node.content, pairs.isEmpty { return OperatorConfiguration() }
        guard case .sequence(let nodes) = node.content else {
            return OperatorConfiguration(groups: operatorGroup(node, "`operators`").map { [$0] } ?? [])
        }
        return OperatorConfiguration(groups: nodes.compactMap { self.operatorGroup($0, "an item of `operators`") })
    }

    private mutating func operatorGroup(_ node: YAMLNode, _ name: String) -> OperatorConfiguration.Group? {
        guard let fields = self.fields(node, name, keys: ["group", "role"]) else { return nil }
        let role: OperatorRole? = fields["role"].flatMap { self.choice($0, "`role`") }
        let expected = "the name or the number of a group"
        let group = required("group", of: fields, expected: expected).flatMap { self.account($0, "`group`") }
        if checksFiles, let group, let node = fields["group"] {
            do throws(ProcessError) {
                _ = try Account.groupID(group)
            } catch {
                report(at: node.mark, error.message)
            }
        }
        return group.map { OperatorConfiguration.Group($0, role: role ?? .operate) }
    }

    private mutating func umask(_ node: YAMLNode) -> UInt32? {
        // By YAML's rules 027 would be the number 27, but permissions are written in octal everywhere.
        if let text = node.text {
            let digits = text.hasPrefix("0o") ? text.dropFirst(2) : text[...]
            let isShort = (1...4).contains(digits.count) && digits.first?.isNumber == true
            if isShort, let mask = UInt32(digits, radix: 8), mask <= 0o777 { return mask }
        }
        report(at: node.mark, "`umask` is \(node.summary); expected octal digits, such as 027")
        return nil
    }

    private mutating func limits(_ node: YAMLNode) -> [ProcessAttributes.Resource: ProcessAttributes.Limit] {
        let keys = ["open_files", "processes", "core", "address_space", "data", "stack", "file_size", "locked_memory", "cpu_time"]
        guard let fields = self.fields(node, "`limits`", keys: keys) else { return [:] }
        var limits: [ProcessAttributes.Resource: ProcessAttributes.Limit] = [:]
        for resource in ProcessAttributes.Resource.allCases {
            guard let node = fields[resource.rawValue] else { continue }
            limits[resource] = limit(node, resource)
        }
        return limits
    }

    private mutating func limit(_ node: YAMLNode, _ resource: ProcessAttributes.Resource) -> ProcessAttributes.Limit? {
        let name = "`\(resource.rawValue)`"
        guard case .mapping = node.content else {
            return limitValue(node, name, resource).map { ProcessAttributes.Limit(soft: $0, hard: $0) }
        }
        guard let fields = self.fields(node, name, keys: ["soft", "hard"]) else { return nil }
        let soft = required("soft", of: fields, expected: "the limit that holds").map { self.limitValue($0, "`soft`", resource) }
        let hard = required("hard", of: fields, expected: "the limit up to which `soft` may be raised")
            .map { self.limitValue($0, "`hard`", resource) }
        guard let soft = soft.flatMap(\.self), let hard = hard.flatMap(\.self) else { return nil }
        guard soft ?? .max <= hard ?? .max else {
            report(at: fields.mark, "the limit `soft` of \(name) is above `hard`; expected it to be at most that")
            return nil
        }
        return ProcessAttributes.Limit(soft: soft, hard: hard)
    }

    /// Reads a limit; the inner nil means `unlimited`.
    private mutating func limitValue(_ node: YAMLNode, _ name: String, _ resource: ProcessAttributes.Resource) -> UInt64?? {
        if node.text == "unlimited" { return .some(nil) }
        if resource == .cpuTime, case .text? = node.plain {
            return duration(node, name, or: ", or unlimited").map { UInt64(max(0, $0.components.seconds)) }
        }
        if resource.isInBytes { return size(node, name, or: ", or unlimited").map { UInt64($0) } }
        return wholeNumber(node, name, in: 0...Int(Int32.max), or: ", or unlimited").map { UInt64($0) }
    }

    // MARK: Environment

    private mutating func environmentFiles(_ node: YAMLNode) -> [String] {
        let nodes = list(node, "`environment_files`", expected: "a list of paths; one that begins with `-` may be missing") ?? []
        var paths: [String] = []
        for node in nodes {
            guard let text = text(node, "an environment file", expected: "the path of a file") else { continue }
            let isOptional = text.hasPrefix("-")
            guard let path = path(isOptional ? String(text.dropFirst()) : text, "an environment file", at: node) else { continue }
            if checksFiles { checkEnvironmentFile(text, at: node) }
            paths.append(isOptional ? "-\(path)" : path)
        }
        return paths
    }

    private mutating func checkEnvironmentFile(_ path: String, at node: YAMLNode) {
        do throws(ProcessError) {
            _ = try EnvironmentFile.load([path], within: .seconds(5))
        } catch {
            report(at: node.mark, error.message)
        }
    }

    // MARK: Recycling

    private mutating func recycling(_ node: YAMLNode, isWorker: Bool) -> RecyclingSettings? {
        guard let fields = self.fields(node, "`recycle`", keys: ["after", "memory", "messages"]) else { return nil }
        var settings = RecyclingSettings()
        settings.age = fields["after"].flatMap { self.positiveDuration($0, "`after`") }
        settings.memory = fields["memory"].flatMap { self.size($0, "`memory`") }
        if let messages = fields["messages"] {
            if isWorker {
                settings.messages = wholeNumber(messages, "`messages`", in: 1...Int.max)
            } else {
                report(at: messages.mark, "`messages` is for workers: a program handles none; expected `after` or `memory`")
            }
        }
        return settings
    }

    // MARK: Values

    /// Reads a duration that isn't zero.
    mutating func positiveDuration(_ node: YAMLNode, _ name: String) -> Duration? {
        guard let duration = duration(node, name) else { return nil }
        if duration > .zero { return duration }
        report(at: node.mark, "\(name) is zero; expected a time, such as 10s")
        return nil
    }

    mutating func truth(_ node: YAMLNode, _ name: String) -> Bool? {
        if case .bool(let value)? = node.plain { return value }
        report(at: node.mark, "\(name) is \(node.summary); expected true or false")
        return nil
    }

    /// Reads a number of bytes: `65536`, or a number with a unit, `64KiB`, `512MiB`, `2GiB`.
    mutating func size(_ node: YAMLNode, _ name: String, or alternatives: String = "") -> Int? {
        let expected = "a number of bytes, or a whole number and a unit, such as 64KiB, 512MiB or 2GiB\(alternatives)"
        if case .integer(let count)? = node.plain, count >= 0 { return Int(count) }
        let text = node.text ?? ""
        let digits = text.prefix { ("0"..."9").contains($0) }
        let shift = ["KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40][String(text.dropFirst(digits.count))]
        if let shift, let count = Int(digits), count <= Int.max >> shift { return count << shift }
        report(at: node.mark, "\(name) is \(node.summary); expected \(expected)")
        return nil
    }
}
