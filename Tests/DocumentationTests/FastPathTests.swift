import TestSupport
import Testing

/// Fast paths stand apart, so that the slow path can be read alone: see decision 173.
///
/// The build without them, of `Deploy/test --all`, finds every mention that this search by name misses.
@Suite("Fast paths and their hooks")
struct FastPathTests {
    /// The names of the declarations of all fast paths, but those that something else is called too.
    private static let names = FastPaths.names

    @Test("Each file says what its fast path saves, how that was measured, and how it's switched off")
    func headers() {
        let files = FastPaths.files
        #expect(files.count > 10)
        for file in files where !FastPaths.hasHeader(Files.text(of: file) ?? "") {
            Issue.record("\(file) lacks the lines '\(FastPaths.header.joined(separator: "…', '"))…' at its beginning")
        }
    }

    @Test("Other files mention the declarations of fast paths in hooks alone")
    func hooks() {
        #expect(Self.names.isSuperset(of: ["shortcutAsk", "DirectRows", "BusyWait", "sendUp", "flushSoon", "transmitAtOnce", "WarmUp"]))
        for file in FastPaths.others {
            let found = FastPaths.mentions(of: Self.names, in: Files.text(of: file) ?? "")
            if !found.isEmpty { Issue.record("\(file) mentions \(found) outside of '#if !SLOW_PATH_ONLY'") }
        }
    }

    @Test(
        "A mention counts unless it's in a hook, a comment or a text",
        arguments: [
            ("a.shortcut()", ["shortcut"]), ("// a shortcut", []), ("let text = \"shortcut\"", []), ("shortcuts", []),
            ("#if !SLOW_PATH_ONLY\nshortcut()\n#endif\n", []), ("#if !SLOW_PATH_ONLY\nwhole()\n#else\nshortcut()\n#endif", ["shortcut"]),
            ("#if SLOW_PATH_ONLY\nshortcut()\n#endif", ["shortcut"]), ("#if !SLOW_PATH_ONLY\n#if DEBUG\n#endif\nshortcut()\n#endif", []),
        ] as [(String, [String])]
    )
    func recognition(_ text: String, found: [String]) {
        #expect(FastPaths.mentions(of: ["shortcut"], in: text) == found)
    }

    @Test(
        "A declaration is recognised by its keyword",
        arguments: [
            ("final class Turn: Sendable {\n    let row: Row\n    func take()", ["Turn"]), ("private struct Line {", []),
            ("extension Node {\n    func shortcut<M>(_ message: M) {\n        let local = 1", ["shortcut"]),
            ("extension Node {\n    // func comment()\n    case row(Row)\n    var row: Row {\n    private static let limit = 1", ["row"]),
            ("extension Node {\n    fileprivate mutating func take() {\n    @inline(__always)\n    mutating func begin() {", ["begin"]),
        ] as [(String, Set<String>)]
    )
    func declarations(_ text: String, names: Set<String>) {
        #expect(FastPaths.declarations(in: text) == names)
    }
}

/// The files of fast paths, and those beside them.
private enum FastPaths {
    /// The targets that have fast paths.
    static let targets = ["ConcurrencySupport", "Coordinators", "Links", "NNG"]
    /// The beginnings of a fast path's first lines.
    static let header = ["// Saves: ", "// Measured: ", "// Off: "]

    private static let all = targets.flatMap { Catalogue.files(below: "\(Files.packageRoot)/Sources/\($0)") }
    static let files = all.filter { $0.contains("/FastPaths/") }
    static let others = all.filter { !$0.contains("/FastPaths/") }

    static var names: Set<String> {
        let mentionable = files.reduce(into: Set<String>()) { $0.formUnion(declarations(in: Files.text(of: $1) ?? "")) }
        return others.reduce(into: mentionable) { names, file in
            for line in (Files.text(of: file) ?? "").split(separator: "\n") {
                if let name = declaration(line) { names.remove(name) }
            }
        }
    }

    static func hasHeader(_ text: String) -> Bool {
        let beginning = text.split(separator: "\n", omittingEmptySubsequences: false).prefix { $0.hasPrefix("//") }
        return header.allSatisfy { line in beginning.contains { $0.hasPrefix(line) && $0.count > line.count } }
    }

    private static let modifiers: Set<Substring> = [
        "public", "package", "internal", "final", "static", "mutating", "nonisolated", "override", "convenience",
    ]

    /// Returns the names of what a file declares for others: its types, and the members by which it extends others' types.
    ///
    /// A member of its own types can't be mentioned without these.
    static func declarations(in text: String) -> Set<String> {
        var names: Set<String> = []
        var isExtension = false
        for line in text.split(separator: "\n") {
            let indentation = line.prefix { $0 == " " }.count
            if indentation == 0, line.first?.isLetter == true { isExtension = line.contains("extension ") }
            guard indentation == 0 || indentation == 4 && isExtension, let name = declaration(line) else { continue }
            names.insert(name)
        }
        return names
    }

    /// Returns the name of what a line declares for other files.
    private static func declaration(_ line: Substring) -> String? {
        let words = line.split(separator: " ").drop { $0.hasPrefix("@") || modifiers.contains($0) || $0.hasSuffix("(set)") }
        guard let keyword = words.first, ["struct", "enum", "class", "actor", "protocol", "func", "let", "var"].contains(keyword) else {
            return nil
        }
        let name = words.dropFirst().first.map { String($0.prefix { $0.isLetter || $0.isNumber || $0 == "_" }) }
        return name?.isEmpty == false ? name : nil
    }

    /// Returns the names that stand in the code of a file outside of hooks.
    static func mentions(of names: Set<String>, in text: String) -> [String] {
        var found: Set<String> = []
        // Whether each `#if` around a line is a hook's.
        var conditions: [Bool] = []
        for line in text.split(separator: "\n") {
            let code = line.drop { $0 == " " }
            if code.hasPrefix("#if ") {
                conditions.append(code == "#if !SLOW_PATH_ONLY")
            } else if code.hasPrefix("#else") {
                if conditions.popLast() != nil { conditions.append(false) }
            } else if code.hasPrefix("#endif") {
                _ = conditions.popLast()
            } else if !conditions.contains(true), !code.hasPrefix("//") {
                found.formUnion(names.intersection(words(of: code)))
            }
        }
        return found.sorted()
    }

    /// Returns the words of a line's code, without those of texts and of a comment behind it.
    private static func words(of line: Substring) -> [String] {
        // Bytes, since there are more than a million of them, and tests aren't optimised.
        let bytes = Array(line.utf8)
        var words: [String] = []
        var begin: Int?
        var isInText = false
        for index in 0...bytes.count {
            let byte = index < bytes.count ? bytes[index] : UInt8(ascii: " ")
            let isPart = byte >= 0x30 && byte <= 0x39 || byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A || byte == UInt8(ascii: "_")
            if isPart, !isInText {
                if begin == nil { begin = index }
                continue
            }
            if let first = begin { words.append(String(decoding: bytes[first..<index], as: UTF8.self)) }
            begin = nil
            let former = index > 0 ? bytes[index - 1] : 0
            if byte == UInt8(ascii: "\""), former != UInt8(ascii: "\\") { isInText.toggle() }
            if byte == UInt8(ascii: "/"), former == byte, !isInText { break }
        }
        return words
    }
}
