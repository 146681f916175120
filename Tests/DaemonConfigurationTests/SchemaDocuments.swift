import FoundationEssentials
import Glibc
import TestSupport
import WireProtocol

@testable import DaemonConfiguration

/// What is made of the declarations of the keys, and checked in.
enum SchemaDocuments {
    /// A key, its path from the top of the file, and what a change of it does.
    struct Place {
        let path: [String]
        let key: KeyDescription
        let fallback: String
        let effect: ChangeEffect
        /// The rules of the mapping that has the key.
        let rules: [KeyRule]
    }

    /// All keys; those of children in groups are those of children.
    static let places = places(in: Keys.file, [], Keys.ofFile.effect, [])

    private static func places(in table: any KeyTable, _ path: [String], _ effect: ChangeEffect, _ around: Set<String>) -> [Place] {
        table.rows.flatMap { key, fallback -> [Place] in
            let path = path + [key.name]
            let effect = key.effect ?? effect
            let place = Place(path: path, key: key, fallback: fallback, effect: effect, rules: table.rules)
            guard let inner = key.table?(), !around.contains(inner.name) else { return [place] }
            // A child begins with an effect of its own.
            let innerEffect = inner.name == Keys.child.name ? Keys.ofChild.effect : effect
            return [place] + places(in: inner, path, innerEffect, around.union([inner.name]))
        }
    }

    /// What a change of each mapping's keys does, by the mapping's name and the key.
    private static let effects: [String: Set<ChangeEffect>] = {
        var effects: [String: Set<ChangeEffect>] = [:]
        var seen: Set<String> = []
        func visit(_ table: any KeyTable, _ effect: ChangeEffect) {
            guard seen.insert("\(table.name) \(effect)").inserted else { return }
            for (key, _) in table.rows {
                let effect = key.effect ?? effect
                effects["\(table.name).\(key.name)", default: []].insert(effect)
                if let inner = key.table?() { visit(inner, inner.name == Keys.child.name ? Keys.ofChild.effect : effect) }
            }
        }
        visit(Keys.file, Keys.ofFile.effect)
        return effects
    }()

    private static func word(_ table: any KeyTable, _ key: KeyDescription) -> String {
        let effects = effects["\(table.name).\(key.name)"] ?? []
        // The mapping is in several others, of which the changes differ.
        guard effects.count < 2 else { return "as around it" }
        return switch effects.first {
        case .live?: "live"
        case .restart?: "restart"
        case .nextDaemon?: "next daemon"
        case nil: ""
        }
    }

    // MARK: The reference

    static let heading = "| Key | Value | Default | A change |\n| --- | --- | --- | --- |\n"

    /// The reference's tables, in its order.
    static var referenceTables: [String] {
        Keys.tables.map { table in
            let rows = table.rows.map { key, fallback in
                "| `\(key.name)` | \(key.documentation) | \(fallback) | \(word(table, key)) |".replacing("|  |", with: "| |")
            }
            return heading + rows.joined(separator: "\n") + "\n"
        }
    }

    /// Returns the article with its tables as the declarations have them; nil when it has another number of tables.
    static func article(_ text: String) -> String? {
        let parts = text.replacing(/(?m)^\| Key \|.*\n(?:\|.*\n)+/, with: "\u{0}").split(
            separator: "\u{0}",
            omittingEmptySubsequences: false
        )
        let tables = referenceTables
        guard parts.count == tables.count + 1 else { return nil }
        return zip(parts, tables + [""]).map { $0 + $1 }.joined()
    }

    // MARK: The JSON schema

    /// The text of the JSON schema.
    static func schema() throws -> String {
        var definitions: [String: JSONValue] = [:]
        func define(_ table: any KeyTable) {
            guard definitions[table.name] == nil else { return }
            definitions[table.name] = .object(object(table))
            for (key, _) in table.rows { if let inner = key.table?() { define(inner) } }
        }
        define(Keys.file)
        definitions["octal_number"] = Value<UInt32>.octalNumber
        definitions["default_key"] = ["enum": .array(ConfigurationReader.defaultKeys.map { .string($0.description.name) })]
        guard case .object(var schema)? = definitions.removeValue(forKey: Keys.file.name) else { return "" }
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        schema["title"] = "The configuration file of coordinatord"
        schema["description"] =
            "The form of the file. What a schema can't say (unknown siblings, circles, files that aren't there), `coordinatorctl config check` finds."
        schema["$defs"] = .object(definitions)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(JSONValue.object(schema)), as: UTF8.self) + "\n"
    }

    private static func object(_ table: any KeyTable) -> [String: JSONValue] {
        var properties: [String: JSONValue] = [:]
        for (key, fallback) in table.rows {
            guard case .object(var schema) = key.schema else { continue }
            let text = key.documentation.replacing("`", with: "").replacing("**", with: "").replacing(/[:,] see below/, with: "")
            let effects: [String: String] = [
                "live": "is taken over", "restart": "restarts the child", "next daemon": "is for the next daemon",
            ]
            schema["description"] = .string("\(text) A change \(effects[word(table, key)] ?? "").")
            if let literal = fallback.wholeMatch(of: /`([^`]+)`/)?.1 { schema["default"] = value(String(literal)) }
            properties[key.name] = .object(schema)
        }
        var object: [String: JSONValue] = ["type": "object", "additionalProperties": false, "properties": .object(properties)]
        let required = table.rows.filter { $0.key.required != nil }.map { JSONValue.string($0.key.name) }
        if !required.isEmpty { object["required"] = .array(required) }
        var dependent: [String: JSONValue] = [:]
        var others: [JSONValue] = []
        for rule in table.rules {
            switch rule {
            case .one(let keys): object["oneOf"] = .array(keys.map { ["required": [.string($0)]] })
            case .oneAtMost(let keys): object["not"] = ["required": .array(keys.map { .string($0) })]
            case .both(let first, let second): (dependent[first], dependent[second]) = ([.string(second)], [.string(first)])
            case .needs(let key, let other, _): dependent[key] = [.string(other)]
            case .schema(let schema): others.append(schema)
            }
        }
        if !others.isEmpty { object["allOf"] = .array(others) }
        if !dependent.isEmpty { object["dependentRequired"] = .object(dependent) }
        return object
    }

    /// The value that a text of the file means.
    static func value(_ text: String) -> JSONValue {
        switch PlainScalar(text) {
        case .bool(let value): .bool(value)
        case .integer(let value) where text.first != "0" || text == "0": .integer(value)
        case .number(let value): .number(value)
        default: text == "[]" ? [] : .string(text)
        }
    }

    // MARK: Files

    static let schemaFile = "\(Files.packageRoot)/Deploy/configuration.schema.json"
    static let articleFile = "\(Files.packageRoot)/Sources/DaemonConfiguration/DaemonConfiguration.docc/Configuration.md"

    /// Returns what a checked-in file has; with `COORDINATORS_TEST_WRITE` in the environment it's written first.
    static func checkedIn(_ file: String, _ text: String?) throws -> String? {
        if getenv("COORDINATORS_TEST_WRITE") != nil, let text { try Files.write(text, to: file) }
        return Files.text(of: file)
    }
}
