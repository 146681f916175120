import ArgumentParser
import ConcurrencySupport
import Control
import Glibc
import Processes
import WireProtocol

/// The command `top`.
struct TopCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Show the tree live, and stop, restart and start what is in it.",
        discussion: """
            Takes the whole screen: states, messages, processor time and memory. `?` shows the keys, `q` leaves. The arrow keys or `j` and `k` \
            choose a row, `l` shows its log, `S` stops it, `R` restarts it, `U` starts it; what ends processes is asked before. What the \
            daemon answers stands in the last line until the next key.

            Where standard output isn't a terminal, a table is printed at each interval, \
            and with --json an object a line. With --once, that is done once, after one interval, which the figures per second need.

            Processor time and memory are read from /proc on this machine, and are those of a process, in the line of its topmost coordinator. \
            Colours are off when NO_COLOR is set; each state has a mark and a word as well.
            """
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Flag(help: "Print one table or object and exit.") var once = false
    @Option(help: "The time between two samples, from 100ms to 1m.") var interval = TimeoutArgument(duration: .seconds(1))
    @Option(help: "The order of the rows: \(TopOrder.allCases.map(\.rawValue).joined(separator: ", ")).") var sort = TopOrder.tree

    func validate() throws {
        guard (.milliseconds(100) ... .seconds(60)).contains(interval.duration) else {
            throw ValidationError("--interval is \(interval.description); expected a time from 100ms to 1m")
        }
    }

    func run() throws {
        let options = options.merged(over: root.options)
        let directory = try Terminal.exitingOnFailure(isJSON: options.isJSON) { () throws(ControlError) in try options.directory() }
        if !once, !options.isJSON, let screen = FullScreen() {
            try watch(on: screen, directory)
        } else {
            try report(directory, isJSON: options.isJSON)
        }
    }

    // MARK: Reports

    private func report(_ directory: RuntimeDirectory, isJSON: Bool) throws {
        var source = TopSource(directory, waitsForUpgrades: true)
        var former = try Terminal.exitingOnFailure(isJSON: isJSON) { () throws(ControlError) in try source.sample() }
        repeat {
            Self.sleep(until: former.at + interval.duration)
            let (sample, text) = try Terminal.exitingOnFailure(isJSON: isJSON) { () throws(ControlError) in
                let sample = try source.sample()
                let rows = sort.sorted(TopRow.rows(sample, before: former), reversed: false)
                return (sample, isJSON ? try ControlJSON.text(of: TopReport(rows)) + "\n" : TopScreen.table(rows))
            }
            guard try Terminal.print(text) else { return }
            former = sample
        } while !once
    }

    private static func sleep(until moment: MonotonicTime) {
        while case let remaining = moment - .now, remaining > .zero { usleep(UInt32(remaining.millisecondsRoundedUp) * 1000) }
    }

    // MARK: The screen

    private func watch(on screen: FullScreen, _ directory: RuntimeDirectory) throws {
        let end = watchUntilTheEnd(on: screen, directory)
        screen.end()
        // The shell sees that a signal has ended the command.
        if let number = screen.endingSignal {
            signal(number, SIG_DFL)
            raise(number)
        }
        if let end {
            Terminal.printError("coordinatorctl: \(end.message)\n")
            throw ExitCode(end.code.exitCode)
        }
    }

    /// The time between two attempts to reach a daemon whose place another program takes.
    private static let pause = Duration.milliseconds(100)

    /// Shows the tree until the user leaves.
    ///
    /// - Returns: the reason why there is nothing to show; nil when the user has left.
    private func watchUntilTheEnd(on screen: FullScreen, _ directory: RuntimeDirectory) -> ControlError? {
        var source = TopSource(directory, waitsForUpgrades: false)
        var upgrade = UpgradePatience(directory)
        var (former, latest): (TopSample?, TopSample?) = (nil, nil)
        var view = TopScreen.View(order: sort)
        var problem: ControlError?
        var log: TopScreen.Log?
        let actions = TopActions(at: directory) { FullScreen.wake() }
        var due = MonotonicTime.now
        while true {
            let isDue = MonotonicTime.now >= due || actions.takeNews()
            if isDue {
                do throws(ControlError) {
                    let sample = try source.sample()
                    (former, latest, problem) = (latest, sample, nil)
                } catch {
                    // A daemon that was seen may come back; the last figures stay, with the reason above them.
                    guard latest != nil || upgrade.allowsAnotherAttempt(after: error) else { return error }
                    problem = error
                }
                due = .now + (latest == nil ? Self.pause : interval.duration)
            }
            guard let latest else {
                // There is nothing to show before another program has taken the daemon's place.
                switch screen.next(within: max(.zero, due - .now)) {
                case .key(.character("q")), .end: return nil
                case .key, .timeout, .redraw: continue
                }
            }
            if case .log(let path, let back) = view.mode {
                if isDue && back == 0 || log?.path != path { log = source.log(of: path, after: log) }
            } else {
                log = nil
            }
            let size = screen.size
            var frame = TopScreen(
                rows: TopRow.rows(latest, before: former),
                view: view,
                width: size.width,
                height: size.height,
                colours: .ofOutput,
                time: Self.timeOfDay,
                problem: problem?.message,
                notice: actions.notice,
                log: log
            )
            view = frame.settledView
            frame.view = view
            guard screen.show(frame.lines()) else { return nil }
            switch screen.next(within: max(.zero, due - .now)) {
            case .key(let key):
                actions.forget()
                guard view.follow(key, rows: frame.shownRows.map(\.path), capacity: frame.capacity) else { return nil }
                if let wish = view.wish {
                    actions.open(wish)
                    view.wish = nil
                }
            case .timeout, .redraw: break
            case .end: return nil
            }
        }
    }

    private static var timeOfDay: String {
        var (seconds, parts) = (time(nil), tm())
        localtime_r(&seconds, &parts)
        return [parts.tm_hour, parts.tm_min, parts.tm_sec].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }
}

/// The source of samples: one connection, made anew when it has ended.
private struct TopSource {
    /// A daemon that doesn't answer is shown as such soon.
    private static let patience = Duration.seconds(2)
    /// The number of lines of a log through which one can scroll.
    private static let logLines = 500

    private let directory: RuntimeDirectory
    /// Whether it waits as long as another program takes the daemon's place.
    ///
    /// The screen's doesn't: there are keys to follow meanwhile.
    private let waitsForUpgrades: Bool
    private let connection = Connection()

    /// A box, because a client can't be copied.
    private final class Connection {
        var client: BlockingControlClient?
    }

    init(_ directory: RuntimeDirectory, waitsForUpgrades: Bool) {
        (self.directory, self.waitsForUpgrades) = (directory, waitsForUpgrades)
    }

    mutating func sample() throws(ControlError) -> TopSample {
        do throws(ControlError) {
            return try sampleOnce()
        } catch {
            connection.client = nil
            guard error.code == .unreachable || error.code.provesAbsence else { throw error }
            // The daemon may have ended an idle connection, or have been replaced.
            return try sampleOnce()
        }
    }

    /// Returns the last lines of a path's log; where they can't be had, those that were there before, and why.
    mutating func log(of path: String, after former: TopScreen.Log?) -> TopScreen.Log {
        do throws(ControlError) {
            try connect()
            let query = LogQuery(paths: [path], lines: Self.logLines)
            let items = try connection.client?.items(of: .logs(query), timeout: Self.patience) ?? []
            var lines: [LogLine] = []
            for item in items { lines.append(try ControlJSON.decode(LogLine.self, from: item)) }
            return TopScreen.Log(path: path, lines: lines)
        } catch {
            if [.unreachable, .timedOut].contains(error.code) || error.code.provesAbsence { connection.client = nil }
            return TopScreen.Log(path: path, lines: former?.path == path ? former?.lines ?? [] : [], problem: error.message)
        }
    }

    private func connect() throws(ControlError) {
        guard connection.client == nil else { return }
        if waitsForUpgrades {
            connection.client = try BlockingControlClient.connected(to: directory)
        } else {
            connection.client = try BlockingControlClient(runtimeDirectory: directory, timeout: Self.patience)
        }
    }

    private func sampleOnce() throws(ControlError) -> TopSample {
        try connect()
        let json: JSONValue? =
            if waitsForUpgrades {
                try connection.client?.call(.tree, timeout: Self.patience)
            } else {
                try connection.client?.callOnce(.tree, timeout: Self.patience)
            }
        guard let json else { throw ControlError(.unreachable, "there is no connection to the daemon") }
        return TopSample(try ControlJSON.decode(TreeNode.self, from: json))
    }
}

extension TopOrder: ExpressibleByArgument {}
