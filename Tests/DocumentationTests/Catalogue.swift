import TestSupport

/// The catalogue's articles and the snippets' files, as they stand in the sources.
enum Catalogue {
    /// The articles' names; empty when the folder can't be read.
    static let articles = names(in: "Sources/Coordinators/Coordinators.docc", withExtension: "md")
    static let snippetFiles = names(in: "Tests/DocumentationTests/Snippets", withExtension: "swift")

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
