import ConcurrencySupport
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
