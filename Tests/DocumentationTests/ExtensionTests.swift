import TestSupport
import Testing

/// What CONTRIBUTING says of the library's folders: a type's extensions live with the type, but for those that are listed here.
@Suite("Extensions outside of their type's folder")
struct ExtensionTests {
    /// The types of the library that other folders extend, and the reason.
    private static let types: [String: String] = [
        // A concept's part of what is one object for the user, or one incarnation.
        "Node": "what a concept adds to each coordinator lives with the concept",
        "CoordinatorContext": "the API of a concept lives with the concept",
        "Child": "the API of a concept lives with the concept", "Responder": "rows of a concept live with the concept",
        "MessageRow": "rows of a concept live with the concept", "CoordinatorRuntime": "the API of a concept lives with the concept",
        "RuntimeCore": "what a concept needs once in a process lives with the concept",
        "ChildSupervisor": "what a concept asks of a parent lives with the concept",
        "WorkerHost": "faults of tests, and what an upgrade asks of it",
        "Envelope": "what a concept knows of a message under way lives with the concept",
        "CoordinatorSnapshot": "each folder fills in what it knows", "TraceContext": "the marks of traces, which messages only carry",
        // What one folder needs of a value that a folder below it declares, or of one above it.
        "ChildDefinition": "what a parent derives from it", "ChildSlot": "the form of a message that waits for a child",
        "LifecycleChange": "the exit reason of an end", "CoordinatorError": "errors that a folder makes in several places",
        "CoordinatorPath": "forms of a path that one folder needs", "PauseReasons": "their frame",
    ]

    @Test("No other type of the library is extended from another folder, and each of these is")
    func all() {
        let root = "\(Files.packageRoot)/Sources/Coordinators"
        var folders: [String: String] = [:]
        var extended: [String: Set<String>] = [:]
        for file in Catalogue.files(below: root) {
            let folder = String(file.dropFirst(root.count + 1).prefix { $0 != "/" })
            for line in (Files.text(of: file) ?? "").split(separator: "\n") {
                guard let (keyword, name) = Self.declaration(line) else { continue }
                if keyword == "extension" { extended[name, default: []].insert(folder) } else { folders[name] = folder }
            }
        }
        #expect(folders.count > 200)
        let elsewhere = extended.filter { name, places in folders[name].map { !places.isSubset(of: [$0]) } ?? false }
        #expect(Set(elsewhere.keys).symmetricDifference(Self.types.keys).sorted() == [])
    }

    @Test(
        "A declaration is recognised at the beginning of a line",
        arguments: [
            ("extension Node.State {", "extension Node"), ("public final class Worker: Sendable {", "class Worker"),
            ("    struct Inner {", nil), ("// extension Node {", nil), ("func extension() {", nil),
            ("@MainActor package struct A {}", "struct A"),
        ] as [(String, String?)]
    )
    func recognition(_ line: String, declaration: String?) {
        #expect(Self.declaration(line[...]).map { "\($0.keyword) \($0.name)" } == declaration)
    }

    private static let modifiers: Set<Substring> = [
        "public", "package", "private", "fileprivate", "internal", "final", "indirect", "nonisolated",
    ]

    private static func declaration(_ line: Substring) -> (keyword: Substring, name: String)? {
        let words = line.split(separator: " ", omittingEmptySubsequences: false).drop { $0.hasPrefix("@") || modifiers.contains($0) }
        guard let keyword = words.first, ["struct", "enum", "class", "actor", "protocol", "extension"].contains(keyword) else { return nil }
        return words.dropFirst().first.map { (keyword, String($0.prefix { $0.isLetter || $0.isNumber || $0 == "_" })) }
    }
}
