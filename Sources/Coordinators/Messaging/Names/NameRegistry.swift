import ConcurrencySupport

/// The names that the tables of this process's coordinators use between processes: each stands for one type.
enum NameRegistry {
    /// A kind of types, whose names are apart from those of the other kinds.
    private enum Kind { case message, error }

    private struct Claim {
        let type: ObjectIdentifier
        let description: String
        let isFormer: Bool
    }

    private struct Key: Hashable {
        let kind: Kind
        let name: String
    }

    private static let claims = Lock<[Key: Claim]>([:])

    /// Adds a message's names, and those of the errors that it declares.
    ///
    /// - Returns: The reasons, in words, why the type can't be used under its names; none as a rule.
    static func add<M: ResponderMessage>(_ message: M.Type) -> [String] {
        guard M.wireName.utf8.count <= WireNames.limit else {
            return ["the names of \(_typeName(message, qualified: true)) have more than \(WireNames.limit) bytes together: shorten them"]
        }
        return problems(.message, message) + M.errorTypes.flatMap { problems(.error, $0) }
    }

    private static func problems(_ kind: Kind, _ type: any WireNamed.Type) -> [String] {
        var seen: Set<String> = []
        return type.names.enumerated().compactMap { index, name in
            guard seen.insert(name).inserted else { return nil }
            return problem(kind, name, isFormer: index > 0, type)
        }
    }

    private static func problem(_ kind: Kind, _ name: String, isFormer: Bool, _ type: any WireNamed.Type) -> String? {
        let description = _typeName(type, qualified: true)
        let what = isFormer ? "the former name" : "the name"
        guard WireNames.isAllowed(name) else {
            return "\(what) '\(name)' of \(description) is empty, or has a '|' or an '@' in it: choose another"
        }
        guard !isFormer || !Builtins.isName(name) else {
            return "\(what) '\(name)' of \(description) is the runtime's own: names that begin with \(Builtins.prefix) are"
        }
        let claim = Claim(type: ObjectIdentifier(type), description: description, isFormer: isFormer)
        let holder = claims.withLock { claims -> Claim in
            let key = Key(kind: kind, name: name)
            if let holder = claims[key] { return holder }
            claims[key] = claim
            return claim
        }
        guard holder.type != claim.type else { return nil }
        let other = holder.isFormer ? "a former name" : "the name"
        return
            "\(what) '\(name)' of \(description) is also \(other) of \(holder.description): give one of the types another `name`, or remove "
            + "the former name"
    }
}
