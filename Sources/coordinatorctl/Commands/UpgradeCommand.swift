import ArgumentParser
import ConcurrencySupport
import Control

/// The command `upgrade`.
struct UpgradeCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        of: ControlOperation.Upgrade.self,
        discussion: """
            The daemon keeps its process ID; workers and plain programs keep their processes. First the executable checks the configuration \
            file, and rehearses in a process of its own what it does when it takes over: a problem, or an executable that fails in whatever \
            way, changes nothing (exit code 78 or 1). Then new requests and asks wait, and \
            open ones are waited for; those that are open when the time is over end with peerLost. Followed logs and events go on.

            Changes of the configuration file that weren't applied aren't applied by the upgrade either; see `config apply`.
            """
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Option(help: ArgumentHelp("The executable. Default: the one that is now at the path of the running one.", valueName: "file"))
    var executable: String?
    @Option(help: "The time for which open requests and asks are waited for, such as 500ms or 30s.")
    var wait = WaitArgument(duration: .seconds(30))
    @Flag(name: .customLong("dry-run"), help: "Check the executable and the file, and show what would be kept; change nothing.")
    var isDryRun = false
    @OptionGroup var waitOptions: WaitOptions

    var waiting: WaitOptions? { waitOptions }

    func operation() throws(ControlError) -> ControlOperation {
        .upgrade(executable: try absolute(executable), wait: wait.duration, isDryRun: isDryRun)
    }

    func text(of answer: UpgradeResult) -> String {
        let kept = "\(answer.kept.count) \(answer.kept.count == 1 ? "child" : "children") kept"
        let restarted = answer.restarted.map { "started again: \($0)\n" }.joined()
        guard !answer.isDryRun else {
            return "would go on as \(answer.executable), version \(answer.version); \(kept)\n" + restarted
        }
        let late = answer.endedAsks ? "asks that were still open have ended with peerLost\n" : ""
        return "process \(answer.pid) goes on as \(answer.executable), version \(answer.version) after \(answer.formerVersion); "
            + "\(kept), requests waited for \(answer.pauseMilliseconds) ms\n" + restarted + late
    }
}

/// A time to wait, in the arguments of a command; it can be zero.
struct WaitArgument: ExpressibleByArgument, CustomStringConvertible {
    let duration: Duration

    init(duration: Duration) { self.duration = duration }

    init?(argument: String) {
        guard let duration = Duration(configurationText: argument), (.zero ... .seconds(3600)).contains(duration) else { return nil }
        self.duration = duration
    }

    var defaultValueDescription: String { description }
    var description: String { duration.configurationText }
}
