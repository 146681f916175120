import Glibc
import TestSupport
import Testing

/// The order of the library's folders, as the guide for contributors says: none refers to what one above it declares.
@Suite("The layers of the library")
struct LayerTests {
    /// A reference to a declaration in another folder, as the compiler has understood it.
    private struct Reference {
        let file, name, declaration: String
        let line: Int

        init?(_ line: Substring) {
            let cells = line.split(separator: "\t").map(String.init)
            guard cells.count == 4, let number = Int(cells[1]) else { return nil }
            (file, self.line, name, declaration) = (cells[0], number, cells[2], cells[3])
        }
    }

    /// The references that go upwards all the same, and the reason.
    private static let upward: [(file: String, names: Set<String>, reason: String)] = [
        ("Routing/Coordinator.swift", ["CoordinatorContext", "Responder"], "the protocol of authors names what they get and give"),
        ("Routing/CoordinatorType.swift", ["CoordinatorContext", "init(of:)", "row"], "makes a coordinator of an author's type"),
        ("Runtime/CoordinatorRuntime+Options.swift", ["CoordinatorRuntime"], "the name space of the options"),
        ("Runtime/RuntimeCore.swift", ["CoordinatorRuntime"], "the name space of the options"),
        ("Children/RuntimeCore+Hosts.swift", ["CoordinatorRuntime"], "the name space of the options"),
        ("Children/Workers/Worker.swift", ["CoordinatorRuntime"], "the name space of the options"),
        ("Children/RuntimeCore+Hosts.swift", ["AllFeatures", "init()"], "puts a process together, in the tree's root and in workers"),
    ]
    /// The references from one feature to another.
    private static let sideways = [["Testing", "Timers"], ["Pools", "Timers"], ["Flows", "Pages"]]

    @Test("No folder refers to one above it, and no feature to another one, but for what is listed")
    func arrows() async throws {
        let text = try #require(Files.text(of: "\(Files.packageRoot)/.github/CONTRIBUTING.md"))
        let order = FolderImports.order(in: text)
        #expect(Set(order) == Set(FolderImports.folders.keys))
        // It looks for the compiler in the PATH.
        let path = try #require(getenv("PATH").map { String(cString: $0) })
        let read = try await BuiltProgram(path: "/usr/bin/env").run(
            ["PATH=\(path)", "python3", "\(Files.packageRoot)/Tests/references", BuiltProgram("").path]
        )
        try #require(read.exitCode == 0, "\(read.errors)")
        let references = read.output.split(separator: "\n").compactMap(Reference.init)
        #expect(references.count > 5_000)
        var unused = Self.upward.flatMap { entry in entry.names.map { "\(entry.file): \($0)" } }
        for reference in references {
            let (from, to) = (Self.folder(of: reference.file), Self.folder(of: reference.declaration))
            guard let place = order.firstIndex(of: from), let other = order.firstIndex(of: to) else {
                Issue.record("\(from) or \(to) isn't in the table of folders")
                continue
            }
            if from == "Features", to == "Features" {
                let features = [reference.file, reference.declaration].map(Self.feature)
                if features.contains("") || features[0] == features[1] || Self.sideways.contains(features) { continue }
            } else if other >= place || to == "FastPaths" {
                continue
            }
            unused.removeAll { $0 == "\(reference.file): \(reference.name)" }
            if Self.upward.contains(where: { $0.file == reference.file && $0.names.contains(reference.name) }) { continue }
            Issue.record("\(reference.file):\(reference.line) refers to \(reference.name) of \(reference.declaration), which is above it")
        }
        #expect(unused == [], "what is listed isn't needed any more")
    }

    private static func folder(of file: String) -> String { String(file.prefix { $0 != "/" }) }

    /// The feature that a file is a part of; empty for what puts the features together.
    private static func feature(of file: String) -> String {
        let parts = file.split(separator: "/")
        return parts.count > 2 ? String(parts[1]) : ""
    }
}
