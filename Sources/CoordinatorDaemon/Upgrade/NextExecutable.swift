import ConcurrencySupport
import Control
import Glibc
import Processes

/// The executable that is to take the daemon's place.
struct NextExecutable {
    /// The time that each check may take.
    private static let limit = Duration.seconds(30)
    /// The largest part of a check's output that is kept.
    private static let outputLimit = 64 << 10

    let path: String

    /// Runs the executable to learn its version.
    ///
    /// - Throws: `failed` when it can't be run, or isn't a daemon.
    func version() async throws(ControlError) -> String {
        let (status, output, errors) = try await run(["--version"])
        let version = String(output.prefix { $0 != "\n" })
        let parts = version.prefix { $0 != "-" && $0 != "+" }.split(separator: ".", omittingEmptySubsequences: false)
        guard status == .exited(code: 0), parts.count == 3, parts.allSatisfy({ UInt($0) != nil }) else {
            let shown = (output + errors).prefix(200).split(separator: "\n").first.map(String.init) ?? "nothing"
            throw ControlError(.failed, "\(path) isn't a coordinatord: --version has printed \(shown); nothing was changed")
        }
        return version
    }

    /// Has the executable check a configuration file.
    ///
    /// - Throws: `badConfiguration` with its problems.
    func check(_ file: String) async throws(ControlError) {
        let (status, _, errors) = try await run(["--check-config", file])
        if status == .exited(code: 0) { return }
        guard status == .exited(code: ControlError.Code.badConfiguration.exitCode) else {
            throw ControlError(.failed, "\(path) can't check \(file): \(errors.cut(to: 1024)); nothing was changed")
        }
        throw ControlError(.badConfiguration, String(errors.trimming { $0 == "\n" }))
    }

    private func run(_ arguments: [String]) async throws(ControlError) -> (status: ExitStatus, output: String, errors: String) {
        let (output, errors) = (Collected(), Collected())
        var specification = ProcessSpecification(
            executable: path,
            arguments: arguments,
            standardOutput: .captured { output.add($0) },
            standardError: .captured { errors.add($0) },
            killsGroupAtExit: true
        )
        specification.subject = "check of \(path) for an upgrade"
        let process: ChildProcess
        do throws(ProcessError) {
            process = try await ProcessSpawner.shared.spawn(specification)
        } catch {
            throw ControlError(.failed, "\(error.message); nothing was changed")
        }
        let end = OneShot<ExitStatus>()
        process.onExit { end.settle($0) }
        guard let status = await end.value(before: .now + Self.limit) else {
            _ = await process.terminate(grace: .zero)
            throw ControlError(.failed, "\(path) hasn't ended within \(Self.limit); nothing was changed")
        }
        return (status, output.text, errors.text)
    }

    /// What a check has written, up to a limit.
    private final class Collected: Sendable {
        private let bytes = Lock<[UInt8]>([])

        func add(_ more: [UInt8]) {
            bytes.withLock { bytes in bytes += more.prefix(max(0, NextExecutable.outputLimit - bytes.count)) }
        }

        var text: String { String(decoding: bytes.withLock { $0 }, as: UTF8.self) }
    }
}

extension String {
    fileprivate func trimming(_ isCut: (Character) -> Bool) -> Substring {
        var rest = self[...]
        while let last = rest.last, isCut(last) { rest.removeLast() }
        return rest
    }
}
