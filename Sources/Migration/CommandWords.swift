/// The words of a command as a shell's: quotes and backslashes are taken away, and nothing is expanded.
enum CommandWords {
    /// The characters that a shell would act upon, outside quotes.
    private static let active = Set("$`;&|<>()*?[]{}~\n")

    /// Returns the words; nil when a quote isn't closed.
    static func split(_ text: String) -> [String]? {
        var words: [String] = []
        var word: String?
        var quote: Character?
        var rest = text[...]
        while let character = rest.popFirst() {
            switch (quote, character) {
            case (nil, " "), (nil, "\t"), (nil, "\n"):
                if let complete = word { words.append(complete) }
                word = nil
            case (nil, "'"), (nil, "\""):
                quote = character
                word = word ?? ""
            case (let open?, _) where open == character: quote = nil
            case (nil, "\\"):
                guard let next = rest.popFirst() else { return nil }
                word = (word ?? "") + String(next)
            case ("\"", "\\"):
                if let next = rest.first, next == "\"" || next == "\\" {
                    rest.removeFirst()
                    word = (word ?? "") + String(next)
                } else {
                    word = (word ?? "") + "\\"
                }
            default: word = (word ?? "") + String(character)
            }
        }
        guard quote == nil else { return nil }
        return words + [word].compactMap(\.self)
    }

    /// Returns the arguments that run a line as a shell would: the words themselves, or the shell where it has more to do.
    static func shell(_ line: String) -> [String] {
        let isPlain = !line.contains { active.contains($0) || $0 == "'" || $0 == "\"" || $0 == "\\" || $0 == "#" }
        if isPlain, let words = split(line), let first = words.first, !first.contains("=") { return words }
        return ["sh", "-c", line]
    }
}
