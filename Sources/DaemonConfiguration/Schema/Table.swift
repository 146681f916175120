import WireProtocol

/// A mapping of the file, whatever it's read into.
protocol KeyTable: Sendable {
    /// The name in the JSON schema.
    var name: String { get }
    var rules: [KeyRule] { get }
    /// The keys in the order of the reference, and their defaults in its words.
    var rows: [(key: KeyDescription, fallback: String)] { get }
}

/// What keys of one mapping demand of one another.
enum KeyRule: Sendable {
    /// One of the keys is there, and no second one.
    case one([String])
    /// Two of the keys aren't there.
    case oneAtMost([String])
    /// Both keys are there, or none.
    case both(String, String)
    /// The first key isn't there without the second one; the message is made with the mapping's name.
    case needs(String, String, @Sendable (_ name: String) -> String)
    /// What the mapping's check demands, as far as a JSON schema can say it.
    case schema(JSONValue)

    /// What the mapping's check demands of the values of some keys when a key is there; false: they aren't there.
    static func when(_ key: String, _ demands: [String: JSONValue]) -> KeyRule {
        .schema(["if": ["required": [.string(key)]], "then": ["properties": .object(demands)]])
    }
}

/// A mapping of the file: its keys, and what they demand of one another.
struct Table<Subject: Hashable & Sendable>: KeyTable {
    let name: String
    /// The value of a mapping without any key.
    let blank: Subject
    let rules: [KeyRule]
    let keys: [Key<Subject>]
    /// Reports what keys and rules don't say, and completes the value.
    let check: @Sendable (inout ConfigurationReader, Fields, inout Subject) -> Void

    @_semantics("optimize.sil.specialize.generic.never")
    init(
        _ name: String,
        _ blank: Subject,
        _ rules: KeyRule...,
        @KeyList<Subject> keys: () -> [Key<Subject>],
        check: @escaping @Sendable (inout ConfigurationReader, Fields, inout Subject) -> Void = { _, _, _ in }
    ) {
        self.name = name
        self.blank = blank
        self.rules = rules
        self.keys = keys()
        self.check = check
    }

    @_semantics("optimize.sil.specialize.generic.never")
    var rows: [(key: KeyDescription, fallback: String)] { keys.map { ($0.description, $0.fallback(blank)) } }

    /// Returns the keys that differ, in the order of the declarations; for a property that no key has, the mapping itself.
    @_semantics("optimize.sil.specialize.generic.never")
    func differences(_ former: Subject, _ next: Subject, _ place: KeyPlace) -> [KeyDifference] {
        if former == next { return [] }
        let differences = keys.flatMap { $0.differences(former, next, place) }
        var rest = next
        for key in keys { key.copy(former, &rest) }
        return differences.isEmpty && rest != former ? place.difference("…", "…") : differences
    }

    /// Returns the value with all its texts changed.
    @_semantics("optimize.sil.specialize.generic.never")
    func changingTexts(_ subject: Subject, _ change: (String) -> String) -> Subject {
        var changed = subject
        for key in keys { key.changeTexts(&changed, change) }
        return changed
    }

    /// Returns a value as the file has it, without what is as by default.
    @_semantics("optimize.sil.specialize.generic.never")
    func show(_ subject: Subject) -> String {
        let members = keys.compactMap { key -> String? in
            guard let text = key.shown(subject), text != key.shown(blank) else { return nil }
            return "\(key.description.name): \(text)"
        }
        return members.isEmpty ? "{}" : "{ \(members.joined(separator: ", ")) }"
    }
}

extension ConfigurationReader {
    /// Reads a mapping; `name` is its name in messages.
    ///
    /// - Parameter start: The values of omitted keys; nil: the defaults.
    /// - Returns: The value, which must not be used when problems were reported, and the keys that are there; nil: it isn't a mapping.
    @_semantics("optimize.sil.specialize.generic.never")
    mutating func read<Subject>(
        _ table: Table<Subject>,
        _ node: YAMLNode,
        _ name: String,
        from start: Subject? = nil
    ) -> (subject: Subject, fields: Fields)? {
        guard let fields = fields(node, name, table.keys.map(\.description)) else { return nil }
        around.append((name, table.keys.map(\.description)))
        defer { around.removeLast() }
        var subject = start ?? table.blank
        for isLate in [false, true] {
            for key in table.keys where key.isLate == isLate {
                if let node = fields[key.description.name] { key.read(&self, node, &subject) }
            }
        }
        if scope.isPartial { return (subject, fields) }
        for key in table.keys.map(\.description) {
            guard let required = key.required, fields[key.name] == nil, !fields.excused.contains(key.name) else { continue }
            report(at: fields.mark, "\(name) has no `\(key.name)`; expected \(required)")
        }
        for rule in table.rules { check(rule, fields) }
        table.check(&self, fields, &subject)
        return (subject, fields)
    }

    private mutating func check(_ rule: KeyRule, _ fields: Fields) {
        switch rule {
        case .one(let keys):
            let given = keys.filter { fields[$0] != nil }
            if given.count > 1 { report(at: fields.mark, "\(fields.name) has both \(Self.both(given)); expected one of them") }
            guard given.isEmpty, fields.excused.isDisjoint(with: keys) else { return }
            let rest = keys.dropFirst(2).map { ", and no `\($0)`" }.joined()
            report(at: fields.mark, "\(fields.name) has neither `\(keys[0])` nor `\(keys[1])`\(rest); expected one of them")
        case .oneAtMost(let keys):
            let given = keys.filter { fields[$0] != nil }
            let marks = given.compactMap { fields[$0]?.mark }
            guard given.count > 1, let first = marks.min(by: { ($0.line, $0.column) < ($1.line, $1.column) }) else { return }
            report(at: first, "\(fields.name) has both \(Self.both(given)); expected one of them")
        case .both(let first, let second):
            guard (fields[first] == nil) != (fields[second] == nil) else { return }
            report(at: fields.mark, "\(fields.name) has one of `\(first)` and `\(second)`; expected both or none")
        case .needs(let key, let other, let message):
            guard let node = fields[key], fields[other] == nil, !fields.excused.contains(other) else { return }
            report(at: node.mark, message(fields.name))
        case .schema: break
        }
    }

    private static func both(_ keys: [String]) -> String { keys.map { "`\($0)`" }.joined(separator: " and ") }
}
