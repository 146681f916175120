import ConcurrencySupport
import Control
import Coordinators
import DaemonConfiguration
import Logging

/// The logs of all children.
final class ChildLogs: OutputReceiver {
    private struct State {
        var configuration: DaemonConfiguration {
            didSet { sharedFiles = configuration.sharedLogFiles }
        }
        /// The files of several children.
        var sharedFiles: Set<String>
        var logs: [String: ChildLog] = [:]
        /// The signal that something was written to a file.
        var written = OneShot<Void>()
    }

    /// The length of the longest part of a path that is a file's name, in bytes; a name has at most 255, its suffixes included.
    private static let nameLimit = 240

    private let directory: String
    /// The directory of the files whose place isn't configured, if it's in memory and they are there; nil otherwise.
    var directoryInMemory: String? {
        let isUsed = state.withLock { $0.configuration.usesLogDirectory }
        return isUsed && LogDirectory(path: directory).isInMemory ? directory : nil
    }
    private let daemon: DaemonOutput
    private let logger: Logger
    private let state: Lock<State>
    private let turns = LogTurns()

    /// - Parameter directory: the directory of the files whose place isn't configured.
    init(_ configuration: DaemonConfiguration, directory: String, daemon: DaemonOutput, logger: Logger) {
        self.directory = directory
        self.daemon = daemon
        self.logger = logger
        state = Lock(State(configuration: configuration, sharedFiles: configuration.sharedLogFiles))
    }

    /// Takes over the settings of another configuration; what is written from now on goes where it says.
    func apply(_ configuration: DaemonConfiguration) {
        let (logs, shared) = state.withLock { state in
            state.configuration = configuration
            return (Array(state.logs), state.sharedFiles)
        }
        for (path, log) in logs { log.settings = settings(of: path, configuration, shared) }
    }

    // MARK: Receiving

    func received(_ bytes: [UInt8], from origin: OutputOrigin) { log(of: origin.path.description).received(bytes, from: origin) }

    func isFull(_ origin: OutputOrigin) -> Bool { log(of: origin.path.description).isFull }

    func separatesErrors(of path: CoordinatorPath) -> Bool {
        state.withLock { $0.configuration.logging(of: path.description) }.standardError == .separate
    }

    /// Waits until everything that was taken is written, up to a time limit.
    ///
    /// - Parameter breaksLines: Whether lines that haven't ended are written too, as parts.
    func flush(within limit: Duration, breakingLines breaksLines: Bool = false) async {
        let logs = state.withLock { Array($0.logs.values) }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for log in logs { await log.flush(breakingLines: breaksLines) } }
            group.addTask { try? await Task.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
    }

    private func log(of path: String) -> ChildLog {
        state.withLock { state in
            if let log = state.logs[path] { return log }
            let settings = settings(of: path, state.configuration, state.sharedFiles)
            let log = ChildLog(path: path, settings, daemon: daemon, logger: logger, turns: turns) { [weak self] in
                self?.somethingWasWritten()
            }
            state.logs[path] = log
            return log
        }
    }

    private func somethingWasWritten() {
        let written = state.withLock { state in
            defer { state.written = OneShot() }
            return state.written
        }
        written.settle()
    }

    private func settings(of path: String, _ configuration: DaemonConfiguration, _ shared: Set<String>) -> ChildLog.Settings {
        let logging = configuration.logging(of: path)
        let file: String? =
            switch logging.destination {
            case .none?: nil
            case .file(let file)?: file
            case .directory(let directory)?: Self.file(of: path, in: directory)
            case nil: Self.file(of: path, in: directory)
            }
        return ChildLog.Settings(
            file: file,
            format: logging.format,
            maximumSize: logging.maximumSize,
            keep: logging.keep,
            daemonCopy: logging.daemonCopy,
            access: LogAccess(mode: logging.mode, owner: logging.owner),
            isShared: file.map(shared.contains) ?? false
        )
    }

    /// Returns the file of a path: a directory for each key but the last, which names the file.
    private static func file(of path: String, in directory: String) -> String {
        let names = path.split(separator: "/").map { key -> String in
            guard key.utf8.count > nameLimit else { return String(key) }
            // A hash tells long keys with the same beginning apart; 64-bit FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/.
            let hash = key.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
            return String(decoding: key.utf8.prefix(nameLimit - 17), as: UTF8.self) + "~" + String(hash, radix: 16)
        }
        return ([directory] + names).joined(separator: "/") + ".log"
    }

    // MARK: Reading

    /// A child with a log.
    struct Place: Hashable {
        let path: String
        /// The path of the file; nil means that the child's output isn't kept.
        let file: String?
        let keep: Int
        /// Whether the lines have nothing before them that tells their time and their child.
        var isRaw = false
        /// Whether other children write to the file.
        var isShared = false
    }

    /// Returns the children with a log at or below the paths, each once.
    ///
    /// - Throws: `.noSuchPath` when there is none at or below a path.
    func places(below paths: [CoordinatorPath]) throws(ControlError) -> [Place] {
        let (configuration, shared, known) = state.withLock { ($0.configuration, $0.sharedFiles, Array($0.logs.keys)) }
        let all = Set(configuration.children.map { "/\($0.key)" } + known).sorted()
        var found: [Place] = []
        for path in paths {
            let within = all.filter { CoordinatorPath($0)?.isWithin(path) ?? false }
            if within.isEmpty, !path.isRoot { throw Self.error(path, all) }
            for path in within {
                let settings = settings(of: path, configuration, shared)
                var place = Place(path: path, file: settings.file, keep: settings.keep)
                (place.isRaw, place.isShared) = (settings.format == .raw, settings.isShared)
                if !found.contains(place) { found.append(place) }
            }
        }
        return found
    }

    private static func error(_ path: CoordinatorPath, _ all: [String]) -> ControlError {
        guard let owner = all.first(where: { CoordinatorPath($0).map { path.isWithin($0) } ?? false }) else {
            return ControlError(.noSuchPath, "no child with a log is at or below \(path)")
        }
        return ControlError(.noSuchPath, "\(path) has no log of its own: what it writes is in that of \(owner)")
    }

    /// The signal that something is written after this call.
    var written: OneShot<Void> { state.withLock { $0.written } }
}
