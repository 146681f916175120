import ConcurrencySupport
import CoordinatorsTesting
import Fixtures
import Glibc
import Links
import Logging
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import Coordinators

/// What processes get that have no ticket, or another's.
@Suite(
    "Strangers, and the secrets that they'd need",
    .enabled(if: Launcher.isPythonThere, "needs /usr/bin/python3"),
    .timeLimit(minutes: 3)
)
struct StrangerTests {
    @Test(
        "A stranger that shows a worker's own secret gets nothing, and the worker gets in after it",
        arguments: ["user", "session"]
    )
    func stolenSecret(_ kind: String) async throws {
        guard kind != "user" || geteuid() == 0 else { return print("skipped: only root can become another user") }
        try await Launcher.with { runtime, launcher, log in
            // So that the socket itself lets the other user in: the check behind it is meant.
            chmod(launcher.runtimeDirectory, 0o711)
            async let answer = launcher.start(runtime, kind)
            // By then the socket has the mode that it's given after it was made.
            try await eventually("the launcher runs") { !launcher.notes.isEmpty }
            #expect(launcher.sockets.first.map { chmod("\(launcher.runtimeDirectory)/\($0)", 0o666) } == 0)
            #expect(try await answer == "started")
            let notes = launcher.notes
            #expect(notes.count == 2)
            #expect(notes.last == RawSocket.greeting.hexadecimal, "nothing but the protocol's greeting")
            let place = try await runtime.ask(Fixture.WhereAmI(), at: "/a")
            #expect(place.incarnation == 1)
            let reason = kind == "user" ? "the peer runs as user 65534, not \(geteuid())" : "isn't of the session of \(place.pid)"
            try await eventually("it's logged") {
                log.lines.contains { $0.hasPrefix("error: a worker was refused") && $0.contains(reason) }
            }
        }
    }

    @Test("A worker that knows a later parent isn't taken: its start fails, and says so")
    func laterParent() async throws {
        try await Launcher.with { runtime, launcher, log in
            let answer = try await launcher.start(runtime, "later")
            #expect(answer.contains("the worker knows a later parent, of epoch 99"), "\(answer)")
        }
    }

    @Test("The secret of a worker that has ended opens nothing")
    func replayed() async throws {
        try await Launcher.with { runtime, launcher, log in
            #expect(try await launcher.start(runtime, "nobody") == "started")
            let first = try await runtime.ask(Fixture.WhereAmI(), at: "/a")
            kill(first.pid, SIGKILL)
            _ = try await runtime.whereIsIt("/a", after: first)
            let secrets = launcher.notes.compactMap { [UInt8](hexadecimal: $0) }
            #expect(secrets.count == 2 && secrets[0] != secrets[1])
            for _ in 0..<10 {
                let stranger = try RawSocket("\(launcher.runtimeDirectory)/\(try #require(launcher.sockets.first))")
                let hello = Hello(secret: secrets[0], processID: first.pid, processStartTime: 1, buildID: "", maximumFrameSize: 1 << 20)
                var batch: [UInt8] = []
                FrameEncoder.append(Frame(.hello(hello)), to: &batch)
                stranger.send(RawSocket.greeting + RawSocket.message(batch))
                #expect(try await stranger.receiveUntilClosed() == RawSocket.greeting)
            }
            #expect(try await runtime.ask(Fixture.WhereAmI(), at: "/a").incarnation == 2)
        }
    }

    @Test(
        "Secrets and payloads are in no log at any level, no environment, arguments, output or report of a crash, in no file for others",
        .disabled(if: Sanitizer.isOn, "Swift's report of the crash of such a process takes minutes")
    )
    func secrecy() async throws {
        try await Launcher.with(level: .trace) { runtime, launcher, log in
            #expect(try await launcher.start(runtime, "session") == "started")
            let first = try await runtime.ask(Fixture.WhereAmI(), at: "/a")
            let processes = [getpid(), first.pid]
            var shown = processes.flatMap { process in
                ["environ", "cmdline", "status"].compactMap { Files.bytes(of: "/proc/\(process)/\($0)") }
            }
            #expect(shown.count == 6)
            for name in Files.names(in: launcher.runtimeDirectory) {
                let mode = try #require(Files.mode(of: "\(launcher.runtimeDirectory)/\(name)"))
                #expect(mode & 0o077 == 0, "\(name)")
            }
            #expect(Files.mode(of: launcher.runtimeDirectory) == 0o700)
            let payload = "a payload that is nobody's business"
            #expect(try await runtime.perform(.echo(payload), at: "/a") == payload)
            kill(first.pid, SIGSEGV)
            try await eventually("a report of the crash") { launcher.output.text.contains("Backtrace took") }
            // Swift's handler returns after its report, so that a fault occurs again and ends the process; a signal from outside doesn't.
            kill(first.pid, SIGKILL)
            _ = try await runtime.whereIsIt("/a", after: first)
            let secrets = launcher.notes.compactMap { [UInt8](hexadecimal: $0) }.filter { $0.count == Ticket.secretLength }
            #expect(secrets.count >= 2)
            try await eventually("the log tells the second start") { log.lines.contains { $0.contains("change=restarted") } }
            shown.append(launcher.output.bytes)
            shown += log.lines.map { Array($0.utf8) }
            for form in secrets.flatMap(Self.forms) + [Array(payload.utf8)] {
                for text in shown where text.contains(form) {
                    Issue.record("\(form) is in \(String(decoding: text.prefix(200), as: UTF8.self))")
                }
            }
        }
    }

    /// A quarter of a secret, in the forms in which a program might print it.
    private static func forms(of secret: [UInt8]) -> [[UInt8]] {
        stride(from: 0, to: secret.count, by: 8).flatMap { start -> [[UInt8]] in
            let part = Array(secret[start..<start + 8])
            let spaced = part.map { [$0].hexadecimal }.joined(separator: " ")
            return [
                part, Array(part.hexadecimal.utf8), Array(part.hexadecimal.uppercased().utf8), Array(spaced.utf8),
                Array(part.map(String.init).joined(separator: ", ").utf8),
            ]
        }
    }
}

/// A runtime whose workers are launched by a script that knows their secrets.
private struct Launcher {
    static let isPythonThere = access("/usr/bin/python3", X_OK) == 0
    private static let script = "\(Files.packageRoot)/Tests/PythonPeer/launcher.py"

    let runtimeDirectory: String
    let notesFile: String
    /// What the workers have written.
    let output = Transcript()

    /// The secrets, and what strangers have received, in the order of the starts.
    var notes: [String] { (Files.text(of: notesFile) ?? "").split(separator: "\n").map(String.init) }

    var sockets: [String] { Files.names(in: runtimeDirectory).filter { $0.hasSuffix(".sock") } }

    func start(_ runtime: CoordinatorRuntime, _ stranger: String) async throws -> String {
        let arguments = [Self.script, stranger, notesFile, Support.worker.path]
        return try await runtime.ask(StarterRoot.StartWorker("a", "/usr/bin/python3", arguments), timeout: .seconds(60))
    }

    static func with(
        level: Logger.Level = .warning,
        _ body: (CoordinatorRuntime, Launcher, RecordedLog) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            chmod(directory.path, 0o711)
            let launcher = Launcher(runtimeDirectory: directory.file("run"), notesFile: directory.file("notes"))
            let log = RecordedLog(level)
            var options = Support.options
            options.runtimeDirectory = launcher.runtimeDirectory
            options.logger = log.logger
            options.workerOutput = .captured { _, bytes in launcher.output.append(bytes) }
            try await withRuntime(StarterRoot.self, options: options) { runtime in try await body(runtime, launcher, log) }
        }
    }
}

extension [UInt8] {
    var hexadecimal: String {
        map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Reads an even number of hexadecimal digits; `nil` for any other text.
    fileprivate init?(hexadecimal text: String) {
        let digits = text.utf8.map { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count.isMultiple(of: 2), !digits.contains(nil) else { return nil }
        self = stride(from: 0, to: digits.count, by: 2).map { UInt8((digits[$0] ?? 0) << 4 | (digits[$0 + 1] ?? 0)) }
    }

    fileprivate func contains(_ part: [UInt8]) -> Bool {
        guard let first = part.first, count >= part.count else { return part.isEmpty }
        // Unsafe: the C library reads both arrays, for the length of the call; byte by byte, a report of a crash would take minutes.
        return withUnsafeBytes { all in
            part.withUnsafeBytes { part in
                guard var place = all.baseAddress, let wanted = part.baseAddress else { return false }
                let end = place + (all.count - part.count)
                while place <= end, let found = memchr(place, Int32(first), end - place + 1) {
                    if memcmp(found, wanted, part.count) == 0 { return true }
                    place = UnsafeRawPointer(found) + 1
                }
                return false
            }
        }
    }
}
