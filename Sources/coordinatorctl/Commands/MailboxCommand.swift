import ArgumentParser
import Control
import WireProtocol

/// The command `mailbox PATH`.
struct MailboxCommand: PathsCommand {
    static let configuration = CommandConfiguration(
        commandName: "mailbox",
        abstract: "Show the messages that wait and run at a coordinator and its descendants.",
        discussion: """
            WAITING counts the messages that wait for the coordinator, OLDEST is the time for which the oldest of them has waited, RUNNING counts \
            those whose handlers have begun, STUCK those of them that run on past their cancellation, HANDLED those that the present life has \
            handled. A dash means that the number isn't known: the \
            process doesn't answer, or is a program.
            """
    )

    static let coversDescendants = false

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @OptionGroup var selection: PathArguments

    func operation(on path: String) -> ControlOperation { .status(path: path) }

    func text(of answer: TreeNode) -> String {
        let rows = answer.subtree.map { node -> [String] in
            let mailbox = node.mailbox
            return [
                TextLayout.printable(node.path), mailbox.map { "\($0.waiting)" } ?? "-",
                mailbox?.oldestWaitingMilliseconds.map { Duration.milliseconds($0).briefText } ?? "-",
                mailbox.map { "\($0.running)" } ?? "-", mailbox.map { "\($0.stuck ?? 0)" } ?? "-",
                mailbox.map { "\($0.handled)" } ?? "-", node.state,
            ]
        }
        let header = ["PATH", "WAITING", "OLDEST", "RUNNING", "STUCK", "HANDLED", "STATE"]
        return TextLayout.table([header] + rows, [.left, .right, .right, .right, .right, .right, .left])
    }
}
