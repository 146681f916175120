import TestSupport
import Testing

/// What a program can name that imports a product alone: every type of its API, also one that a lower target declares.
@Suite("What the products export")
struct ExportsTests {
    /// The declarations of a target: those of types on the outermost level, with the public signatures in them and in their extensions.
    private struct Target {
        var types: Set<String> = []
        var signatures: [String: [String]] = [:]
        /// All names of types that are declared, at any level, and of what is generic.
        var names: Set<String> = []
        var exports: Set<String> = []

        private static var declaration: Regex<(Substring, Substring, Substring)> {
            #/^[\w@() ]*?\b(struct|enum|class|actor|protocol|extension|typealias) (\w+)/#
        }

        init(_ name: String) {
            for file in Catalogue.files(below: "\(Files.packageRoot)/Sources/\(name)") { read(Files.text(of: file) ?? "") }
        }

        private mutating func read(_ text: String) {
            exports.formUnion(text.matches(of: #/@_exported public import \w+ \w+\.(\w+)/#).map { String($0.1) })
            for pattern in [#/\b(?:struct|enum|class|actor|protocol|typealias|associatedtype) (\w+)/#, #/[<,] ?(?:each )?(\w+):/#] {
                names.formUnion(text.matches(of: pattern).map { String($0.1) })
            }
            var (type, open, signature): (String?, Substring, Substring?) = (nil, "", nil)
            for line in text.split(separator: "\n") {
                let code = line.prefix(upTo: line.firstRange(of: "//")?.lowerBound ?? line.endIndex)
                if !code.hasPrefix(" "), let match = code.firstMatch(of: Self.declaration) {
                    (type, open) = (String(match.2), code)
                    if match.1 != "extension", code.contains("public ") { types.insert(String(match.2)) }
                }
                if code.hasPrefix("}") { type = nil }
                guard let owner = type else { continue }
                if let begun = signature {
                    signature = begun + code
                } else if code.contains("public ") || open.contains("public protocol ")
                    || open.contains("public enum ") && code.hasPrefix("    case ")
                {
                    signature = code
                }
                guard let whole = signature, whole.count(where: { $0 == "(" }) <= whole.count(where: { $0 == ")" }) else { continue }
                signatures[owner, default: []].append(String(whole.prefix { $0 != "{" }))
                signature = nil
            }
        }

        func mentioned(by type: String) -> Set<String> {
            Set((signatures[type] ?? []).flatMap { $0.matches(of: #/\b[A-Z]\w+/#).map { String($0.0) } })
        }
    }

    private static let products = ["", "Cluster", "Observability", "SQLite", "Testing"].map { "Coordinators" + $0 }
    /// The targets of this package from which the products are made, whichever way they're imported.
    private static let targets: [Target] = {
        let sources = "\(Files.packageRoot)/Sources"
        let all = Set(Files.names(in: sources)).subtracting(products)
        var (names, next): (Set<String>, Set<String>) = ([], Set(products))
        while !next.isEmpty {
            next = all.intersection(next.flatMap { FolderImports.imports(below: "\(sources)/\($0)") }).subtracting(names)
            names.formUnion(next)
        }
        return names.map(Target.init)
    }()
    private static let library = Target("Coordinators")

    @Test("A program that imports a product can name every type of its API", arguments: products)
    func complete(_ product: String) {
        let (targets, library) = (Self.targets, Self.library)
        let own = product == "Coordinators" ? library : Target(product)
        let exports = own.exports.union(library.exports)
        let names = own.names.union(library.names)
        var found = Set(own.signatures.keys.flatMap(own.mentioned)).subtracting(names).union(exports)
        var next = found
        while !next.isEmpty {
            // What those of a lower target mention is a part of the API, too.
            let more = next.flatMap { type in targets.filter { $0.types.contains(type) }.flatMap { $0.mentioned(by: type) } }
            next = Set(more).subtracting(names).subtracting(found)
            found.formUnion(next)
        }
        let foreign = found.filter { type in targets.contains { $0.types.contains(type) } }
        if product == "Coordinators" { #expect(foreign.count > 15, "nothing is read") }
        for type in foreign.subtracting(exports).sorted() {
            let places = ([own] + targets).flatMap { $0.signatures.values.joined().filter { $0.contains(type) } }
            Issue.record("\(type) isn't in the Exports.swift of \(product), and stands in: \(places.prefix(3))")
        }
    }
}
