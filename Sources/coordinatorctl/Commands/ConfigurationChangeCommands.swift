import ArgumentParser
import Control

/// A command that compares a file with the running daemon's configuration.
protocol ConfigurationChangeCommand: DaemonCommand where Answer == ConfigurationChanges {
    var parent: ConfigurationCommand { get }
}

extension ConfigurationChangeCommand {
    /// The command itself with the options between the two names too.
    var root: CoordinatorControl {
        var root = parent.root
        root.options = parent.options.merged(over: root.options)
        return root
    }

    func text(of answer: ConfigurationChanges) -> String { answer.text }

    func exitCode(of answer: ConfigurationChanges) -> Int32 {
        if answer.failureCount > 0 { return ControlError.Code.failed.exitCode }
        return answer.pendingCount > 0 ? ControlError.Code.timedOut.exitCode : 0
    }
}

extension ConfigurationCommand {
    /// The command `config diff [FILE]`.
    struct Difference: ConfigurationChangeCommand {
        static let configuration = CommandConfiguration(
            of: ControlOperation.ConfigurationDifference.self,
            name: "diff",
            discussion: """
                Compares a file with the configuration of the running daemon, which reads and checks the file. Each line begins with + (added), \
                - (removed) or ~ (changed), and says which keys differ and whether the child is restarted for it. Values and \
                children have their places in the file, such as at tree.yaml:12:7. A file that is named is read as the user who runs this \
                command, and needs the role `administer`.
                """
        )

        @ParentCommand var parent: ConfigurationCommand
        @OptionGroup var options: CommonOptions
        @Argument(help: "The file. Default: the daemon's own.") var file: String?

        func operation() throws(ControlError) -> ControlOperation { .configurationDifference(file: try absolute(file)) }
    }

    /// The command `config apply [FILE]`.
    struct Apply: ConfigurationChangeCommand {
        static let configuration = CommandConfiguration(
            of: ControlOperation.ConfigurationApplication.self,
            name: "apply",
            discussion: """
                Only children that differ are started, stopped or restarted; all others keep their processes. A file with any problem changes \
                nothing; one that is named is read as the user who runs this command. Exits with 1 when a change failed, such as a child that \
                can't be started; the others are made all the same. Exits with 75 when a child isn't ready within its own time, and is still \
                being started.
                """
        )

        @ParentCommand var parent: ConfigurationCommand
        @OptionGroup var options: CommonOptions
        @Argument(help: "The file. Default: the daemon's own.") var file: String?
        @Flag(name: .customLong("dry-run"), help: "Show what would change, as `config diff` does.") var isDryRun = false
        @OptionGroup var wait: WaitOptions

        var waiting: WaitOptions? { wait }

        func operation() throws(ControlError) -> ControlOperation {
            let file = try absolute(file)
            return isDryRun ? .configurationDifference(file: file) : .configurationApplication(file: file)
        }
    }
}
