import ConcurrencySupport
import Control
import Glibc
import Processes
import WireProtocol

/// The executable that is to take the daemon's place, which is examined in processes of its own before that.
///
/// Nothing of the daemon waits for it but the request for the upgrade, and it gets nothing of the daemon's but copies: whatever it does, the
/// daemon goes on.
final class NextExecutable {
    /// What the executable is run for before it takes the daemon's place.
    enum Examination: String, CaseIterable {
        case version = "--version"
        case check = "--check-config"
        case rehearsal = "--rehearse"
    }

    /// The largest part of an examination's output that is kept.
    private static let outputLimit = 64 << 10
    /// The part of what it has written last that an error shows.
    private static let shownLimit = 1024

    let path: String
    /// The time within which all examinations have to end.
    private let limit: Duration
    private let deadline: Lock<PatientDeadline>
    /// The file that is examined.
    private let file: FileVersion

    init(path: String, limit: Duration = .seconds(30)) async throws(ControlError) {
        (self.path, self.limit) = (path, limit)
        deadline = Lock(PatientDeadline(limit))
        file = try await Self.version(ofFileAt: path)
    }

    /// Compares the file with the one that was examined: what takes the daemon's place mustn't be anything else.
    ///
    /// - Throws: `failed` when there is another one.
    func compare() async throws(ControlError) {
        guard try await Self.version(ofFileAt: path) != file else { return }
        throw ControlError(.failed, "\(path) has become another file than the one that was examined; the daemon goes on as before")
    }

    private static func version(ofFileAt path: String) async throws(ControlError) -> FileVersion {
        do throws(BlockingCalls.Failure) {
            return try await BlockingCalls.shared.run("the executable of an upgrade") { FileVersion(path) }
        } catch {
            throw ControlError(.failed, "\(path) can't be looked at: \(error); nothing was changed")
        }
    }

    /// The properties of a file that differ between two files, and after a change of one.
    ///
    /// The version of a missing file equals itself alone.
    private struct FileVersion: Sendable, Equatable {
        private let device, inode: UInt64
        private let size, changedSeconds, changedNanoseconds: Int

        init(_ path: String) {
            var status = stat()
            if stat(path, &status) != 0 { status = stat() }
            (device, inode, size) = (UInt64(status.st_dev), UInt64(status.st_ino), Int(status.st_size))
            (changedSeconds, changedNanoseconds) = (status.st_ctim.tv_sec, status.st_ctim.tv_nsec)
        }
    }

    /// Runs the executable to learn its version.
    ///
    /// - Throws: `failed` when it can't be run, or isn't a daemon.
    func version() async throws(ControlError) -> String {
        let run = try await run(.version)
        guard run.status == .exited(code: 0) else { throw failure(.version, run) }
        let version = String(run.output.prefix { $0 != "\n" })
        let parts = version.prefix { $0 != "-" && $0 != "+" }.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ UInt($0) != nil }) else {
            let shown = (run.output + run.errors).prefix(200).split(separator: "\n").first.map(String.init) ?? "nothing"
            throw ControlError(.failed, "\(path) isn't a coordinatord: --version has printed \(shown); nothing was changed")
        }
        return version
    }

    /// Has the executable check a configuration file, of which what it names may be missing, as at a start.
    ///
    /// - Throws: `badConfiguration` with its problems.
    func check(_ file: String) async throws(ControlError) {
        var run = try await run(.check, [file, "--syntax-only"])
        // A former version has no such option.
        if run.status == .exited(code: 64) { run = try await self.run(.check, [file]) }
        // An executable that ends without a word hasn't checked anything.
        if run.status == .exited(code: 0), run.output.hasPrefix("\(file): ok") { return }
        guard run.status == .exited(code: ControlError.Code.badConfiguration.exitCode), !run.errors.isEmpty else {
            throw failure(.check, run)
        }
        throw ControlError(.badConfiguration, String(run.errors.trimming { $0 == "\n" }))
    }

    /// Has the executable read what it will read when it takes the daemon's place, in a process of its own.
    ///
    /// - Parameters:
    ///   - handover: The descriptor of a copy of what the daemon would leave to it.
    ///   - image: How this program was run, and so how the executable would be.
    ///   - expected: What it has to say of the heritage.
    /// - Throws: `failed` when it doesn't get so far.
    func dryRun(_ handover: Int32, as image: ProgramImage, expecting expected: UpgradeDryRun) async throws(ControlError) {
        let report = Collected(Self.outputLimit)
        let arguments = image.arguments.dropFirst().map { String(decoding: $0, as: UTF8.self) }
        let run = try await run(.rehearsal, arguments) { specification in
            specification.environment = [DaemonHandover.variable: "\(UpgradeDryRun.handover)"]
            specification.inheritedEnvironment = image.environment
            specification.descriptors = [InheritedDescriptor(source: handover, target: UpgradeDryRun.handover)]
            specification.channels = [.pipe(target: UpgradeDryRun.report) { report.add($0) }]
        }
        if run.status == .exited(code: 64) {
            let reason = "it knows no rehearsal of an upgrade, which each executable has to pass; restart the service to go on as it"
            throw ControlError(.failed, "\(path) can't take the daemon's place: \(reason). \(Self.written(run)); nothing was changed")
        }
        guard run.status == .exited(code: 0) else { throw failure(.rehearsal, run) }
        guard UpgradeDryRun(report: report.bytes) == expected else {
            throw failure(.rehearsal, run, "doesn't say that it can go on with what the daemon would leave to it")
        }
    }

    private func failure(_ examination: Examination, _ run: Run, _ problem: String? = nil) -> ControlError {
        let problem = [problem, run.status == .exited(code: 0) && problem != nil ? nil : "has \(run.status)"].compactMap(\.self)
        return ControlError(
            .failed,
            "\(path) can't take the daemon's place: run with \(examination.rawValue) it \(problem.joined(separator: ", and ")). "
                + "\(Self.written(run)); nothing was changed"
        )
    }

    private static func written(_ run: Run) -> String {
        let lines = (run.errors.isEmpty ? run.output : run.errors).split(separator: "\n").suffix(5).joined(separator: "\n")
        let shown = String(decoding: lines.utf8.suffix(shownLimit), as: UTF8.self)
        return shown.isEmpty ? "It has written nothing" : "It has written at last: \(shown)"
    }

    /// What has become of the executable.
    private struct Run {
        let status: ExitStatus
        let output: String
        let errors: String
    }

    private func run(
        _ examination: Examination,
        _ arguments: [String] = [],
        _ prepare: (inout ProcessSpecification) -> Void = { _ in }
    ) async throws(ControlError) -> Run {
        let (output, errors) = (Collected(Self.outputLimit), Collected(Self.outputLimit))
        var specification = ProcessSpecification(
            executable: path,
            arguments: [examination.rawValue] + arguments,
            standardOutput: .captured { output.add($0) },
            standardError: .captured { errors.add($0) },
            killsGroupAtExit: true,
            diesWithParent: true
        )
        specification.subject = "check of \(path) for an upgrade"
        prepare(&specification)
        let process: ChildProcess
        do throws(ProcessError) {
            process = try await ProcessSpawner.shared.spawn(specification)
        } catch {
            throw ControlError(.failed, "\(error.message); nothing was changed")
        }
        let end = OneShot<ExitStatus>()
        process.onExit { end.settle($0) }
        var deadline = deadline.withLock { $0 }
        let exit = await Patience.wait(for: end, until: &deadline, reading: ProcessSpawner.shared.readPending)
        self.deadline.withLock { $0 = deadline }
        guard let status = exit else {
            // Its end isn't waited for: a file system may delay that.
            try? process.send(.kill)
            let run = Run(status: .unknown, output: output.text, errors: errors.text)
            throw ControlError(
                .failed,
                "\(path) can't take the daemon's place: run with \(examination.rawValue) it hasn't ended within \(limit). "
                    + "\(Self.written(run)); nothing was changed"
            )
        }
        return Run(status: status, output: output.text, errors: errors.text)
    }

    /// What an examination has written: the beginning and the end, when it's more than the limit.
    private final class Collected: Sendable {
        private let limit: Int
        private let state = Lock<[UInt8]>([])

        init(_ limit: Int) { self.limit = limit }

        func add(_ more: [UInt8]) {
            state.withLock { bytes in
                bytes += more
                if bytes.count > limit { bytes.removeSubrange((limit / 2)..<(bytes.count - limit / 2)) }
            }
        }

        var bytes: [UInt8] { state.withLock { $0 } }
        var text: String { String(decoding: bytes, as: UTF8.self) }
    }
}

extension String {
    fileprivate func trimming(_ isCut: (Character) -> Bool) -> Substring {
        var rest = self[...]
        while let last = rest.last, isCut(last) { rest.removeLast() }
        return rest
    }
}
