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
            handled. FOR says what messages wait for: a handler, a dependency, the next life, credit of the process, a member of the pool, the \
            opening of a child, its start after an adoption, or a node of the cluster; and those for the parent, which the process has still to send, and \
            which WAITING doesn't count. A dash means that the number isn't known: the \
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
                mailbox.map { "\($0.handled)" } ?? "-", node.state, mailbox?.placesText ?? "",
            ]
        }
        let header = ["PATH", "WAITING", "OLDEST", "RUNNING", "STUCK", "HANDLED", "STATE", "FOR"]
        return TextLayout.table([header] + rows, [.left, .right, .right, .right, .right, .right, .left, .left])
    }
}
