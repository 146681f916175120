import ConcurrencySupport
import Glibc
import WireProtocol

/// A type that processes know by its name: a message, or an error that responders throw.
///
/// Within one process the type itself counts. Between processes, which may run different builds, only its names do.
public protocol WireNamed: Sendable {
    /// The name of the type between processes: by default the type's name without its module.
    static var name: String { get }
    /// The names of the type in builds that may still run, the latest first; none by default.
    ///
    ///     enum Cart { struct Add: ResponderMessage { static let formerNames = ["Cart.AddItem"]; … } }
    ///
    /// The type is found by each of its names: a build that knows only a former one understands this build's messages and errors, and this
    /// build understands that one's. A name that an earlier build used can be removed when no process runs that build any more.
    static var formerNames: [String] { get }
}

extension WireNamed {
    /// The type's name without its module.
    public static var name: String { TypeNames.name(of: Self.self) }
    /// The default: the type has always had its name.
    public static var formerNames: [String] { [] }

    /// All names in the form in which they go over a link.
    static var wireName: String { formerNames.isEmpty ? name : WireNames.combined(for: Self.self) }

    /// All names, the present one first.
    static var names: [String] { [name] + formerNames }
}

/// The text that identifies a type between processes: its name, followed by its former names, with a separator before each of them.
///
/// A process on the way passes the text on unchanged, so that each coordinator can look up all the names, whatever build it's of.
enum WireNames {
    private static let separator: Character = "|"

    /// The bytes of a text that a link takes.
    static let limit = FrameLimits.default.maximumNameLength

    /// The texts of the types that have former names.
    private static let combined = Lock<[ObjectIdentifier: String]>([:])

    fileprivate static func combined(for type: any WireNamed.Type) -> String {
        let key = ObjectIdentifier(type)
        if let known = combined.withLock({ $0[key] }) { return known }
        let text = type.names.joined(separator: String(separator))
        combined.withLock { $0[key] = text }
        return text
    }

    /// Returns whether a text has former names.
    static func areSeveral(in text: String) -> Bool { text.utf8.contains(separator.asciiValue!) }

    /// Returns the names in a text, the present one first.
    static func all(in text: String) -> [Substring] { text.split(separator: separator) }

    /// Returns the first name in a text.
    static func first(in text: String) -> String {
        areSeveral(in: text) ? String(text.prefix { $0 != separator }) : text
    }

    /// Returns whether a name can be one of several in a text.
    static func isAllowed(_ name: String) -> Bool { !name.isEmpty && !areSeveral(in: name) && !name.contains("@") }
}

// MARK: - Names of types

/// Type names without their module, computed once for each type.
enum TypeNames {
    private static let names = Lock<[ObjectIdentifier: String]>([:])

    static func name(of type: any Any.Type) -> String {
        let key = ObjectIdentifier(type)
        if let known = names.withLock({ $0[key] }) { return known }
        // What `String(reflecting:)` gives, which first searches all conformances of the program for those of the metatype: a third of a
        // million instructions for each.
        let full = withoutAddresses(_typeName(type, qualified: true))
        let name = full.firstIndex(of: ".").map { String(full[full.index(after: $0)...]) } ?? full
        names.withLock { $0[key] = name }
        return name
    }

    /// Returns what an error adds about a name that isn't known: nothing, unless the name is that of a private type.
    static func advice(on name: String) -> String {
        guard name.contains("(private ") || name.contains("(unknown context at $") else { return "" }
        return "; the type is private, and programs of other builds don't know its name: make it internal, or give it a `static let name`"
    }

    /// Replaces the addresses in a private type's name, which Swift makes from the place of its file's context in memory, different in each
    /// process.
    ///
    /// The offset in the program's file is the same in all processes that run the program, so it takes the address's place.
    private static func withoutAddresses(_ name: String) -> String {
        guard name.utf8.contains(UInt8(ascii: "$")) else { return name }
        let opening = "(unknown context at $"
        var result = ""
        var rest = name[...]
        while let range = rest.firstRange(of: opening) {
            result += rest[..<range.lowerBound]
            rest = rest[range.upperBound...]
            let digits = rest.prefix { $0.isHexDigit }
            if let offset = UInt(digits, radix: 16).flatMap(offset), rest.dropFirst(digits.count).first == ")" {
                result += "(private \(String(offset, radix: 16)))"
                rest = rest.dropFirst(digits.count + 1)
            } else {
                result += opening
            }
        }
        return result + rest
    }

    /// Returns the offset of an address in the file of its program or library (proc_pid_maps(5)).
    private static func offset(of address: UInt) -> UInt? {
        guard let maps = fopen("/proc/self/maps", "re") else { return nil }
        defer { fclose(maps) }
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        while getline(&line, &capacity, maps) >= 0, let text = line.map({ String(cString: $0) }) {
            // 55e6a1e2a000-55e6a1e2c000 r-xp 00002000 fd:01 1234 /usr/bin/shop
            let fields = text.split(separator: " ", maxSplits: 3)
            let bounds = fields.first?.split(separator: "-").compactMap { UInt($0, radix: 16) } ?? []
            guard bounds.count == 2, fields.count > 2, (bounds[0]..<bounds[1]).contains(address) else { continue }
            return UInt(fields[2], radix: 16).map { address - bounds[0] + $0 }
        }
        return nil
    }
}

extension String {
    /// The beginning of the text, of a kilobyte at most.
    var shortened: String { utf8.count <= 1_024 ? self : String(decoding: utf8.prefix(1_021), as: UTF8.self) + "…" }
}

extension String {
    /// Whether the name of a message begins with the components of a prefix, whether a dot follows them in it or not.
    func hasComponents(_ prefix: String) -> Bool {
        guard hasPrefix(prefix) else { return false }
        let rest = utf8.dropFirst(prefix.utf8.count)
        return prefix.isEmpty || rest.isEmpty || prefix.utf8.last == UInt8(ascii: ".") || rest.first == UInt8(ascii: ".")
    }
}
