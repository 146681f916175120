import TestSupport

/// An article of the catalogue, and the blocks of one language in it.
struct Article {
    struct Block: Equatable {
        /// The line of the opening fence, counted from 1.
        var line: Int
        var text: [String]
    }

    let name: String
    var blocks: [Block] = []
    /// The line at which a block without an end begins.
    var openFence: Int?

    init(name: String, text: String, language: String = "swift") {
        self.name = name
        var block: Block?
        var isWanted = false
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let content = line.drop { $0 == " " }
            if content.hasPrefix("```") {
                if let finished = block {
                    if isWanted { blocks.append(Block(line: finished.line, text: Self.withoutIndentation(finished.text))) }
                    block = nil
                } else {
                    isWanted = content.dropFirst(3).lowercased().hasPrefix(language)
                    block = Block(line: index + 1, text: [])
                }
            } else {
                block?.text.append(String(line))
            }
        }
        openFence = block?.line
    }

    /// The lines without the indentation that all of them share, and without spaces at their ends.
    static func withoutIndentation(_ lines: [String]) -> [String] {
        let trimmed = lines.map { line in
            line.lastIndex { $0 != " " }.map { String(line[...$0]) } ?? ""
        }
        let common = trimmed.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
        return trimmed.map { String($0.dropFirst(common)) }
    }
}
