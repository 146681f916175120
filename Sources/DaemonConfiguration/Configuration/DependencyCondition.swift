/// What a child waits for before it is started after another one.
public enum DependencyCondition: String, Codable, Hashable, Sendable, CaseIterable {
    /// The other child is ready.
    case ready
    /// The health of the other child, a program, has been checked with success since it was ready.
    case healthy
    /// The other child, which runs once, has ended with exit code 0, or another one of its `exit_codes`.
    case completed
}

/// The children after which one is started, as `after` and `requires` have them.
public struct DependencyList: Hashable, Sendable {
    /// The keys of siblings, and the paths of any children, in the file's order.
    public var names: [String]
    /// The conditions that the file has; where it has none, the kind of the child decides.
    public var conditions: [String: DependencyCondition]

    /// Creates a list.
    public init(names: [String] = [], conditions: [String: DependencyCondition] = [:]) {
        self.names = names
        self.conditions = conditions
    }
}

extension ConfiguredChild {
    var afterList: DependencyList {
        get { list(after) }
        set {
            after = newValue.names
            conditions.merge(newValue.conditions) { $1 }
        }
    }

    var requiresList: DependencyList {
        get { list(requires) }
        set {
            requires = newValue.names
            conditions.merge(newValue.conditions) { $1 }
        }
    }

    private func list(_ names: [String]) -> DependencyList {
        DependencyList(names: names, conditions: conditions.filter { names.contains($0.key) })
    }

    /// Whether the child is a program that runs once.
    public var isOneshot: Bool { if case .program(let program) = content { program.isOneshot } else { false } }

    /// The conditions that another child may have on this one; the first one holds where the file says nothing.
    public var possibleConditions: [DependencyCondition] {
        guard case .program(let program) = content else { return [.ready] }
        if program.isOneshot { return [.completed] }
        return program.settings.health == nil ? [.ready] : [.ready, .healthy]
    }
}

/// What follows for the daemon from a child's end.
public enum EndResponse: String, Codable, Hashable, Sendable, CaseIterable {
    /// The others go on.
    case nothing
    /// The daemon shuts down in order, and ends with the child's exit code, or with 128 and the number of its signal.
    case endDaemon = "end_daemon"
}
