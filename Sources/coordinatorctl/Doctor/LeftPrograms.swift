import Control
import Processes
import WireProtocol

/// The programs that a killed daemon has left, which no daemon has.
struct LeftPrograms {
    /// A program that runs.
    struct Program: Hashable {
        let path: String
        let process: ProcessIdentity
    }

    /// The programs, by the journals of processes in the runtime directory, those of daemons that live left out.
    let programs: [Program]

    init(in directory: RuntimeDirectory) {
        let names = (FileNames.inDirectory(directory.path) ?? []).filter { $0.hasSuffix(".processes") }
        programs = names.compactMap { FileText.contents(of: directory.file($0)) }.flatMap(Self.programs).sorted { $0.path < $1.path }
    }

    /// Reads a journal: its header names the daemon, and a line with a record begins with `+`; the last one of a process counts.
    private static func programs(in journal: String) -> Set<Program> {
        var lines = journal.split(separator: "\n")[...]
        guard let header = lines.popFirst()?.split(separator: " "), header.count > 3, header[0] == "coordinators",
            let owner = identity(header[2], header[3]), !owner.isAlive
        else { return [] }
        let found = lines.compactMap { line -> Program? in
            let fields = line.split(separator: " ", maxSplits: 4)
            guard fields.count == 5, fields[0] == "+", fields[4].hasPrefix("{"), let process = identity(fields[1], fields[2]),
                let record = try? ControlJSON.parse(Array(fields[4].utf8)), let path = record["path"]?.stringValue
            else { return nil }
            return Program(path: path, process: process)
        }
        return Set(found.filter(\.process.isAlive))
    }

    private static func identity(_ number: Substring, _ startTime: Substring) -> ProcessIdentity? {
        guard let number = Int32(number), let startTime = UInt64(startTime) else { return nil }
        return ProcessIdentity(processID: number, startTime: startTime)
    }

    /// The finding, if there are some.
    var finding: Finding? {
        if programs.isEmpty { return nil }
        let names = programs.prefix(5).map { "\($0.path) (process \($0.process.processID))" }.joined(separator: ", ")
        let numbers = programs.map { "\($0.process.processID)" }.joined(separator: " ")
        return .warning(
            "programs",
            "\(programs.count) run that no daemon has: \(names)" + (programs.count > 5 ? ", …" : ""),
            do: "start the daemon, which adopts them; or end them: kill \(numbers)"
        )
    }
}
