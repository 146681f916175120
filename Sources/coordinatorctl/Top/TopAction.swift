import Control

/// What an operator does to a row of `top`.
enum TopAction: CaseIterable {
    case start, stop, restart

    /// The key: a capital letter, so that a slip of the finger only looks.
    var key: Character {
        switch self {
        case .start: "U"
        case .stop: "S"
        case .restart: "R"
        }
    }

    /// Whether processes end by it, so that the user is asked before.
    var endsProcesses: Bool { self != .start }

    /// The verb for people.
    var name: String {
        switch self {
        case .start: "start"
        case .stop: "stop"
        case .restart: "restart"
        }
    }

    /// What is said while it goes on.
    var progress: String {
        switch self {
        case .start: "starting"
        case .stop: "stopping"
        case .restart: "restarting"
        }
    }

    func operation(on path: String) -> ControlOperation {
        switch self {
        case .start: .start(path: path)
        case .stop: .stop(path: path)
        case .restart: .restart(path: path)
        }
    }
}

/// An action on one path.
struct TopRequest: Hashable {
    var action: TopAction
    var path: String
}

/// What is said of actions in the last line.
struct TopNotice: Equatable {
    var text: String
    var isFailure = false
}
