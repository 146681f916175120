import TestSupport

/// A compiled file of snippets: the regions between `// snippet: name` and `// end`.
struct SnippetFile {
    struct Region {
        var name: String
        /// The line at which it begins, counted from 1.
        var line: Int
        var text: [String]
    }

    let name: String
    var regions: [Region] = []
    /// The mistakes in the marks, each with its line.
    var problems: [String] = []

    init(name: String, text: String) {
        self.name = name
        var region: Region?
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let content = line.drop { $0 == " " }
            if content.hasPrefix(Self.beginning) {
                let next = Region(name: String(content.dropFirst(Self.beginning.count)), line: index + 1, text: [])
                if let region { problems.append("\(name).swift:\(index + 1): '\(next.name)' begins within '\(region.name)'") }
                if regions.contains(where: { $0.name == next.name }) {
                    problems.append("\(name).swift:\(index + 1): there is a second region '\(next.name)'")
                }
                region = next
            } else if content == "// end" {
                guard var finished = region else {
                    problems.append("\(name).swift:\(index + 1): no region ends here")
                    continue
                }
                finished.text = Article.withoutIndentation(finished.text)
                regions.append(finished)
                region = nil
            } else {
                region?.text.append(String(line))
            }
        }
        if let region { problems.append("\(name).swift:\(region.line): '\(region.name)' doesn't end") }
    }

    private static let beginning = "// snippet: "
}
