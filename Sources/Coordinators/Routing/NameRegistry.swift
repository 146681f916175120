import ConcurrencySupport
import Synchronization
import WireProtocol

/// The names that the tables of a tree's coordinators use between processes: in each process, a name stands for one type.
///
/// Trees that share a process, as those of tests do, have registries of their own.
final class NameRegistry: Sendable {
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

    private static let count = Atomic<UInt64>(0)

    /// The number by which a coordinator's type knows the registry that it was checked by last.
    private let number = NameRegistry.count.add(1, ordering: .relaxed).newValue
    private let claims = Lock<[Key: Claim]>([:])

    /// Checks that the names of a coordinator's messages, and of their errors, stand for no other types, and that messages that coalesce can
    /// be compared.
    func check(_ coordinator: CoordinatorType) throws(CoordinatorError) {
        if coordinator.isChecked(by: number) { return }
        for message in coordinator.table.messages where message.coalesces && !(message is any Hashable.Type) {
            throw CoordinatorError(.unsupported, "\(coordinator.name) can't be started: \(SharedAsks.Key.refusal(of: message))")
        }
        if let problem = add(coordinator.table.messages).first {
            throw CoordinatorError(.invalidName, "\(coordinator.name) can't be started: \(problem)")
        }
        coordinator.noteCheck(by: number)
    }

    /// Adds messages' names, and those of the errors that they declare, unless there are problems.
    ///
    /// - Returns: The reasons, in words, why the types can't be used under their names; none as a rule.
    func add(_ messages: [any ResponderMessage.Type]) -> [String] {
        claims.withLock { claims in
            var after = claims
            let problems = messages.flatMap { Self.problems(of: $0, &after) }
            if problems.isEmpty { claims = after }
            return problems
        }
    }

    private static func problems<M: ResponderMessage>(of message: M.Type, _ claims: inout [Key: Claim]) -> [String] {
        guard M.wireName.utf8.count <= WireNames.limit else {
            return ["the names of \(_typeName(message, qualified: true)) have more than \(WireNames.limit) bytes together: shorten them"]
        }
        var problems = problems(.message, message, &claims)
        for error in M.errorTypes { problems += Self.problems(.error, error, &claims) }
        return problems
    }

    private static func problems(_ kind: Kind, _ type: any WireNamed.Type, _ claims: inout [Key: Claim]) -> [String] {
        var seen: Set<String> = []
        var problems: [String] = []
        for (index, name) in type.names.enumerated() where seen.insert(name).inserted {
            if let problem = problem(kind, name, isFormer: index > 0, type, &claims) { problems.append(problem) }
        }
        return problems
    }

    private static func problem(
        _ kind: Kind,
        _ name: String,
        isFormer: Bool,
        _ type: any WireNamed.Type,
        _ claims: inout [Key: Claim]
    ) -> String? {
        let description = _typeName(type, qualified: true)
        let what = isFormer ? "the former name" : "the name"
        guard WireNames.isAllowed(name) else {
            return "\(what) '\(name)' of \(description) is empty, or has a '|' or an '@' in it: choose another"
        }
        guard !isFormer || !Builtins.isName(name) else {
            return "\(what) '\(name)' of \(description) is the runtime's own: names that begin with \(ReservedName.prefix) are"
        }
        let claim = Claim(type: ObjectIdentifier(type), description: description, isFormer: isFormer)
        let key = Key(kind: kind, name: name)
        guard let holder = claims[key] else {
            claims[key] = claim
            return nil
        }
        guard holder.type != claim.type else { return nil }
        let other = holder.isFormer ? "a former name" : "the name"
        return
            "\(what) '\(name)' of \(description) is also \(other) of \(holder.description): give one of the types another `name`, or remove "
            + "the former name"
    }
}
