/// Texts that are complete only when a program starts: they have a variable of the daemon's in them, or the number of an instance.
///
/// A secret that a file takes from a variable must not stand in ours. Such a part is written between two scalars that mean nothing in any text; a command
/// or a variable that has one becomes a shell's, which has what is missing, and lets the program take its place.
enum LateText {
    /// The scalars before and after what a shell replaces; they are free for private use.
    static let begin: Unicode.Scalar = "\u{F0000}"
    static let end: Unicode.Scalar = "\u{F0001}"
    /// Begins a part that was in quotes, which stays one word whatever is in it.
    static let beginInQuotes: Unicode.Scalar = "\u{F0002}"

    /// Whether a shell takes a text as the name of a variable.
    static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, !(0x30...0x39).contains(first) else { return false }
        return text.utf8.allSatisfy { $0 == 0x5F || (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) }
    }

    /// A variable, without which the program must not start.
    static func variable(_ name: String) -> String { "\(begin)${\(name)?}\(end)" }

    /// A variable that is empty where the daemon has none.
    static func optional(_ name: String) -> String { "\(begin)${\(name)-}\(end)" }

    /// Replaces `$NAME` and `${NAME}`; `$$` is a dollar, and so is one without a name behind it.
    ///
    /// - Parameter replacement: what takes the place of a variable, by its name and whether it stands in braces.
    static func opened(_ text: String, _ replacement: (_ name: String, _ isBraced: Bool) -> String) -> String {
        var result = ""
        var rest = text[...]
        while let dollar = rest.firstIndex(of: "$") {
            result += rest[..<dollar]
            rest = rest[rest.index(after: dollar)...]
            if rest.first == "$" {
                result += "$"
                rest = rest.dropFirst()
                continue
            }
            let isBraced = rest.first == "{"
            let name = isBraced ? String(rest.dropFirst().prefix { $0 != "}" }) : String(rest.prefix { isName("_\($0)") })
            guard isName(name) else {
                result += "$"
                continue
            }
            result += replacement(name, isBraced)
            rest = rest.dropFirst(name.count + (isBraced ? 2 : 0))
        }
        return result + rest
    }

    /// The number of the instance, counted from `first` and filled up with zeros to `width`.
    static func instance(from first: Int, width: Int) -> String {
        let number =
            switch first {
            case 1: "${COORDINATOR_INSTANCE}"
            case ..<1: "$((COORDINATOR_INSTANCE - \(1 - first)))"
            default: "$((COORDINATOR_INSTANCE + \(first - 1)))"
            }
        return "\(begin)\(width > 0 ? "$(printf %0\(width)d \(number))" : number)\(end)"
    }

    static func isLate(_ text: String) -> Bool { text.unicodeScalars.contains { $0 == begin || $0 == beginInQuotes } }

    /// Whether a variable is to have the value that it has in the daemon.
    static func isInherited(_ name: String, _ value: String) -> Bool { value == variable(name) || value == optional(name) }

    /// A text in double quotes, in which a shell replaces the late parts and nothing else; words that need none are without quotes.
    static func shellWord(_ text: String) -> String {
        let isPlain = { (byte: UInt8) in
            byte >= 0x2B && byte <= 0x3A || byte >= 0x40 && byte <= 0x5A || byte == 0x5F || byte >= 0x61 && byte <= 0x7A
        }
        if !text.isEmpty, text.utf8.allSatisfy(isPlain) { return text }
        let scalars = text.unicodeScalars
        // A variable that is a word by itself may be several, as where it's replaced before the words are told apart.
        if scalars.first == begin, scalars.dropFirst().firstIndex(of: end) == scalars.index(before: scalars.endIndex) {
            return String(String.UnicodeScalarView(scalars.dropFirst().dropLast()))
        }
        var word = ""
        var isShell = false
        for scalar in text.unicodeScalars {
            switch scalar {
            case begin, beginInQuotes: isShell = true
            case end: isShell = false
            case "\"", "\\", "$", "`": word += isShell ? String(scalar) : "\\\(scalar)"
            default: word.unicodeScalars.append(scalar)
            }
        }
        return "\"\(word)\""
    }

    /// Returns a command and its variables as the daemon's file can have them.
    ///
    /// - Parameter redirection: what the shell does beside it, such as `0<&3`.
    static func resolved(
        _ command: [String],
        _ variables: [String: String],
        redirection: String? = nil
    ) -> (command: [String], variables: [String: String]) {
        let late = variables.filter { isLate($0.value) }
        let set = late.filter { !isInherited($0.key, $0.value) }
        guard !set.isEmpty || command.contains(where: isLate) || redirection != nil else {
            return (command, variables.filter { late[$0.key] == nil })
        }
        let exports = set.sorted { $0.key < $1.key }.map {
            "export \($0.key)=\(shellWord($0.value.replacing(String(begin), with: String(beginInQuotes)))); "
        }.joined()
        let isSplit = command.contains { shellWord($0).hasPrefix("${") }
        let words = (command.map(shellWord) + [redirection].compactMap(\.self)).joined(separator: " ")
        return (["sh", "-c", "\(isSplit ? "set -f; " : "")\(exports)exec \(words)"], variables.filter { late[$0.key] == nil })
    }
}
