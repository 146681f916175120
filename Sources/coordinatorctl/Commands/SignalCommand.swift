import ArgumentParser
import Control
import Processes

/// The command `signal PATH… SIGNAL`.
struct SignalCommand: PathsCommand {
    static let configuration = CommandConfiguration(
        of: ControlOperation.Signal.self,
        usage: "coordinatorctl signal <path> ... <signal>",
        discussion: """
            Example: coordinatorctl signal /web HUP

            The signal is a name such as HUP or SIGHUP, or a number. Only the process itself gets it, not its descendants. A coordinator in its \
            parent's process has no process to signal.
            """
    )

    static let coversDescendants = false

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Argument(help: "The paths as of `stop`, and the signal.", completion: .livePaths) var pathsAndSignal: [String]
    @Flag(help: "Name all children of the root: the same as '/*'.") var all = false

    var selection: PathArguments {
        var selection = PathArguments()
        (selection.paths, selection.all) = (Array(pathsAndSignal.dropLast()), all)
        return selection
    }

    func validate() throws {
        guard let text = pathsAndSignal.last, Signal(text: text) != nil else {
            throw ValidationError("'\(pathsAndSignal.last ?? "")' isn't a signal; name one such as HUP after the paths, or give its number")
        }
        try selection.validate()
    }

    func operation(on path: String) throws(ControlError) -> ControlOperation {
        .signal(path: path, signal: Signal(text: pathsAndSignal.last ?? "")?.rawValue ?? 0)
    }

    func text(of answer: SignalResult) -> String {
        "\(TextLayout.printable(answer.path)): \(answer.signal) sent to \(answer.pid)\n"
    }
}

extension Signal {
    /// Reads a name such as `HUP` or `SIGHUP`, or a number from 1 to 64.
    init?(text: String) {
        if let number = Int32(text) {
            guard (1...64).contains(number) else { return nil }
            self.init(rawValue: number)
            return
        }
        let name = text.uppercased()
        let known = (Int32(1)...31).map(Signal.init(rawValue:)).first { $0.name == name || $0.name == "SIG\(name)" }
        guard let known else { return nil }
        self = known
    }
}
