import Glibc

/// The catalogue's articles and the snippets' files, as they stand in the sources.
enum Catalogue {
    private static let root = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()

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
        var matches = glob_t()
        defer { globfree(&matches) }
        guard glob("\(root)/\(folder)/*.\(fileExtension)", 0, nil, &matches) == 0 else { return [] }
        return (0..<Int(matches.gl_pathc)).compactMap { index in
            matches.gl_pathv[index].flatMap { String(cString: $0).split(separator: "/").last?.dropLast(fileExtension.count + 1) }
                .map(String.init)
        }
    }

    private static func read(_ file: String) throws -> String {
        let descriptor = open("\(root)/\(file)", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Unreadable(file: file, code: errno) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            guard count >= 0 else { throw Unreadable(file: file, code: errno) }
            if count == 0 { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer[..<count]
        }
    }
}

struct Unreadable: Error, CustomStringConvertible {
    var file: String
    var code: Int32

    var description: String { "\(file) can't be read: error \(code)" }
}
