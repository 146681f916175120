/// What an operator may do with a daemon; each role may do what those before it may.
public enum OperatorRole: String, Codable, CaseIterable, Comparable, Sendable {
    /// Looks: at the tree, its processes, logs, events and numbers.
    case observe
    /// Starts, stops, signals and moves what the configuration has, and sends messages.
    case operate
    /// Changes what the daemon runs, and ends it: of a daemon of root the role of root itself.
    case administer

    /// Whether a role may do less than another one.
    public static func < (left: OperatorRole, right: OperatorRole) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .observe: 0
        case .operate: 1
        case .administer: 2
        }
    }
}
