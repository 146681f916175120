import ConcurrencySupport

/// The types of errors by their names between processes.
///
/// Such a name is the readable name, which every peer can print, the former names, an at sign, and the mangled name, by which a program that
/// has the same type finds it although the message doesn't declare it.
enum ErrorTypes {
    /// The number of names that are remembered: looking one up may make a type's metadata, which is never freed, and peers must not be able
    /// to cause that without a limit.
    private static let limit = 1_024

    private struct Names {
        var known: [String: any (Error & Codable).Type] = [:]
        /// Names without a type here; forgotten when there are too many, so that one peer's don't crowd out another's.
        var unknown: Set<String> = []
    }

    private static let names = Lock(Names())

    static func wireName(of type: any (Error & Codable).Type) -> String {
        let plain = (type as? any ResponderError.Type)?.wireName ?? TypeNames.name(of: type)
        guard let mangled = _mangledTypeName(type), isHarmless(mangled), plain.utf8.count + mangled.utf8.count < limit else { return plain }
        return "\(plain)@\(mangled)"
    }

    /// Returns the readable name alone.
    static func plainName(_ wireName: String) -> String {
        WireNames.first(in: names(in: wireName))
    }

    /// Returns the readable names, in one text.
    private static func names(in wireName: String) -> String {
        wireName.lastIndex(of: "@").map { String(wireName[..<$0]) } ?? wireName
    }

    /// Returns the type among declared ones that has one of the names; present names count before former ones.
    static func type(named wireName: String, among types: [any ResponderError.Type]) -> (any ResponderError.Type)? {
        if types.isEmpty { return nil }
        let names = WireNames.all(in: Self.names(in: wireName)).map { String($0) }
        return types.first { names.contains($0.name) } ?? types.first { type in type.formerNames.contains { names.contains($0) } }
    }

    /// Returns the type, if this program has it and it's an error that can be decoded.
    static func type(named wireName: String) -> (any (Error & Codable).Type)? {
        guard let separator = wireName.lastIndex(of: "@") else { return nil }
        let mangled = String(wireName[wireName.index(after: separator)...])
        guard mangled.utf8.count < limit, isHarmless(mangled) else { return nil }
        let (known, mayLook) = names.withLock { ($0.known[mangled], $0.known.count < limit && !$0.unknown.contains(mangled)) }
        guard known == nil, mayLook else { return known }
        let type = _typeByName(mangled) as? any (Error & Codable).Type
        names.withLock { names in
            if names.unknown.count >= limit { names.unknown = [] }
            if let type { names.known[mangled] = type } else { names.unknown.insert(mangled) }
        }
        return type
    }

    /// Returns whether a mangled name is free of addresses, as bytes or digits: they stand for a private type, or for any memory that a
    /// peer chooses.
    private static func isHarmless(_ mangled: String) -> Bool {
        !mangled.isEmpty && mangled.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
    }
}
