package import Processes
import WireProtocol

/// An operation that an operator can request of a daemon, said once: its name, its arguments, its role and what it does.
///
/// From ``about`` come its form on the wire, the role that it needs, how the daemon records it and passes it on, the patience of clients, the
/// command's help, and the console's addresses. The daemon's handler of it is required by the compiler, see ``ControlOperation/all``.
package protocol DescribedOperation: Hashable, Sendable {
    /// The result's type; of a stream, that of its items.
    associatedtype Answer: Codable & Sendable

    /// The description.
    static var about: OperationDescription<Self> { get }

    /// One line for people, as the help of `coordinatorctl` has it; empty of an operation without a command.
    static var summary: String { get }
    /// What else people must know.
    static var details: String { get }

    /// The role that an operator needs for the operation with these arguments; by default that of the description.
    var role: OperatorRole { get }
    /// What the operation with these arguments does; by default what the description says.
    var traits: OperationTraits { get }
    /// The time that a client waits for the answer when the caller gives no time-out; by default that of the description.
    ///
    /// nil: it waits as long as the daemon answers questions, since the operation takes the times of the children that it's about.
    var patience: Duration? { get }
}

/// What an operation does, as far as those who carry it must know.
package struct OperationTraits: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// It can change something, so that its effect differs when it is carried out twice.
    package static let changes = OperationTraits(rawValue: 1)
    /// Its answer is a stream of items, of any length, which a result ends.
    package static let streams = OperationTraits(rawValue: 2)
    /// It looks at many coordinators, at a cost in proportion.
    package static let describes = OperationTraits(rawValue: 4)
    /// It looks at what one node of a cluster has as a whole, so that another node can be asked for it.
    package static let asksNode = OperationTraits(rawValue: 8)
    /// It's carried out by the node of the cluster that has what it's about.
    package static let goesToOwner = OperationTraits(rawValue: 16)
    /// It's a message to a coordinator, which waits for the next life of what it's for.
    package static let message = OperationTraits(rawValue: 32)
    /// What is done to a path is done to its descendants.
    package static let coversDescendants = OperationTraits(rawValue: 64)
}

/// The description of an operation, from which all else that is said of it comes.
package struct OperationDescription<Operation: DescribedOperation>: Sendable {
    /// The operation's name on the wire.
    package let name: String
    let role: OperatorRole
    let traits: OperationTraits
    let patience: Duration?
    let blank: Operation
    let arguments: [OperationArgument<Operation>]

    /// Creates a description.
    ///
    /// - Parameters:
    ///   - blank: The operation without arguments.
    ///   - arguments: The arguments, in the order in which they are read: the first that is wrong is named.
    init(
        _ blank: Operation,
        _ name: String,
        _ role: OperatorRole,
        does traits: OperationTraits = [],
        patience: Duration? = .seconds(10),
        _ arguments: OperationArgument<Operation>...
    ) {
        (self.blank, self.name, self.role, self.traits, self.patience) = (blank, name, role, traits, patience)
        self.arguments = arguments
    }
}

extension DescribedOperation {
    package static var summary: String { "" }
    package static var details: String { "" }
    package var role: OperatorRole { Self.about.role }
    package var traits: OperationTraits { Self.about.traits }
    package var patience: Duration? { Self.about.patience }

    /// The operation's name on the wire.
    package static var name: String { about.name }

    /// What operations of this type do at most.
    package static var traits: OperationTraits { about.traits }

    /// Returns the operation on a path, its only argument but the life that is meant.
    ///
    /// - Parameter life: The number of that life; nil: whichever it is, as with every operation that isn't a change of a lifecycle.
    package static func at(_ path: String, life: UInt64? = nil) -> ControlOperation {
        var operation = about.blank
        if let property = about.arguments.lazy.compactMap(\.path).first { operation[keyPath: property] = path }
        if let property = about.arguments.lazy.compactMap(\.life).first { operation[keyPath: property] = life }
        return ControlOperation(operation)
    }

    /// The fields of a request that describe the operation: its name and its arguments.
    var fields: [String: JSONValue] {
        Self.about.arguments.reduce(into: ["op": .string(Self.name)]) { $0[$1.name] = $1.write(self) }
    }

    /// Reads the operation of a request; skips unknown fields, so that later versions can add some.
    static func read(_ fields: RequestFields) throws(ControlError) -> ControlOperation {
        var operation = about.blank
        for argument in about.arguments { try argument.read(&operation, fields) }
        return ControlOperation(operation)
    }

    /// The path that the operation is about; nil when it is about the daemon as a whole.
    var subject: String? { Self.about.arguments.first { $0.name == "path" }?.write(self)?.stringValue }

    /// The paths that an operator names in the arguments.
    var operands: [String] { Self.about.arguments.lazy.compactMap(\.operands).first?.get(self) ?? [] }

    /// Returns the operation on other paths: one that takes a list, or one for each.
    func on(paths: [String]) -> [ControlOperation] {
        guard let operands = Self.about.arguments.lazy.compactMap(\.operands).first else { return [ControlOperation(self)] }
        return (operands.isList ? [paths] : paths.map { [$0] }).map { paths in
            var operation = self
            operands.set(&operation, paths)
            return ControlOperation(operation)
        }
    }

    /// The time for which the requester waits for a coordinator's reply; nil of all but a message that has one.
    var replyTimeout: Duration? { Self.about.arguments.lazy.compactMap(\.replyTimeout).first.map { self[keyPath: $0] } }

    /// The number of the life that is meant; nil: whichever it is.
    var meantLife: UInt64? { Self.about.arguments.lazy.compactMap(\.life).first.flatMap { self[keyPath: $0] } }

    func limited(to time: Duration) -> ControlOperation {
        var operation = self
        if let timeout = Self.about.arguments.lazy.compactMap(\.replyTimeout).first { operation[keyPath: timeout] = time }
        return ControlOperation(operation)
    }

    func isEqual(to other: any DescribedOperation) -> Bool { (other as? Self) == self }
}

/// The types of all operations, for functions that need something of each: a type that hasn't what such a function requires doesn't compile.
package struct OperationList<each Operation: DescribedOperation>: Sendable {
    var types: [any DescribedOperation.Type] {
        var types: [any DescribedOperation.Type] = []
        repeat types.append((each Operation).self)
        return types
    }
}
