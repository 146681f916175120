import ArgumentParser
import ConcurrencySupport
import Control
import Processes
import WireProtocol

/// The command `bench PATH NAME [JSON]`.
struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Ask a message many times at a rate, and print the latencies.",
        discussion: """
            Example: coordinatorctl bench /shop/catalog Catalog.Badge --rate 500 --duration 30s

            With --rate, asks are due at fixed times, whether or not the ones before them were answered, and the latency of each counts from \
            the time at which it was due (so that coordinated omission is corrected). Without --rate, the greatest rate is found first, by \
            as many open asks as --concurrency lets, and then latency is measured at 10, 50 and 90 percent of it. Pings, which only the \
            control socket carries, are counted in the same way for comparison.

            Measured is what an operator's ask takes: the control socket both ways, and the daemon's own ask, which climbs from the path as \
            that of `ask` does. The latter is printed as "in tree" too. The message is really asked, so it should be one that may be asked often.

            One ask is made before all others; if it fails, so does the command, with the same exit code as `ask`. Otherwise: 0 if all asks \
            were answered, 1 if some weren't, the code of the most frequent failure if none was, 69 if the daemon went away. Ctrl-C ends the \
            measurement and prints the result so far; exit code 0 unless asks have failed.
            """
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Argument(help: .path, completion: .livePaths) var path: String
    @Argument(help: "The message's name, such as Catalog.Badge.") var name: String
    @Argument(help: MessageArgument.help) var json: String?
    @Option(help: "The asks a second, from 0.1 to 100000. Default: the greatest rate is found.")
    var rate: RateArgument?
    @Option(help: "The time of each load, such as 10s or 2m; 1h at most. Without --rate there are four, and two seconds of pings.")
    var duration = TimeoutArgument(duration: .seconds(10))
    @Option(help: "The time in which the rate rises from zero before each load, not measured; 0s for none.")
    var ramp = RampArgument(duration: .seconds(1))
    @Option(
        help: """
            The message as JSON, as the third argument; or a size such as 4KiB, to which the message is padded by a text `padding`, which most \
            messages ignore; or FIELD=SIZE for a text of that size in a field of the message.
            """
    )
    var payload: PayloadArgument?
    @Option(help: "The greatest number of open asks, from 1 to 4096. One connection carries \(ConnectionPool.asksPerConnection).")
    var concurrency = 256
    @Option(help: "The time that each ask waits for its reply, and all together at the end; 1h at most.")
    var timeout = TimeoutArgument(duration: .seconds(5))

    func validate() throws {
        guard (1...4096).contains(concurrency) else {
            throw ValidationError("--concurrency is \(concurrency); expected a number from 1 to 4096")
        }
        if case .json? = payload, json != nil {
            throw ValidationError("the message is given twice, as the third argument and by --payload")
        }
    }

    func run() async throws {
        let options = options.merged(over: root.options)
        let (settings, directory) = try Terminal.exitingOnFailure(isJSON: options.isJSON) { () throws(ControlError) in
            (try self.benchSettings(), try options.directory())
        }
        let outcome = await Self.outcome(settings, directory)
        let (report, output) = try Terminal.exitingOnFailure(isJSON: options.isJSON) { () throws(ControlError) in
            let report = try outcome.get()
            return (report, options.isJSON ? try ControlJSON.text(of: report.result) + "\n" : report.text)
        }
        try Terminal.print(output)
        if let error = report.fatalError, !options.isJSON { Terminal.printError("coordinatorctl: \(error.message)\n") }
        if report.exitCode != 0 { throw ExitCode(report.exitCode) }
    }

    @concurrent
    private static func outcome(_ settings: Bench.Settings, _ directory: RuntimeDirectory) async -> Result<BenchReport, ControlError> {
        do throws(ControlError) {
            return .success(try await Bench(settings, at: directory, liveLine: LiveLine()).report())
        } catch {
            return .failure(error)
        }
    }

    private func benchSettings() throws(ControlError) -> Bench.Settings {
        Bench.Settings(
            path: PathMeaning.whole(path),
            message: name,
            payload: try message(),
            rate: rate?.perSecond,
            ramp: ramp.duration,
            duration: duration.duration,
            concurrency: concurrency,
            timeout: timeout.duration
        )
    }

    private func message() throws(ControlError) -> JSONValue {
        guard let payload else { return try MessageArgument.payload(json) }
        return try payload.message(from: try MessageArgument.payload(json))
    }
}

/// A rate in the arguments of a command.
struct RateArgument: ExpressibleByArgument {
    let perSecond: Double

    init?(argument: String) {
        let text = argument.hasSuffix("/s") ? String(argument.dropLast(2)) : argument
        guard let rate = Double(text), (0.1...100_000).contains(rate) else { return nil }
        perSecond = rate
    }
}

/// The time in which a rate rises, which can be zero.
struct RampArgument: ExpressibleByArgument, CustomStringConvertible {
    let duration: Duration

    init(duration: Duration) { self.duration = duration }

    init?(argument: String) {
        guard let duration = Duration(configurationText: argument), (.zero ... .seconds(3600)).contains(duration) else { return nil }
        self.duration = duration
    }

    var defaultValueDescription: String { description }
    var description: String { duration.configurationText }
}

/// The content of a message, or its size, in the arguments of a command.
enum PayloadArgument: ExpressibleByArgument, Equatable {
    /// JSON, or where it's read from.
    case json(String)
    /// The size of the whole message, in bytes of JSON.
    case size(Int)
    /// A field, and the size of the text that it gets.
    case field(String, size: Int)

    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        if let size = Self.size(argument) {
            self = .size(size)
        } else if parts.count == 2, !parts[0].isEmpty, let size = Self.size(parts[1]) {
            self = .field(parts[0], size: size)
        } else {
            self = .json(argument)
        }
    }

    private static func size(_ text: String) -> Int? {
        let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("kB", 1_000), ("MB", 1_000_000), ("B", 1)]
        for (unit, bytes) in units where text.hasSuffix(unit) {
            guard let count = Int(text.dropLast(unit.count)), (0...ControlServer.maximumRequestSize).contains(count) else { continue }
            return count * bytes
        }
        return nil
    }

    /// Returns the message, made from that of the third argument.
    func message(from given: JSONValue) throws(ControlError) -> JSONValue {
        switch self {
        case .json(let text): try MessageArgument.payload(text)
        case .field(let name, let size): try Self.setting(name, to: size, in: given)
        case .size(let size):
            // As many bytes as the member takes beyond its text.
            try Self.setting("padding", to: size - ControlJSON.bytes(of: try Self.setting("padding", to: 0, in: given)).count, in: given)
        }
    }

    private static func setting(_ name: String, to size: Int, in message: JSONValue) throws(ControlError) -> JSONValue {
        guard case .object(var members) = message else {
            throw ControlError(.invalidRequest, "--payload with a size needs a message that is a JSON object")
        }
        guard size <= ControlServer.maximumRequestSize else {
            throw ControlError(.invalidRequest, "the message has \(size) bytes; a request has at most \(ControlServer.maximumRequestSize)")
        }
        members[name] = .string(String(repeating: "x", count: max(0, size)))
        return .object(members)
    }
}
