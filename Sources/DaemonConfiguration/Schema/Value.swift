import ConcurrencySupport
import Processes
import WireProtocol

/// A form that values have in the file: how one is read, compared and shown, and what a JSON schema says of it.
struct Value<Content: Hashable & Sendable>: Sendable {
    var schema: JSONValue
    /// Reads a value; nil after a problem was reported.
    var read: @Sendable (inout ConfigurationReader, YAMLNode, _ name: String) -> Content?
    /// Returns the value as the file has it, with secrets hidden.
    let show: @Sendable (Content) -> String
    var differences: @Sendable (Content, Content, KeyPlace) -> [KeyDifference]
    /// Returns the value with its texts changed.
    var changingTexts: @Sendable (Content, (String) -> String) -> Content = { $0.changingTexts($1) }
    /// The mapping that the value is, or has in it.
    var table: (@Sendable () -> any KeyTable)?

    @_semantics("optimize.sil.specialize.generic.never")
    init(
        _ schema: JSONValue,
        show: @escaping @Sendable (Content) -> String = { "\($0)" },
        _ read: @escaping @Sendable (inout ConfigurationReader, YAMLNode, _ name: String) -> Content?
    ) {
        self.schema = schema
        self.read = read
        self.show = show
        differences = { former, next, place in former == next ? [] : place.difference(show(former), show(next)) }
    }

    /// A mapping.
    ///
    /// - Parameter start: The values of omitted keys; by default those of the table.
    @_semantics("optimize.sil.specialize.generic.never")
    static func table(_ table: Table<Content>, from start: @escaping @Sendable (ConfigurationReader) -> Content? = { _ in nil }) -> Value {
        Value(table, start)
    }

    @_semantics("optimize.sil.specialize.generic.never")
    private init(_ table: Table<Content>, _ start: @escaping @Sendable (ConfigurationReader) -> Content?) {
        schema = ["$ref": .string("#/$defs/\(table.name)")]
        read = { reader, node, name in reader.read(table, node, name, from: start(reader))?.subject }
        show = table.show
        differences = table.differences
        changingTexts = table.changingTexts
        self.table = { table }
    }

    /// A word that stands for a value, or else what the form says.
    @_semantics("optimize.sil.specialize.generic.never")
    func or(_ word: String, _ meaning: Content, _ read: @escaping @Sendable (inout ConfigurationReader, YAMLNode, String) -> Content?)
        -> Value
    {
        let form = self
        var value = Value(["anyOf": [["const": .string(word)], schema]], show: { $0 == meaning ? word : form.show($0) }) {
            reader,
            node,
            name in
            if node.text == word { return meaning }
            return node.text == nil ? form.read(&reader, node, name) : read(&reader, node, name)
        }
        value.table = table
        value.changingTexts = changingTexts
        return value
    }

    /// The same form of another type.
    @_semantics("optimize.sil.specialize.generic.never")
    func map<Other>(_ make: @escaping @Sendable (Content) -> Other?, _ back: @escaping @Sendable (Other) -> Content?) -> Value<Other> {
        let form = self
        var value = Value<Other>(schema, show: { back($0).map(form.show) ?? "" }) { reader, node, name in
            form.read(&reader, node, name).flatMap(make)
        }
        value.table = table
        value.changingTexts = { content, change in back(content).flatMap { make(form.changingTexts($0, change)) } ?? content }
        return value
    }

    /// A list, of which each item has this form and this name in messages.
    @_semantics("optimize.sil.specialize.generic.never")
    func list(_ item: String, expected: String, atLeast minimum: Int? = nil, atMost maximum: Int? = nil) -> Value<[Content]> {
        let form = self
        var schema: [String: JSONValue] = ["type": "array", "items": form.schema]
        if let minimum { schema["minItems"] = .integer(Int64(minimum)) }
        if let maximum { schema["maxItems"] = .integer(Int64(maximum)) }
        let show: @Sendable ([Content]) -> String = { "[\($0.map(form.show).joined(separator: ", "))]" }
        var value = Value<[Content]>(.object(schema), show: show) { reader, node, name in
            guard let nodes = reader.list(node, name, expected: expected) else { return nil }
            if let maximum, nodes.count > maximum {
                reader.report(at: node.mark, "\(name) has \(nodes.count) items; expected at most \(maximum)")
                return nil
            }
            return nodes.compactMap { form.read(&reader, $0, item) }
        }
        value.table = table
        value.changingTexts = { content, change in content.map { form.changingTexts($0, change) } }
        return value
    }
}

extension Value<Bool> {
    static var truth: Value { Value(["type": "boolean"]) { $0.truth($1, $2) } }
}

extension Value<Duration> {
    private static func duration(
        _ pattern: JSONValue,
        _ read: @escaping @Sendable (inout ConfigurationReader, YAMLNode, String) -> Duration?
    ) -> Value {
        Value(["type": "string", "pattern": pattern], show: \.configurationText, read)
    }

    static var duration: Value { duration("^[0-9]{1,12}(ms|s|m|h)$") { $0.duration($1, $2) } }

    /// A duration that isn't zero.
    static func positive(_ expected: String = "a time, such as 10s") -> Value {
        duration("^(?=0*[1-9])[0-9]{1,12}(ms|s|m|h)$") { reader, node, name in
            let time = reader.duration(node, name)
            if time == .zero { reader.report(at: node.mark, "\(name) is zero; expected \(expected)") }
            return time
        }
    }

    static func duration(atLeast minimum: Duration) -> Value {
        let units: [(unit: String, time: Duration)] = [
            ("ms", .milliseconds(1)), ("s", .seconds(1)), ("m", .seconds(60)), ("h", .seconds(3600)),
        ]
        let forms = units.map { NumberPattern.atLeast(Int((minimum / $0.time).rounded(.up))) + $0.unit }
        return duration(.string("^(?=[0-9]{1,12}[a-z])(\(forms.joined(separator: "|")))$")) { reader, node, name in
            let time = reader.duration(node, name)
            if let time, time < minimum {
                reader.report(at: node.mark, "\(name) is less than \(minimum.configurationText); expected a longer time")
            }
            return time
        }
    }
}

extension Value where Content: FixedWidthInteger {
    static func integer(_ range: ClosedRange<Int>, or alternatives: String = "") -> Value {
        let (minimum, maximum) = (JSONValue.integer(Int64(range.lowerBound)), JSONValue.integer(Int64(range.upperBound)))
        return Value(["type": "integer", "minimum": minimum, "maximum": maximum]) {
            $0.wholeNumber($1, $2, in: range, or: alternatives).flatMap { Content(exactly: $0) }
        }
    }
}

extension Value<Double> {
    static func number(_ range: ClosedRange<Double>) -> Value {
        let schema: JSONValue = ["type": "number", "minimum": .number(range.lowerBound), "maximum": .number(range.upperBound)]
        // A whole number is shown as people write it.
        return Value(schema, show: { Int(exactly: $0).map { "\($0)" } ?? "\($0)" }) { $0.number($1, $2, in: range) }
    }
}

extension Value where Content: RawRepresentable & CaseIterable, Content.RawValue == String {
    /// One of the cases, whose names are written as the file's words are.
    static var choice: Value {
        let words = Content.allCases.map { (word: $0.rawValue.snakeCase, value: $0) }
        let former = words.filter { $0.word != $0.value.rawValue }.map { ($0.value.rawValue, $0.word) }
        return .choice(words, formerly: Dictionary(uniqueKeysWithValues: former))
    }
}

extension Value {
    /// One of some words.
    ///
    /// - Parameters:
    ///   - former: What words were called before, with the present ones.
    ///   - others: What other programs have for the same, with the words that are meant.
    @_semantics("optimize.sil.specialize.generic.never")
    static func choice(
        _ words: [(word: String, value: Content)],
        formerly former: [String: String] = [:],
        or others: [String: String] = [:]
    ) -> Value {
        let names = words.map(\.word)
        let show: @Sendable (Content) -> String = { value in words.first { $0.value == value }?.word ?? "" }
        return Value(["enum": .array(names.map { .string($0) })], show: show) { reader, node, name in
            let text = node.text ?? ""
            if let choice = words.first(where: { $0.word == text }) { return choice.value }
            if reader.isFormer(node, name, former) { return nil }
            let suggestion = others[text.lowercased()] ?? Spelling.suggestion(for: text, among: names)
            reader.report(at: node.mark, "\(name) is \(node.summary); \(Spelling.hint(suggestion, among: names))")
            return nil
        }
    }
}

extension Value<String> {
    /// A text that isn't empty.
    static func text(_ expected: String) -> Value {
        Value(["type": "string", "minLength": 1]) { $0.text($1, $2, expected: expected) }
    }

    /// A text as it's written: a number or a truth value is one too.
    static var verbatim: Value { Value(["type": ["string", "number", "boolean"]]) { $0.verbatim($1, $2) } }

    private static let pathSchema: JSONValue = ["type": "string", "minLength": 1, "pattern": "^(?!\\$|~$|~/)"]

    /// A path, which no shell expands.
    static func path(
        _ expected: String,
        check: @escaping @Sendable (inout ConfigurationReader, String, YAMLNode) -> Void = { _, _, _ in }
    ) -> Value {
        Value(pathSchema) { reader, node, name in
            guard let path = reader.path(node, name, expected: expected) else { return nil }
            check(&reader, path, node)
            return path
        }
    }

    /// The path of a file of the cluster, which is looked at.
    static func path(of file: ClusterFile, _ expected: String) -> Value {
        path(expected) { $0.check($2, path: $1, of: file, expected: expected) }
    }

    /// A name or a number.
    static func account(_ expected: String) -> Value {
        let number: JSONValue = ["type": "integer", "minimum": 0, "maximum": .integer(Int64(UInt32.max))]
        return Value(["anyOf": [["type": "string", "minLength": 1], number]]) { reader, node, name in
            if case .integer(let number)? = node.plain, UInt32(exactly: number) != nil { return String(number) }
            return reader.text(node, name, expected: expected)
        }
    }

    /// A text that a test accepts.
    static func text(
        _ expected: String,
        schema: JSONValue,
        summary: @escaping @Sendable (YAMLNode, String) -> String = { "`\($1)`" },
        where isGood: @escaping @Sendable (String) -> Bool
    ) -> Value {
        Value(schema) { reader, node, name in
            guard let text = reader.text(node, name, expected: expected) else { return nil }
            if isGood(text) { return text }
            reader.report(at: node.mark, "\(name) is \(summary(node, text)); expected \(expected)")
            return nil
        }
    }
}

extension Value<UInt32> {
    /// The numbers that YAML has for octal digits: the digits taken for decimal ones, or the number of what is written as `0o640`.
    static let octalNumber: JSONValue = {
        let runs = (0o100..<0o1000).filter { $0.isMultiple(of: 8) }.compactMap { Int64(String($0, radix: 8)) }.filter { $0 > 511 }
        let both: [ClosedRange<Int64>] = [0...511] + runs.map { $0...$0 + 7 }
        return ["type": "integer", "anyOf": .array(both.map { ["minimum": .integer($0.lowerBound), "maximum": .integer($0.upperBound)] })]
    }()

    /// Permissions, which are written in octal everywhere, though by YAML's rules 027 would be the number 27.
    static func permissions(_ digits: ClosedRange<Int>, _ expected: String) -> Value {
        // Whether it's 027 or 0660 by default, people write as many digits as they see elsewhere.
        let show: @Sendable (UInt32) -> String = { mode in
            let text = String(mode, radix: 8)
            return String(repeating: "0", count: max(0, digits.upperBound - text.count)) + text
        }
        let text: JSONValue = ["type": "string", "pattern": .string("^(0o)?([0-7]{\(digits.lowerBound),3}|0[0-7]{3})$")]
        return Value(["anyOf": [text, ["$ref": "#/$defs/octal_number"]]], show: show) { reader, node, name in
            let text = node.text ?? ""
            let octal = text.hasPrefix("0o") ? text.dropFirst(2) : text[...]
            if digits.contains(octal.count), octal.first?.isNumber == true, let mode = UInt32(octal, radix: 8), mode <= 0o777 {
                return mode
            }
            reader.report(at: node.mark, "\(name) is \(node.summary); expected \(expected)")
            return nil
        }
    }
}

extension Value<Int> {
    private static func sizeSchema(atLeast minimum: Int) -> JSONValue {
        let forms = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)].map { NumberPattern.atMost(.max >> $1) + $0 }
        let pattern = "^\(minimum > 0 ? NumberPattern.isPositive : "")(\(forms.joined(separator: "|")))$"
        return ["anyOf": [Value.integer(minimum...Int.max).schema, ["type": "string", "pattern": .string(pattern)]]]
    }

    /// A number of bytes, or one with a unit.
    static var size: Value {
        Value(sizeSchema(atLeast: 0), show: { $0.sizeText }) { $0.size($1, $2) }
    }

    /// A number of bytes, or one with a unit, that isn't zero.
    static var positiveSize: Value {
        Value(sizeSchema(atLeast: 1), show: { $0.sizeText }) { reader, node, name in
            let size = reader.size(node, name)
            if size == 0 { reader.report(at: node.mark, "\(name) is zero; expected a size, such as 512MiB") }
            return size
        }
    }
}

extension BinaryInteger {
    /// A number of bytes in the largest unit of which it's a multiple.
    var sizeText: String {
        for (shift, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] where self > 0 && self & ((1 << shift) - 1) == 0 {
            return "\(self >> shift)\(unit)"
        }
        return "\(self)"
    }
}

extension Value<[String]> {
    /// A program and its arguments.
    static func command(_ expected: String) -> Value {
        let schema: JSONValue = [
            "type": "array", "minItems": 1, "prefixItems": [Value<String>.path("").schema], "items": Value<String>.verbatim.schema,
        ]
        return Value(schema, show: { "[\($0.joined(separator: ", "))]" }) { $0.command($1, $2, expected: expected) }
    }
}

extension Value<[String: String]> {
    /// Texts by name.
    ///
    /// - Parameter isSecret: Whether values are hidden.
    static func texts(
        _ key: Value<String>,
        _ example: String,
        isSecret: Bool = false,
        _ valueName: @escaping @Sendable (String) -> String = { "`\($0)`" }
    ) -> Value {
        let show: @Sendable ([String: String]) -> String = { texts in
            let members = texts.sorted { $0.key < $1.key }.map { "\($0.key): \(isSecret ? "…" : $0.value)" }
            return members.isEmpty ? "{}" : "{ \(members.joined(separator: ", ")) }"
        }
        let schema: JSONValue = [
            "type": "object", "propertyNames": key.schema, "additionalProperties": Value<String>.verbatim.schema,
        ]
        var value = Value(schema, show: show) { reader, node, name in
            guard case .mapping(let pairs) = node.content else {
                reader.report(at: node.mark, "\(name) is \(node.summary); expected a mapping \(example)")
                return nil
            }
            var texts: [String: String] = [:]
            for (keyNode, valueNode) in pairs {
                guard let key = key.read(&reader, keyNode, "") else { continue }
                texts[key] = reader.verbatim(valueNode, valueName(key))
            }
            return texts
        }
        value.differences = { former, next, place in
            Set(former.keys).union(next.keys).sorted().filter { former[$0] != next[$0] }.flatMap { key in
                place.inside(key).difference(former[key].map { isSecret ? "…" : $0 }, next[key].map { isSecret ? "…" : $0 })
            }
        }
        return value
    }
}

extension Value<JSONValue> {
    /// A value of any form, which may be a secret.
    static var any: Value {
        Value([:], show: { _ in "…" }) { reader, node, _ in
            guard let value = reader.json(node), value != .null else { return .none }
            return value
        }
    }
}

extension Hashable {
    /// The value with its texts changed, if it has any: a text, a list or a mapping of texts, or JSON.
    fileprivate func changingTexts(_ change: (String) -> String) -> Self {
        let changed: Any? =
            switch self {
            case let text as String: change(text)
            case let texts as [String]: texts.map(change)
            case let texts as [String: String]: texts.mapValues(change)
            case let value as JSONValue: value.changingTexts(change)
            default: nil
            }
        return changed as? Self ?? self
    }
}

extension JSONValue {
    fileprivate func changingTexts(_ change: (String) -> String) -> JSONValue {
        switch self {
        case .string(let text): .string(change(text))
        case .array(let elements): .array(elements.map { $0.changingTexts(change) })
        case .object(let members): .object(members.mapValues { $0.changingTexts(change) })
        case .null, .bool, .integer, .number: self
        }
    }
}
