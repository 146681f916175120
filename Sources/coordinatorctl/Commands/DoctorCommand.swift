import ArgumentParser
import Control
import Processes

/// The command `doctor`.
struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Examine what the daemon needs: limits, files, permissions, the system; needs no daemon.",
        discussion: """
            Each line is ok, a warning or a problem, with what to do about it. Where a daemon runs, its limits are examined, otherwise those that \
            a daemon would have that was started here. Exits with 1 when there is a problem; warnings alone exit with 0.
            """
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions

    @Flag(help: "Look only for programs that no daemon has, and print nothing when there are none.")
    var programs = false

    func run() throws {
        let options = options.merged(over: root.options)
        let (report, text) = try Terminal.exitingOnFailure(isJSON: options.isJSON) { () throws(ControlError) in
            let directory = try options.directory()
            let report = DoctorReport(
                programs ? [LeftPrograms(in: directory).finding].compactMap(\.self) : Doctor(directory).findings
            )
            return (report, options.isJSON ? try ControlJSON.text(of: report) + "\n" : report.text(.ofOutput))
        }
        try Terminal.print(text)
        if report.status == .problem { throw ExitCode(ControlError.Code.failed.exitCode) }
    }
}
