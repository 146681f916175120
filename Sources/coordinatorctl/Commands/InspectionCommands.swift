import ArgumentParser
import Control

/// The command `tree`.
struct TreeCommand: DaemonCommand {
    static let configuration = CommandConfiguration(commandName: "tree", abstract: "Show the tree of coordinators and programs.")

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions

    func operation() -> ControlOperation { .tree }

    func text(of answer: TreeNode) -> String { answer.text }
}

/// The command `ps`.
struct ProcessesCommand: DaemonCommand {
    static let configuration = CommandConfiguration(commandName: "ps", abstract: "Show the processes.")

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions

    func operation() -> ControlOperation { .ps }

    func text(of answer: ProcessList) -> String { answer.text }
}

/// The command `status PATH`.
struct StatusCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show one coordinator or program and its descendants.",
        discussion: """
            Exits with 0 when it is active or paused, with 3 in every other state (such as starting, restarting, stopping or \
            unresponsive), with 4 when no coordinator or program has the path.
            """
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Argument(help: .path) var path: String

    func operation() -> ControlOperation { .status(path: path) }

    func text(of answer: TreeNode) -> String { answer.details }

    func exitCode(of answer: TreeNode) -> Int32 {
        answer.isServing ? 0 : ControlError.Code.notRunning.exitCode
    }
}

/// The command `dead-letters`.
struct DeadLettersCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters",
        abstract: "Show the messages and events that were dropped, and why."
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions

    func operation() -> ControlOperation { .deadLetters }

    func text(of answer: DeadLetterList) -> String { answer.text }
}

extension ArgumentHelp {
    static let path = ArgumentHelp("The path in the tree, such as /shop/cart.")
}
