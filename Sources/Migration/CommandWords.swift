/// The words of a command as a shell's: quotes and backslashes are taken away, and nothing is expanded.
enum CommandWords {
    /// The characters that a shell would act upon, outside quotes.
    private static let active = Set("$`;&|<>()*?[]{}~\n")

    /// Words that are a shell's own, and no programs.
    private static let builtins: Set<String> = [
        ".", ":", "alias", "break", "case", "cd", "command", "continue", "eval", "exec", "exit", "export", "for", "getopts", "hash", "if",
        "local", "read",
        "readonly", "return", "set", "shift", "source", "time", "times", "trap", "type", "ulimit", "umask", "unalias", "unset", "until",
        "wait", "while", "!",
    ]

    /// Returns the words; nil when a quote isn't closed.
    static func split(_ text: String) -> [String]? {
        var words: [String] = []
        var word: String.UnicodeScalarView?
        var quote: Unicode.Scalar?
        var rest = text.unicodeScalars[...]
        func append(_ scalars: some Sequence<Unicode.Scalar>) {
            var complete = word ?? String.UnicodeScalarView()
            complete.append(contentsOf: scalars)
            word = complete
        }
        while let scalar = rest.popFirst() {
            switch (quote, scalar) {
            case (_, LateText.begin):
                // What a shell replaces is in one word, whatever is in it.
                let end = rest.firstIndex(of: LateText.end) ?? rest.startIndex
                append([quote == nil ? LateText.begin : LateText.beginInQuotes])
                append(rest[..<end])
                rest = rest[end...]
            case (nil, " "), (nil, "\t"), (nil, "\n"), (nil, "\r"):
                if let complete = word { words.append(String(complete)) }
                word = nil
            case (nil, "'"), (nil, "\""):
                quote = scalar
                append([])
            case (let open?, _) where open == scalar: quote = nil
            case (nil, "\\"):
                guard let next = rest.popFirst() else { return nil }
                append([next])
            case ("\"", "\\"):
                if let next = rest.first, next == "\"" || next == "\\" {
                    rest.removeFirst()
                    append([next])
                } else {
                    append(["\\"])
                }
            default: append([scalar])
            }
        }
        guard quote == nil else { return nil }
        return words + [word].compactMap { $0.map { String($0) } }
    }

    /// Returns the arguments that run a line as a shell would: the words themselves, or the shell where it has more to do.
    static func shell(_ line: String) -> [String] {
        let isPlain = !line.contains { active.contains($0) || $0 == "'" || $0 == "\"" || $0 == "\\" || $0 == "#" }
        if isPlain, let words = split(line), let first = words.first, !first.contains("=") {
            // What follows `exec` is the program that takes the shell's place.
            if first == "exec", let second = words.dropFirst().first, !second.hasPrefix("-") { return Array(words.dropFirst()) }
            if !builtins.contains(first) { return words }
        }
        return ["sh", "-c", line]
    }
}
