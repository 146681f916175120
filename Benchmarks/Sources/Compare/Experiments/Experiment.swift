/// Programs that do the same work, ours first, and the figures that they print.
struct Experiment: CustomStringConvertible {
    let name: String
    let programs: [Program]
    let figures: [Figure]
    /// How often the programs run, one after the other each time: A B A B, so that a slow minute of the machine meets all of them.
    let rounds: Int

    var description: String { ([name] + figures.map { "    \($0.name)" }).joined(separator: "\n") }

    /// The longest time that one run of each of its programs may take.
    var longestRun: Duration { programs.map(\.expected).reduce(.zero, +) }

    /// The figures without values.
    var unmeasured: [Measured] { figures.map { Measured($0, [], [:]) } }

    /// Runs the programs and takes the medians of what they print.
    func measure(_ runner: Runner, until end: ContinuousClock.Instant, show: (String) -> Void) -> (figures: [Measured], omissions: [String])
    {
        var samples: [String: Samples] = [:]
        var omissions: [String: String] = [:]
        for round in 1...rounds where round == 1 || ContinuousClock.now + longestRun < end {
            for program in programs where omissions[program.label] == nil && !Interruption.hasCome {
                show("\(program.label), run \(round) of \(rounds)")
                do throws(RunFailure) {
                    samples[program.label, default: Samples()].add(try runner.run(program, until: end))
                } catch {
                    omissions[program.label] = "\(program.label) in \(name): \(error.description)"
                }
            }
        }
        return (figures.map { Measured($0, programs.map(\.label), samples) }, programs.compactMap { omissions[$0.label] })
    }
}

/// One line of the table.
struct Figure {
    /// What is measured, with its conditions.
    let name: String
    /// The name under which the programs print it.
    let key: String
    let unit: Unit
    /// The label of the program whose figure it is: ours, or a variant of ours, whose label begins with that.
    var subject = Programs.ours
    /// The peer to whose figure the ratio is.
    var reference: String?
    /// The name under which the reference prints it, if it's another.
    var referenceKey: String?
    /// The labels of further peers that are shown beside the figure of a variant of ours; those of ours itself are shown anyway.
    var besides: [String] = []
    var requirement: Requirement?
    /// Where the figure stands in a plot.
    var point: Plot.Point?
}

/// The unit of a figure in the table; programs print nanoseconds, bytes or plain numbers.
enum Unit: String {
    case microseconds = "µs"
    case milliseconds = "ms"
    case seconds = "s"
    case perSecond = "/s"
    case bytes = "B"
    case kibibytes = "KiB"
    case mebibytes = "MiB"
    case percent = "%"

    /// How much of what the programs print is one of this unit.
    var divisor: Double {
        switch self {
        case .microseconds: 1e3
        case .milliseconds: 1e6
        case .seconds: 1e9
        case .kibibytes: 1_024
        case .mebibytes: 1_048_576
        case .bytes, .perSecond, .percent: 1
        }
    }
}
