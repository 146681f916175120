import ArgumentParser
import Control

/// The command `history PATH`.
struct HistoryCommand: PathsCommand {
    static let configuration = CommandConfiguration(
        of: ControlOperation.History.self,
        discussion: "The daemon keeps the last 32 lives of each process. Coordinators that live in their parents' processes have none."
    )

    static let coversDescendants = false

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @OptionGroup var selection: PathArguments

    func operation(on path: String) -> ControlOperation { .history(path: path) }

    func text(of answer: LifeHistory) -> String { answer.text }

    func complete(_ outcomes: inout [PathOutcome<LifeHistory>], by client: inout BlockingControlClient, isJSON: Bool) {
        guard !isJSON, outcomes.count > 1 else { return }
        for (index, outcome) in outcomes.enumerated() {
            if case .success(let (_, answer)) = outcome.result {
                outcomes[index].text = "\(TextLayout.printable(outcome.path))\n\(answer.text)"
            }
        }
    }
}
