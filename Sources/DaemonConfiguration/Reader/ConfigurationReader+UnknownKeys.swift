import WireProtocol

extension ConfigurationReader {
    /// Returns what to say of a key that a mapping doesn't have, and the key of the mapping that is meant, if one is.
    ///
    /// - Parameter given: The keys that the mapping has.
    func unknown(_ key: String, in name: String, _ keys: [KeyDescription], beside given: [String]) -> (problem: String, meant: String?) {
        if let present = keys.first(where: { $0.former.contains(key) }) {
            return ("`\(key)` is now called `\(present.name)`", present.name)
        }
        let problem = "unknown key `\(key)` in \(name)"
        if let other = keys.first(where: { $0.isMeant(by: key) }) {
            return ("\(problem); did you mean `\(other.name)`?", other.name)
        }
        if let (meant, reason) = Keys.reason(why: key, isNotIn: name) {
            return ("\(problem); `\(meant)` is for \(reason)", nil)
        }
        if let place = place(of: key, in: name, keys, beside: given) { return ("\(problem); \(place)", nil) }
        let suggestion = Spelling.suggestion(for: key, among: keys.map(\.name))
        return ("\(problem); \(Spelling.hint(suggestion, among: keys.map(\.name)))", suggestion)
    }

    /// Returns where a key belongs that is at the wrong level: in a mapping around this one, or in one of those that this one has.
    private func place(of key: String, in name: String, _ keys: [KeyDescription], beside given: [String]) -> String? {
        let names = around.map(\.name) + [name]
        for (level, outer) in around.reversed().enumerated() {
            guard let found = outer.keys.first(where: { $0.isMeant(by: key) }) else { continue }
            let neighbour = names[names.count - 1 - level]
            let levels = level == 0 ? "one level up" : "\(level + 1) levels up"
            return "\(found.subject(key)) belongs \(levels), \(neighbour.hasPrefix("`") ? "beside \(neighbour)" : "in \(outer.name)")"
        }
        let inner = keys.compactMap { outer -> (name: String, found: KeyDescription)? in
            guard let found = outer.table?().rows.first(where: { $0.key.isMeant(by: key) })?.key else { return nil }
            return (outer.name, found)
        }
        let present = inner.filter { given.contains($0.name) }
        let places = present.isEmpty ? inner : present
        guard let first = places.first else { return nil }
        return "\(first.found.subject(key)) belongs one level down, in \(places.map { "`\($0.name)`" }.joined(separator: " or "))"
    }
}

extension KeyDescription {
    /// Whether a name is the key's own, its former one, or what other programs have for it.
    func isMeant(by word: String) -> Bool { Spelling.isAny(word, of: [name] + former + others) }

    /// The key in a sentence about what was written.
    fileprivate func subject(_ written: String) -> String { written == name ? "it" : "`\(name)`" }
}
