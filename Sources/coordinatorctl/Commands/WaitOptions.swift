import ArgumentParser
import ConcurrencySupport
import Control

/// The options of a command that waits for children.
struct WaitOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The time after which the command exits with 75; what it has begun goes on. Default: as long as the children's own times allow.",
            valueName: "time"
        )
    )
    var timeout: WaitArgument?

    @Flag(name: .customLong("no-wait"), help: "Exit with 0 once the daemon has begun; what it does goes on.")
    var isBrief = false

    func validate() throws {
        if timeout != nil, isBrief { throw ValidationError("--timeout and --no-wait exclude one another") }
    }

    /// The end of the command's time, which begins now.
    var end: MonotonicTime { timeout.map { MonotonicTime.now + $0.duration } ?? .distantFuture }

    /// The patience of a connection, which writes what is being waited for to standard error.
    ///
    /// - Parameters:
    ///   - isQuiet: Whether only programs read what is written.
    ///   - end: The end of the command's time.
    func patience(isQuiet: Bool, until end: MonotonicTime) -> ClientPatience {
        let line = isQuiet ? nil : ProgressLine()
        return ClientPatience(
            limit: timeout?.duration,
            until: end,
            isForBeginning: isBrief,
            tell: line.map { line in { line.show($0, $1) } }
        )
    }

    /// The patience of a command with one connection, whose time begins now.
    func patience(isQuiet: Bool) -> ClientPatience { patience(isQuiet: isQuiet, until: end) }

    /// Whether an operation that isn't over is as it was meant.
    func accepts(_ error: ControlError) -> Bool { isBrief && error.code == .timedOut && error.maybeExecuted == true }
}
