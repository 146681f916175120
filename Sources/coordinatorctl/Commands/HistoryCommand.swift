import ArgumentParser
import Control

/// The command `history PATH`.
struct HistoryCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        of: ControlOperation.History.self,
        discussion: "The daemon keeps the last 32 lives of each process. Coordinators that live in their parents' processes have none."
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Argument(help: .path, completion: .livePaths) var path: String

    func operation() -> ControlOperation { .history(path: path) }

    func text(of answer: LifeHistory) -> String { answer.text }
}
