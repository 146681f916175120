/// The commands that belong to a program, and are run at certain moments of its lives.
///
/// Each runs as the program does: as its user, with its environment and directory, and with its output in the program's log. No shell is
/// involved. A command that fails, or doesn't end in time, is logged; what is left of it is ended with it.
public struct ProgramHooks: Sendable, Hashable, Codable {
    /// The moments at which commands are run.
    public enum Moment: String, Sendable, Hashable, Codable, CaseIterable {
        /// Before each start; the start fails with the command.
        case beforeStart = "before_start"
        /// After each end, whatever its reason, when nothing is left of the program and before its next life.
        case afterEnd = "after_end"
        /// When the program's supervisor has given it up.
        case onGiveUp = "on_give_up"
        /// Instead of the signal that asks the program to stop.
        case stop
        /// At an operator's request.
        case reload
    }

    /// A command.
    public struct Command: Sendable, Hashable, Codable {
        /// The time within which a command must end that has no other.
        public static let usualTimeout = Duration.seconds(30)

        /// The executable and its arguments; never empty.
        public var command: [String]
        /// The time within which the command must end; `nil`: ``usualTimeout``, and of a stop at most half of the time that the program has
        /// to stop.
        public var timeout: Duration?

        /// Creates a command.
        public init(_ command: [String], timeout: Duration? = nil) { (self.command, self.timeout) = (command, timeout) }
    }

    /// The ways of asking a program to read its configuration again.
    public enum Reload: Sendable, Hashable, Codable {
        /// The program gets a signal.
        case signal(Signal)
        /// A command asks the program.
        case command(Command)
    }

    /// The command before each start.
    public var beforeStart: Command?
    /// The command after each end.
    public var afterEnd: Command?
    /// The command when the program was given up.
    public var onGiveUp: Command?
    /// The command that asks the program to stop.
    ///
    /// When it fails, or the program still runs when the command's time is over, the stop goes on with the signal.
    public var stop: Command?
    /// The way of asking the program to read its configuration again; `nil`: there is none.
    public var reload: Reload?

    /// Creates the commands of a program.
    public init(
        beforeStart: Command? = nil,
        afterEnd: Command? = nil,
        onGiveUp: Command? = nil,
        stop: Command? = nil,
        reload: Reload? = nil
    ) {
        (self.beforeStart, self.afterEnd, self.onGiveUp, self.stop, self.reload) = (beforeStart, afterEnd, onGiveUp, stop, reload)
    }
}
