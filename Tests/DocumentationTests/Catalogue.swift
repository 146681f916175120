import TestSupport

/// The catalogue's articles and the snippets' files, as they stand in the sources.
enum Catalogue {
    /// The articles' names; empty when the folder can't be read.
    static let articles = names(in: "Sources/Coordinators/Coordinators.docc", withExtension: "md")
    /// The pages of the decisions, each with its folder.
    static let decisions = names(in: "Sources/Coordinators/Coordinators.docc/Decisions", withExtension: "md").map { "Decisions/\($0)" }
    static let snippetFiles = names(in: "Tests/DocumentationTests/Snippets", withExtension: "swift")

    /// The packages whose sources an article shows instead of snippets of its own.
    private static let packages = [
        "EmbeddingInHummingbird": "Sources/Examples/HummingbirdShop/Sources", "UntrustedInput": "Sources/Examples/Thumbnails",
    ]

    /// Returns whether a package that the article shows has these lines, whatever their indentation.
    static func package(of article: String, contains lines: [String]) -> Bool {
        guard let folder = packages[article] else { return false }
        return files(below: "\(Files.packageRoot)/\(folder)").contains { file in
            let source = (Files.text(of: file) ?? "").split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            return source.indices.dropLast(lines.count - 1).contains { start in
                source[start].hasSuffix(lines[0]) && Article.withoutIndentation(Array(source[start..<start + lines.count])) == lines
            }
        }
    }

    static func files(below folder: String) -> [String] {
        // An example that is a package has what it's built from in `.build`.
        Files.names(in: folder).filter { !$0.hasPrefix(".") }.map { "\(folder)/\($0)" }
            .flatMap { $0.hasSuffix(".swift") ? [$0] : files(below: $0) }
    }

    static func article(_ name: String) throws -> Article {
        Article(name: name, text: try text(of: name))
    }

    static func snippets(_ name: String) throws -> SnippetFile {
        guard snippetFiles.contains(name) else { return SnippetFile(name: name, text: "") }
        return SnippetFile(name: name, text: try read("Tests/DocumentationTests/Snippets/\(name).swift"))
    }

    static func text(of article: String) throws -> String {
        try read("Sources/Coordinators/Coordinators.docc/\(article).md")
    }

    private static func names(in folder: String, withExtension fileExtension: String) -> [String] {
        Files.names(in: "\(Files.packageRoot)/\(folder)")
            .filter { $0.hasSuffix(".\(fileExtension)") }
            .map { String($0.dropLast(fileExtension.count + 1)) }
    }

    private static func read(_ file: String) throws -> String {
        guard let text = Files.text(of: "\(Files.packageRoot)/\(file)") else { throw Unreadable(file: file) }
        return text
    }
}

struct Unreadable: Error, CustomStringConvertible {
    var file: String

    var description: String { "\(file) can't be read" }
}
