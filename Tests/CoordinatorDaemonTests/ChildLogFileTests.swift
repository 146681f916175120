import ConcurrencySupport
import Control
import Coordinators
import DaemonConfiguration
import Glibc
import Logging
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import CoordinatorDaemon

@Suite("The files of children's logs: raw, shared, for others to read", .timeLimit(minutes: 1))
struct ChildLogFileTests {
    private let temporary: TemporaryDirectory
    private let turns = LogTurns()
    private var file: String { "\(temporary.path)/logs/a.log" }

    init() throws { temporary = try TemporaryDirectory() }

    private func log(_ settings: ChildLog.Settings, of path: String = "/a", daemon: DaemonOutput? = nil) -> ChildLog {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        return ChildLog(path: path, settings, daemon: daemon ?? DaemonOutput(descriptor: -1), logger: logger, turns: turns) {}
    }

    private func settings(_ format: LoggingConfiguration.Format) -> ChildLog.Settings {
        ChildLog.Settings(file: file, format: format, daemonCopy: .none)
    }

    private func origin(_ path: String = "/a", isError: Bool = false) throws -> OutputOrigin {
        OutputOrigin(try #require(CoordinatorPath(path)), 1, isError: isError)
    }

    private func read(_ places: [ChildLogs.Place], _ query: LogQuery = LogQuery(paths: ["/"])) throws -> [LogLine] {
        var reading = try LogReading(places, query)
        defer { reading.close() }
        var lines: [LogLine] = []
        while case let page = try reading.page(), !page.isEmpty {
            lines += try page.map { try ControlJSON.decode(LogLine.self, from: $0) }
        }
        return lines
    }

    @Test("A raw file has what the child has written, byte for byte, and is shown as it is; a life's last line is ended")
    func raw() async throws {
        let log = log(settings(.raw))
        let life = try origin()
        let long = String(repeating: "l", count: LogLines.limit + 10)
        // Neither a prefix with a priority nor what looks like an entry of the daemon's is taken apart.
        let entry = #"{"time":"2026-11-22T20:41:00.123456Z","path":"/x","stream":"stderr","line":"no"}"#
        for piece in ["one\ntw", "o\n<3>bad\n\(entry)\n", long, "\nlast"] { log.received(Array(piece.utf8), from: life) }
        await log.flush()
        log.received(Array("next life\n".utf8), from: try origin())
        await log.flush()
        #expect(Files.text(of: file) == "one\ntwo\n<3>bad\n\(entry)\n\(long)\nlast\nnext life\n")
        var place = ChildLogs.Place(path: "/a", file: file, keep: 5)
        place.isRaw = true
        // A file that two children share is shown once.
        var other = ChildLogs.Place(path: "/b", file: file, keep: 5)
        other.isRaw = true
        let lines = try read([place, other])
        #expect(lines.map(\.line) == ["one", "two", "<3>bad", entry, long, "last", "next life"])
        #expect(lines.allSatisfy { $0.path == "/a" && $0.time.utf8.count == Timestamp.length && $0.time <= Timestamp.now })
        #expect(try read([place], LogQuery(paths: ["/a"], sinceMilliseconds: 32_503_680_000_000)).isEmpty)
        #expect(try read([place], LogQuery(paths: ["/a"], lines: 2)).map(\.line) == ["last", "next life"])
    }

    @Test("Lines of children that share a file tell their children, however these are named, and no line of one is lost at its rotation")
    func shared() async throws {
        for format in [LoggingConfiguration.Format.lines, .json] {
            let paths = ["/a", "/b c:d%/e", "/ü"]
            var settings = settings(format)
            (settings.file, settings.isShared, settings.maximumSize, settings.keep) = ("\(temporary.path)/\(format)", true, 2_000, 99)
            let logs = paths.map { log(settings, of: $0) }
            for number in 0..<60 {
                for (path, log) in zip(paths, logs) { log.received(Array("\(path) \(number)\n".utf8), from: try origin(path)) }
            }
            for log in logs { await log.flush() }
            for path in paths {
                var place = ChildLogs.Place(path: path, file: settings.file, keep: 99)
                place.isShared = true
                let lines = try read([place])
                #expect(lines.map(\.line) == (0..<60).map { "\(path) \($0)" }, "\(format)")
                #expect(lines.allSatisfy { $0.path == path })
            }
        }
    }

    @Test("The files that several children have: by their keys, by instances, and by a group's")
    func sharedFiles() throws {
        let text = """
            children:
              - { name: a, program: { command: [cat] }, logging: { file: /l/one.log } }
              - { name: b, instances: 2, program: { command: [cat] }, logging: { file: /l/two.log } }
              - { name: c, program: { command: [cat] }, logging: { file: /l/two-2.log } }
              - { name: d, program: { command: [cat] }, logging: { file: none } }
              - name: e
                logging: { file: /l/group.log }
                children: [{ name: f, program: { command: [cat] } }, { name: g, program: { command: [cat] } }]
            """
        #expect(try DaemonConfiguration.parse(text: text, file: "f").sharedLogFiles == ["/l/two-2.log", "/l/group.log"])
    }

    @Test("A file has the permissions and the owner that the configuration says, after a rotation too, and its directory lets readers pass")
    func access() async throws {
        var settings = settings(.lines)
        settings.maximumSize = 50
        settings.access = LogAccess(mode: 0o644, owner: geteuid() == 0 ? "1:2" : nil)
        let log = log(settings)
        for _ in 0..<3 {
            log.received(Array("line\n".utf8), from: try origin())
            await log.flush()
        }
        for name in Files.names(in: "\(temporary.path)/logs") {
            var status = stat()
            try #require(stat("\(temporary.path)/logs/\(name)", &status) == 0)
            #expect(status.st_mode & 0o777 == 0o644)
            if geteuid() == 0 { #expect(status.st_uid == 1 && status.st_gid == 2) }
        }
        let mask = umask(0)
        umask(mask)
        #expect(Files.mode(of: "\(temporary.path)/logs") == 0o755 & ~mask)
    }

    @Test("What goes to the daemon's output raw is on the stream to which it was written; objects have the child, its process and the text")
    func daemonCopies() async throws {
        let (errors, output) = (
            open(temporary.file("errors"), O_CREAT | O_WRONLY, 0o600), open(temporary.file("output"), O_CREAT | O_WRONLY, 0o600)
        )
        defer { for descriptor in [errors, output] { close(descriptor) } }
        let daemon = DaemonOutput(descriptor: errors, format: .json, standardOutput: DaemonOutput(descriptor: output, format: .json))
        for (path, copy) in [("/a", LoggingConfiguration.DaemonCopy.raw), ("/b", .labelled), ("/c", .none)] {
            let log = log(ChildLog.Settings(file: nil, daemonCopy: copy), of: path, daemon: daemon)
            log.received(Array("<4>\(path) says \"out\"\n".utf8), from: try origin(path))
            log.received(Array("\(path) says err\n".utf8), from: try origin(path, isError: true))
            await log.flush()
        }
        await daemon.flush(within: .seconds(10))
        #expect(Files.text(of: temporary.file("output")) == "<4>/a says \"out\"\n")
        let lines = (Files.text(of: temporary.file("errors")) ?? "").split(separator: "\n")
        #expect(lines.first == "/a says err")
        let objects = try lines.dropFirst().map { try ControlJSON.parse(Array($0.utf8)) }
        #expect(objects.map { $0["text"] } == ["/b says \"out\"", "/b says err"])
        #expect(objects.map { $0["stream"] } == ["stdout", "stderr"])
        #expect(objects.allSatisfy { $0["path"] == "/b" && $0["pid"] == 0 && $0["time"] != nil } && objects[0]["priority"] == 4)
    }

    @Test("The directory of the logs is systemd's, or that of the packages, and else the runtime directory")
    func directory() {
        func chosen(_ runtime: String, _ variables: [String: String]) -> String {
            LogDirectory(RuntimeDirectory(path: runtime)) { variables[$0] }.path
        }
        let own = ["SYSTEMD_EXEC_PID": "\(getpid())"]
        #expect(chosen("/run/x", [:]) == "/run/x/logs")
        #expect(chosen("/run/x", ["LOGS_DIRECTORY": "/var/log/x:/var/log/y", "STATE_DIRECTORY": "/var/lib/x"]) == "/var/log/x")
        #expect(chosen("/run/x", own.merging(["STATE_DIRECTORY": "/var/lib/x"]) { $1 }) == "/var/lib/x/logs")
        // The variables are those of a daemon above.
        #expect(chosen("/run/x", ["SYSTEMD_EXEC_PID": "1", "LOGS_DIRECTORY": "/var/log/x"]) == "/run/x/logs")
        #expect(LogDirectory(path: "/dev/shm/nothing/there").isInMemory && !LogDirectory(path: "/proc/nothing").isInMemory)
    }
}
