import ArgumentParser
import Control

/// The command `scale PATH NUMBER`.
struct ScaleCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        of: ControlOperation.Scale.self,
        discussion: """
            Example: coordinatorctl scale /web 4

            The path is that of a child with `instances`, without a number. Only instances that are added or removed are touched; the last are \
            removed first, each with its time to stop. The file stays as it is: `config diff` shows the difference, and `config apply` sets \
            the file's number again. Exits with 1 when an instance can't be started or stopped.
            """
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Argument(help: "The path of a child with `instances`, without a number, such as /web.", completion: .livePaths) var path: String
    @Argument(help: "The number of instances.") var number: Int
    @OptionGroup var wait: WaitOptions

    var waiting: WaitOptions? { wait }

    func validate() throws {
        guard (0...Int(ControlOperation.maximumInstances)).contains(number) else {
            throw ValidationError("'\(number)' isn't a number from 0 to \(ControlOperation.maximumInstances)")
        }
    }

    func operation() -> ControlOperation { .scale(path: path, instances: number) }

    func text(of answer: ScaleResult) -> String { answer.text }

    func exitCode(of answer: ScaleResult) -> Int32 {
        if answer.changes.contains(where: { $0.error != nil }) { return ControlError.Code.failed.exitCode }
        return answer.changes.contains { $0.pending != nil } ? ControlError.Code.timedOut.exitCode : 0
    }
}
