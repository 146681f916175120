import Glibc
import TestSupport

/// A page that names files of the repository, and the paths and tests that it names.
struct Guide {
    static let names = ["README.md", ".github/CONTRIBUTING.md", guarantees, waiting]
    /// The article with the commands that test what the library guarantees.
    static let guarantees = "Sources/Coordinators/Coordinators.docc/Guarantees.md"

    /// The article on the places in which messages wait.
    static let waiting = "Sources/Coordinators/Coordinators.docc/WhereAMessageCanWait.md"

    /// A part of a test's name that a command on the page filters by, such as `ChainTests.order`.
    struct Filter: Hashable {
        /// A part of a suite's or a target's name.
        var suite: String
        /// The beginning of the name of a test, or of a suite of the target.
        var test: String?
    }

    /// The paths, from the root of the repository or from `Sources`.
    let paths: [String]
    let filters: [Filter]

    init(_ name: String) throws {
        guard let text = Files.text(of: "\(Files.packageRoot)/\(name)") else { throw Unreadable(file: name) }
        self.init(text: text)
    }

    init(text: String) {
        let words = text.split { " \n\t,;:\"'`()[]|<>=".contains($0) }.map { $0.hasPrefix("../") ? $0.dropFirst(3) : $0 }
        paths = words.filter(Self.isPath).map { $0.hasSuffix(".") ? String($0.dropLast()) : String($0) }
        filters = text.split(separator: "--filter ").dropFirst().flatMap(Self.filters)
    }

    /// Whether there is such a file or folder.
    static func exists(_ path: String) -> Bool {
        ["", "Sources/", "Sources/Coordinators/"].contains { access("\(Files.packageRoot)/\($0)\(path)", F_OK) == 0 }
    }

    /// What a row of a table says beyond whole paths: `name` in a file, and a file beside the one that was named before.
    struct Signpost: Hashable {
        /// From the root of the repository.
        var path: String
        var name: String?
    }

    /// The signposts of a table's row.
    ///
    /// What stands between the names says how they belong together: `a` and `b` in `File.swift`.
    static func signposts(in row: Substring) -> [Signpost] {
        let pieces = row.split(separator: "`", omittingEmptySubsequences: false)
        var (folder, names, found) = ("", [Substring](), [Signpost]())
        for index in stride(from: 1, to: pieces.count - 1, by: 2) {
            let (word, after) = (pieces[index], pieces[index + 1])
            let isFile = [".swift", ".c", ".js", ".md", ".yaml", ".json", ".py"].contains { word.hasSuffix($0) } && !word.contains(" ")
            if word.contains("/"), isPath(word) {
                folder = isFile ? String(word[..<(word.lastIndex(of: "/") ?? word.endIndex)]) : String(word)
            }
            if isFile, !folder.isEmpty {
                let path = word.contains("/") ? String(word) : "\(folder)/\(word)"
                if !word.contains("/") { found.append(Signpost(path: path)) }
                found += names.map { Signpost(path: path, name: String($0.prefix { $0 != "(" })) }
            }
            names = isFile ? [] : [" in ", " and ", ", "].contains(after) ? names + [word] : []
        }
        return found
    }

    private static func isPath(_ word: Substring) -> Bool {
        guard word.contains("/"), !word.hasPrefix("/"), !word.hasPrefix(".") else { return false }
        let isBelowRoot = ["Sources/", "Tests/", "Deploy/", "Benchmarks/"].contains { word.hasPrefix($0) }
        return isBelowRoot || word.hasSuffix(".swift") || word.hasSuffix(".c")
    }

    /// The filters that a command's argument begins with: one word, or several in quotes with `\|` between them.
    private static func filters(_ argument: Substring) -> [Filter] {
        let isQuoted = argument.hasPrefix("\"")
        let words = (isQuoted ? argument.dropFirst() : argument).prefix { isQuoted ? $0 != "\"" : !" `\n".contains($0) }
        return words.split { "|\\^".contains($0) }.compactMap { word in
            let parts = word.split(separator: ".")
            return parts.first.map { Filter(suite: String($0), test: parts.count > 1 ? String(parts[1]) : nil) }
        }
    }
}

/// The names of the package's tests, as they stand in the sources.
struct DeclaredTests {
    private var suites: Set<String> = []
    private var functions: Set<String> = []

    init() {
        for target in Files.names(in: "\(Files.packageRoot)/Tests") where target.hasSuffix("Tests") {
            suites.insert(target)
            for file in Catalogue.files(below: "\(Files.packageRoot)/Tests/\(target)") {
                guard let text = Files.text(of: file) else { continue }
                suites.formUnion(Self.names(after: "struct ", in: text))
                functions.formUnion(Self.names(after: "func ", in: text))
            }
        }
    }

    func contains(_ filter: Guide.Filter) -> Bool {
        guard suites.contains(where: { $0.contains(filter.suite) }) else { return false }
        guard let test = filter.test else { return true }
        return functions.contains(test) || suites.contains { $0.hasPrefix(test) }
    }

    private static func names(after keyword: String, in text: String) -> [String] {
        text.split(separator: keyword).dropFirst().map { rest in String(rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }) }
    }
}
