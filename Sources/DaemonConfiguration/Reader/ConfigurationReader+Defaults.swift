import WireProtocol

/// What is said once for many children: `defaults`, which are part of each child before that is read.
extension ConfigurationReader {
    /// What each child says itself.
    private static let ownKeys: Set<String> = [
        "name", "children", "supervision", "instances", "after", "requires", "receives", "placement", "overlap", "defaults",
    ]

    static var defaultKeys: [Key<ConfiguredChild>] {
        Keys.child.keys.filter { !ownKeys.contains($0.description.name) }
    }

    /// Reads `defaults` by themselves, as far as they go: what is missing there, a child has.
    mutating func defaults(_ node: YAMLNode, _ name: String) -> JSONValue? {
        let keys = Self.defaultKeys
        guard let fields = fields(node, name, keys.map(\.description)) else { return nil }
        var child = Keys.child.blank
        let outer = scope
        scope.isPartial = true
        around.append((name, keys.map(\.description)))
        for key in keys {
            if let node = fields[key.description.name] { key.read(&self, node, &child) }
        }
        around.removeLast()
        scope = outer
        return json(node)
    }

    /// Returns children with the defaults around them; those of a group are over those around it.
    mutating func children(_ nodes: [YAMLNode], with defaults: YAMLNode?) -> [YAMLNode] {
        // Keys that there are not were reported.
        let known = Set(Keys.child.keys.map(\.description.name)).subtracting(Self.ownKeys)
        let defaults = defaults.map { defaults in defaults.names.subtracting(known).reduce(defaults) { $0.without($1) } }
        let weight = defaults.map(\.count) ?? 0
        return nodes.map { child in
            guard case .mapping = child.content else { return child }
            guard let inner = child["children"] else {
                guard let defaults else { return child }
                room -= weight
                return room < 0 ? child : Self.merged(defaults, under: child, Keys.child)
            }
            guard case .sequence(let grandchildren) = inner.content else { return child }
            let own = child["defaults"].map { own in defaults.map { Self.merged($0, under: own) } ?? own }
            let merged = children(grandchildren, with: own ?? defaults)
            return child.setting("children", YAMLNode(.sequence(merged), tag: inner.tag, mark: inner.mark))
        }
    }

    /// Returns defaults with those around them.
    static func merged(_ outer: YAMLNode, under own: YAMLNode) -> YAMLNode { merged(outer, under: own, Keys.child, isWhole: false) }

    /// Returns a value with what it doesn't have of a default: mappings are merged key by key, and everything else is as the value has it.
    ///
    /// - Parameter isWhole: Whether the mapping is read as one, in which a key excludes others of the default.
    private static func merged(_ defaults: YAMLNode, under value: YAMLNode, _ table: (any KeyTable)?, isWhole: Bool = true) -> YAMLNode {
        guard case .mapping(let common) = defaults.content, case .mapping(let own) = value.content else { return value }
        var excluded = Set(own.compactMap(\.key.text))
        let names = excluded
        for rule in isWhole ? table?.rules ?? [] : [] {
            switch rule {
            case .one(let keys), .oneAtMost(let keys): if !names.isDisjoint(with: keys) { excluded.formUnion(keys) }
            case .both, .needs, .schema: break
            }
        }
        let rows = table?.rows
        var pairs = own.map { key, value in
            guard let name = key.text, let common = defaults[name] else { return (key: key, value: value) }
            return (key: key, value: merged(common, under: value, rows?.first { $0.key.name == name }?.key.table?()))
        }
        pairs += common.filter { pair in pair.key.text.map { !excluded.contains($0) } ?? true }
        return YAMLNode(.mapping(pairs), tag: value.tag, mark: value.mark)
    }
}

extension YAMLNode {
    /// The number of values in this one, and this one.
    fileprivate var count: Int {
        switch content {
        case .scalar: 1
        case .sequence(let elements): elements.reduce(1) { $0 + $1.count }
        case .mapping(let pairs): pairs.reduce(1) { $0 + $1.key.count + $1.value.count }
        }
    }

    /// The keys of a mapping that are texts.
    var names: Set<String> {
        if case .mapping(let pairs) = content { Set(pairs.compactMap(\.key.text)) } else { [] }
    }

    /// Returns a mapping without a key.
    func without(_ name: String) -> YAMLNode {
        guard case .mapping(let pairs) = content, names.contains(name) else { return self }
        return YAMLNode(.mapping(pairs.filter { $0.key.text != name }), tag: tag, mark: mark)
    }

    /// Returns a mapping with another value of a key, which is added where there's none.
    func setting(_ name: String, _ value: YAMLNode) -> YAMLNode {
        guard case .mapping(var pairs) = content else { return self }
        if let index = pairs.firstIndex(where: { $0.key.text == name }) {
            pairs[index].value = value
        } else {
            pairs.append((YAMLNode(.scalar(name, isPlain: true), tag: nil, mark: value.mark), value))
        }
        return YAMLNode(.mapping(pairs), tag: tag, mark: mark)
    }
}

extension Value<JSONValue> {
    /// What children have that don't say it; there may be secrets in it.
    static var defaults: Value {
        // The keys of a child, which has this key: they are declared elsewhere.
        let schema: JSONValue = ["type": "object", "propertyNames": ["$ref": "#/$defs/default_key"]]
        var value = Value(schema, show: { _ in "…" }) { $0.defaults($1, $2) }
        value.changingTexts = { content, _ in content }
        return value
    }
}
