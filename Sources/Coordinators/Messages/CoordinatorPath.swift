/// A place in the tree: `/` is the root, `/shop/cart` its grandchild.
public struct CoordinatorPath: Sendable, Hashable, Codable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// The path as text.
    public let description: String

    /// The root.
    public static let root = CoordinatorPath(unchecked: "/")

    private init(unchecked text: String) { description = text }

    /// Reads a path; `nil` unless it begins with a slash and has no empty component.
    ///
    /// A slash at the end is ignored.
    public init?(_ text: String) {
        guard text.hasPrefix("/") else { return nil }
        if text == "/" {
            self = .root
            return
        }
        // Every message that arrives from another process names its sender, so that this takes no memory.
        var former = UInt8(ascii: "x")
        for byte in text.utf8 {
            guard byte != UInt8(ascii: "/") || byte != former else { return nil }
            former = byte
        }
        description = former == UInt8(ascii: "/") ? String(text.dropLast()) : text
    }

    /// Creates a path from a literal.
    ///
    /// A literal that isn't a path is a mistake in the program, and traps.
    public init(stringLiteral text: String) {
        guard let path = CoordinatorPath(text) else {
            preconditionFailure("'\(text)' is no path: it must begin with a slash and have no empty component")
        }
        self = path
    }

    /// Reads the path's text.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let path = CoordinatorPath(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "'\(text)' is no path: it must begin with a slash")
        }
        self = path
    }

    /// Writes the path's text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }

    /// Whether this is the root.
    public var isRoot: Bool { description == "/" }

    /// The keys from the root down.
    public var components: [Substring] { description.split(separator: "/") }

    /// The last key; empty for the root.
    public var key: String {
        var text = description
        return text.withUTF8 { bytes in
            guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return "" }
            return String(decoding: UnsafeBufferPointer(rebasing: bytes[(slash + 1)...]), as: UTF8.self)
        }
    }

    /// The path of the parent; `nil` for the root.
    public var parent: CoordinatorPath? {
        guard !isRoot, let slash = description.lastIndex(of: "/") else { return nil }
        return slash == description.startIndex ? .root : CoordinatorPath(unchecked: String(description[..<slash]))
    }

    /// Returns the path of a child.
    public func appending(_ key: String) -> CoordinatorPath {
        CoordinatorPath(unchecked: isRoot ? "/\(key)" : "\(description)/\(key)")
    }

    /// The longest key, and the longest path, in bytes of UTF-8: limits that hold in every process of the tree.
    static let keyLimit = 255
    static let limit = 1_024

    /// Checks that a child may have a key.
    ///
    /// - Throws: `invalidKey`.
    func check(_ key: String) throws(CoordinatorError) {
        // The category of a printable ASCII character needs no look-up.
        var (hasSlash, isPlain) = (false, true)
        for byte in key.utf8 {
            if byte == UInt8(ascii: "/") { hasSlash = true }
            if byte < 0x20 || byte > 0x7e { isPlain = false }
        }
        guard !key.isEmpty, !hasSlash else {
            throw CoordinatorError(.invalidKey, "'\(key)' is not a key: give one that is not empty and has no slash")
        }
        guard isPlain || !key.unicodeScalars.contains(where: \.disturbsLines) else {
            throw CoordinatorError(.invalidKey, "\(key.debugDescription) is not a key: give one without control characters")
        }
        // Such a key and the slash beside it would be one character, so that its path would be split elsewhere.
        guard isPlain || "/\(key)/".first == "/" && "/\(key)/".last == "/" else {
            throw CoordinatorError(
                .invalidKey,
                "\(key.debugDescription) is not a key: give one whose first and last characters don't combine with what is beside them"
            )
        }
        guard key.utf8.count <= Self.keyLimit else {
            throw CoordinatorError(
                .invalidKey,
                "'\(key.prefix(32))…' is no key: it has \(key.utf8.count) bytes, more than \(Self.keyLimit)"
            )
        }
        let size = description.utf8.count + key.utf8.count + (isRoot ? 0 : 1)
        guard size <= Self.limit else {
            throw CoordinatorError(.invalidKey, "'\(key)' is too deep: its path has \(size) bytes, more than \(Self.limit)")
        }
    }

    /// Returns whether this path is `other` or lies below it.
    public func isWithin(_ other: CoordinatorPath) -> Bool {
        if other.isRoot || self == other { return true }
        let (own, outer) = (description.utf8, other.description.utf8)
        // Each message's sender is compared, so that the usual case takes no long. Texts that aren't ASCII may be equal though their bytes
        // differ.
        if own.count > outer.count, own[own.index(own.startIndex, offsetBy: outer.count)] == UInt8(ascii: "/"), own.starts(with: outer) {
            return true
        }
        guard own.contains(where: { $0 >= 0x80 }) else { return false }
        return description.hasPrefix(other.description) && description.dropFirst(other.description.count).first == "/"
    }

    /// Returns the keys from `ancestor` down to this path; `nil` when `ancestor` is none.
    func components(below ancestor: CoordinatorPath) -> ArraySlice<Substring>? {
        isWithin(ancestor) ? components.dropFirst(ancestor.components.count) : nil
    }
}

extension Unicode.Scalar {
    /// Whether the character would break a line of a log, or have what follows shown in another order.
    fileprivate var disturbsLines: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: properties.isBidiControl
        }
    }
}

extension CoordinatorPath {
    /// The path, or the root's if the path is longer than any that can exist.
    var shortened: CoordinatorPath { description.utf8.count <= Self.limit ? self : .root }

    func appending(_ keys: ArraySlice<Substring>) -> CoordinatorPath {
        keys.reduce(self) { $0.appending(String($1)) }
    }
}
