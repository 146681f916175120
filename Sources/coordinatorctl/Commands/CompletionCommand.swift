import ArgumentParser

/// The command `completion SHELL`.
struct CompletionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "completion",
        abstract: "Print a script that completes commands, options and live paths in a shell.",
        discussion: """
            bash: coordinatorctl completion bash > /etc/bash_completion.d/coordinatorctl
            zsh: coordinatorctl completion zsh > "${fpath[1]}/_coordinatorctl"
            fish: coordinatorctl completion fish > ~/.config/fish/completions/coordinatorctl.fish

            Paths are those of the daemon whose runtime directory the environment names.
            """
    )

    /// The shells for which there is a script.
    enum Shell: String, CaseIterable, ExpressibleByArgument {
        case bash, zsh, fish
    }

    @ParentCommand var root: CoordinatorControl
    @Argument(help: "bash, zsh or fish.") var shell: Shell

    func run() throws {
        let script =
            switch shell {
            case .bash: CoordinatorControl.completionScript(for: .bash)
            case .zsh: CoordinatorControl.completionScript(for: .zsh)
            case .fish: CoordinatorControl.completionScript(for: .fish)
            }
        try Terminal.print(script.hasSuffix("\n") ? script : script + "\n")
    }
}
