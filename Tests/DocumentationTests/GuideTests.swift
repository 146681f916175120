import TestSupport
import Testing

@Suite("The README, the guide for contributors and the guarantees")
struct GuideTests {
    @Test("Every path that they name exists", arguments: Guide.names)
    func paths(_ name: String) throws {
        let guide = try Guide(name)
        #expect(guide.paths.count > 5)
        for path in guide.paths where !Guide.exists(path) { Issue.record("\(name) names \(path), which doesn't exist") }
    }

    @Test("What it says to stand in a file, or beside one, does")
    func signposts() throws {
        let text = try #require(Files.text(of: "\(Files.packageRoot)/.github/CONTRIBUTING.md"))
        let signposts = text.split(separator: "\n").filter { $0.hasPrefix("|") }.flatMap(Guide.signposts)
        #expect(signposts.count > 70)
        for signpost in signposts {
            let file = Files.text(of: "\(Files.packageRoot)/\(signpost.path)")
            if file == nil { Issue.record("CONTRIBUTING.md names \(signpost.path), which doesn't exist") }
            guard let name = signpost.name, let file, !Self.hasWord(String(name), in: file) else { continue }
            Issue.record("CONTRIBUTING.md says that \(signpost.path) has `\(name)`")
        }
        let row = "| a | `f` and `g(_:)` in `Sources/A/B.swift`, then `C.swift` beside it; `h`: `D.md` there |"
        let expected = [
            Guide.Signpost(path: "Sources/A/B.swift", name: "f"), Guide.Signpost(path: "Sources/A/B.swift", name: "g"),
            Guide.Signpost(path: "Sources/A/C.swift"), Guide.Signpost(path: "Sources/A/D.md"),
        ]
        #expect(Guide.signposts(in: row[...]) == expected)
    }

    private static func hasWord(_ word: String, in text: String) -> Bool {
        text.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.contains(word[...])
    }

    @Test("Every test that a command runs exists", arguments: [".github/CONTRIBUTING.md", Guide.guarantees])
    func filters(_ name: String) throws {
        let guide = try Guide(name)
        let tests = DeclaredTests()
        #expect(!guide.filters.isEmpty)
        for filter in guide.filters where !tests.contains(filter) {
            Issue.record("\(name) filters by \(filter.suite) \(filter.test ?? ""), and no test is called so")
        }
    }

    @Test("Every folder of the library is described, and imports nothing that its description doesn't list")
    func folders() throws {
        let text = try #require(Files.text(of: "\(Files.packageRoot)/.github/CONTRIBUTING.md"))
        let described = FolderImports.described(in: text)
        let folders = FolderImports.folders
        #expect(folders.count == 10)
        for (folder, imports) in folders {
            guard let allowed = described[folder] else {
                Issue.record("CONTRIBUTING.md has no line for Sources/Coordinators/\(folder)")
                continue
            }
            let others = imports.subtracting(allowed).sorted()
            if !others.isEmpty { Issue.record("CONTRIBUTING.md doesn't list \(others), which Sources/Coordinators/\(folder) imports") }
        }
        for folder in Set(described.keys).subtracting(folders.keys) { Issue.record("CONTRIBUTING.md names \(folder), which doesn't exist") }
    }

    @Test("Each file of the library that keeps a queue is in the article on where messages wait")
    func queues() throws {
        let root = "\(Files.packageRoot)/Sources/Coordinators"
        let named = try Set(Guide(Guide.waiting).paths)
        let files = Catalogue.files(below: root).filter { file in
            let text = Files.text(of: file) ?? ""
            return ["Deque<", "Parking()", "Parking]", "MessageParking<"].contains(where: text.contains)
        }
        #expect(files.count > 10)
        for file in files.map({ String($0.dropFirst(root.count + 1)) }) where !named.contains(file) {
            Issue.record("\(file) keeps a queue that isn't in WhereAMessageCanWait.md: who waits there, its bound, and what ends the wait")
        }
    }

    @Test("Paths and filters are found in tables, links and diagrams")
    func reading() {
        let guide = Guide(
            text: "| `Deploy/test` | [a](../Sources/A/B.md) | \"API/C.swift: ask\" | `swift test --filter \"One\\|^Two.three\"`; a/b"
        )
        #expect(guide.paths == ["Deploy/test", "Sources/A/B.md", "API/C.swift"])
        #expect(guide.filters == [Guide.Filter(suite: "One", test: nil), Guide.Filter(suite: "Two", test: "three")])
    }
}
