import DaemonConfiguration

/// A value of the daemon's file that is to be written.
indirect enum ImportedValue {
    case text(String)
    /// A number, a duration, a size or a word of the daemon's own, written as it is.
    case word(String)
    case list([ImportedValue])
    case mapping([(String, ImportedValue)])

    static func words(_ words: [String]) -> ImportedValue { .list(words.map { .text($0) }) }

    static func variables(_ variables: [String: String]) -> ImportedValue {
        .mapping(variables.sorted { $0.key < $1.key }.map { ($0.key, .text($0.value)) })
    }

    /// A time in milliseconds.
    static func time(_ milliseconds: Int) -> ImportedValue {
        .word(milliseconds % 1_000 == 0 ? "\(milliseconds / 1_000)s" : "\(milliseconds)ms")
    }

    /// A size of a log file: the least that the daemon rotates is 16 KiB; 0 is never.
    static func logSize(_ bytes: Int) -> ImportedValue {
        guard bytes > 0 else { return .word("0") }
        let kib = max(16, (min(bytes, 1 << 52) + 1_023) / 1_024)
        return .word(kib % 1_024 == 0 && kib / 1_024 < 1_000_000_000 ? "\(kib / 1_024)MiB" : "\(min(kib, 999_999_999))KiB")
    }

    /// The value as one of a child with instances, in which `{instance}` is their number: it means itself here.
    var withoutInstance: ImportedValue {
        switch self {
        case .word: self
        case .text(let text): .text(text.replacing("{instance}", with: "{{instance}}"))
        case .list(let values): .list(values.map(\.withoutInstance))
        case .mapping(let members): .mapping(members.map { ($0, $1.withoutInstance) })
        }
    }

    /// The value in YAML's flow style.
    var yaml: String {
        switch self {
        case .word(let word): word
        case .text(let text): Self.isPlain(text) ? text : Self.quoted(text)
        case .list(let values): "[\(values.map(\.yaml).joined(separator: ", "))]"
        case .mapping(let members): "{ \(members.map { "\(ImportedValue.text($0).yaml): \($1.yaml)" }.joined(separator: ", ")) }"
        }
    }

    /// Whether a text means itself without quotes, in every version of YAML.
    private static func isPlain(_ text: String) -> Bool {
        let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
        guard let first = text.utf8.first, !words.contains(text.lowercased()) else { return false }
        let isLetter = { (byte: UInt8) in (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x5F || byte == 0x2F }
        let isInner = { (byte: UInt8) in isLetter(byte) || (0x30...0x39).contains(byte) || byte == 0x2E || byte == 0x2D }
        return isLetter(first) && text.utf8.allSatisfy(isInner)
    }

    private static func quoted(_ text: String) -> String {
        let inner = text.unicodeScalars.map { scalar in
            switch scalar {
            case "\"": "\\\""
            case "\\": "\\\\"
            case "\n": "\\n"
            case "\t": "\\t"
            default:
                if scalar.properties.generalCategory == .control || scalar.value == 0x2028 || scalar.value == 0x2029
                    || scalar.value == 0xFEFF
                {
                    "\\u" + String(repeating: "0", count: 4 - String(scalar.value, radix: 16).count) + String(scalar.value, radix: 16)
                } else {
                    String(scalar)
                }
            }
        }
        return "\"\(inner.joined())\""
    }
}

/// The words for truth in files of other supervisors.
enum Truth {
    static func isTrue(_ value: String?) -> Bool { ["true", "yes", "on", "1", "t", "y"].contains(value?.lowercased() ?? "") }
    static func isFalse(_ value: String?) -> Bool { ["false", "no", "off", "0", "f", "n"].contains(value?.lowercased() ?? "") }
}

/// The signals that other files name, by name or by number.
enum SignalName {
    private static let names: [Int: String] = [
        1: "HUP", 2: "INT", 3: "QUIT", 6: "ABRT", 9: "KILL", 10: "USR1", 12: "USR2", 14: "ALRM", 15: "TERM", 28: "WINCH", 30: "PWR",
    ]

    /// Returns the name that the daemon's file has for a signal; nil: it has none.
    static func read(_ text: String) -> String? {
        let upper = text.uppercased()
        let name = Int(upper).map { names[$0] ?? "" } ?? (upper.hasPrefix("SIG") ? String(upper.dropFirst(3)) : upper)
        return KnownKeys.has("stop_signal", in: "program", taking: name) ? name : nil
    }
}
