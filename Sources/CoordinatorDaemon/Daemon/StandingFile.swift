import ConcurrencySupport
import Control
import Coordinators
import DaemonConfiguration
import Glibc
import Logging
import Processes
import WireProtocol

/// The file that tells the daemon after one that was killed how its children stood, as far as neither the configuration nor a process tells it.
///
/// It has those that don't run, because an operator has stopped them or because they have ended and aren't started again, those that are paused
/// by name, and those that only an operator has started. One that was given up isn't among them: the next daemon tries it again.
///
/// The file is in the runtime directory, and there is none as long as it would say nothing. A change is written before the operator who has
/// asked for it is answered, and any other when the daemon learns of it. An orderly end removes it, and in another boot it isn't read.
final class StandingFile: Sendable {
    /// What the file says.
    struct Content: Codable, Equatable {
        private(set) var format = currentFormat
        private(set) var boot = CoordinatorRuntime.boot
        var resting: [String: Resting] = [:]
        /// What those are that have ended by themselves, condensed: one that the file says otherwise by now is another program.
        var ended: [String: String] = [:]
        var paused: Set<String> = []
        var started: Set<String> = []

        private static let currentFormat = 1

        var isEmpty: Bool { resting.isEmpty && paused.isEmpty && started.isEmpty }
        /// Whether this daemon reads the format, and what it says is about this boot.
        fileprivate var counts: Bool { format == Self.currentFormat && boot == CoordinatorRuntime.boot }

        /// Whether the change of a child makes another content likely.
        fileprivate func mayChange(with change: LifecycleChange, of path: String) -> Bool {
            switch change {
            case .started, .restarted: resting[path] != nil
            case .stopped, .gaveUp, .paused, .resumed: true
            case .crashed, .startFailed: false
            }
        }
    }

    private struct State {
        var written = Content()
        var isClosed = false
    }

    private static let name = "children.json"
    private static let limit = 16 << 20

    private let path: String
    private let children: ConfiguredChildren
    private let runtime: CoordinatorRuntime
    private let logger: Logger
    private let trouble: Trouble<Int32>
    private let calls: FileCalls
    private let state = Lock(State())

    init(
        _ directory: RuntimeDirectory,
        _ children: ConfiguredChildren,
        _ runtime: CoordinatorRuntime,
        _ logger: Logger,
        calls: FileCalls = .live
    ) {
        let path = directory.file(Self.name)
        self.path = path
        trouble = Trouble { change in
            var metadata: Logger.Metadata = ["file": "\(path)"]
            switch change {
            case .began(let failure):
                metadata["reason"] = "\(String(cString: strerror(failure)))"
                logger.error(
                    "what is stopped or paused can't be noted; a next daemon doesn't know it, if this one is killed",
                    metadata: metadata
                )
            case .ended: logger.notice("what is stopped or paused is noted again", metadata: metadata)
            }
        }
        (self.children, self.runtime, self.logger, self.calls) = (children, runtime, logger, calls)
    }

    /// Has the children go on as the file of a killed daemon says, and follows their changes from now on; called before they are started.
    ///
    /// - Parameter isReplacement: Whether the daemon has taken the former one's place in the same process, which has left more than the file.
    func begin(isReplacement: Bool) {
        if let content = read() {
            state.withLock { $0.written = content }
            if !isReplacement {
                let resting = content.resting.filter { path, _ in content.ended[path].map { $0 == condensed(path) } ?? true }
                children.rest(resting, startedByOperators: content.started)
                runtime.pauseAtStart(content.paused.sorted())
                logger.notice(
                    "children go on as they stood when the former daemon was killed",
                    metadata: [
                        "inactive": "\(resting.keys.sorted().joined(separator: " "))",
                        "paused": "\(content.paused.sorted().joined(separator: " "))",
                    ]
                )
            }
        } else {
            // One of another boot.
            _ = remove()
        }
        children.standObserver.withLock {
            $0 = { [weak self] path, change in
                guard let self else { return }
                if state.withLock({ $0.written.mayChange(with: change, of: path.description) }) { save() }
            }
        }
    }

    /// Writes how the children stand, if that isn't what the file says.
    func save() {
        let failure = state.withLock { state -> Int32? in
            // The children are looked at under the lock, so that what is written last is what was seen last.
            guard !state.isClosed else { return nil }
            let content = content
            if content == state.written, content.isEmpty || access(path, F_OK) == 0 { return nil }
            let failure = content.isEmpty ? remove() : write(content)
            if failure == 0 { state.written = content }
            return failure
        }
        guard let failure else { return }
        if failure == 0 { trouble.succeeded() } else { trouble.failed(failure) }
    }

    /// Removes the file: the daemon ends in order, and the next one begins as the configuration says.
    func close() {
        state.withLock { state in
            state.isClosed = true
            // Another daemon may have the directory by now.
            if !state.written.isEmpty { _ = remove() }
        }
    }

    private var content: Content {
        var content = Content()
        content.resting = children.resting().filter { path, rest in
            // One that is held is held again as long as what it requires doesn't run.
            !rest.isHeld && (rest.isStopped == true || rest.lastExit != nil && !isGivenUp(path))
        }
        for (path, rest) in content.resting where rest.isStopped != true { content.ended[path] = condensed(path) }
        content.paused = Set(runtime.pausedByName)
        content.started = children.startedByOperators()
        return content
    }

    private func place(of path: String) -> ConfiguredChildren.Place? { CoordinatorPath(path).flatMap { children.place(of: $0) } }

    private func isGivenUp(_ path: String) -> Bool {
        place(of: path).map { $0.siblings.supervisor?.state(of: $0.child.key) == .failed } ?? false
    }

    /// Returns what the child at a path is, condensed.
    private func condensed(_ path: String) -> String? {
        place(of: path).flatMap { try? ControlJSON.value(of: $0.child.content) }?.condensed
    }

    private func read() -> Content? {
        guard access(path, F_OK) == 0, let bytes = try? RegularFile.read(path, upTo: Self.limit),
            let value = try? ControlJSON.parse(answer: bytes), let content = try? ControlJSON.decode(Content.self, from: value),
            content.counts
        else { return nil }
        return content
    }

    /// - Returns: The error's number, or 0.
    private func write(_ content: Content) -> Int32 {
        guard let value = try? ControlJSON.value(of: content), let bytes = try? ControlJSON.bytes(of: value) else { return EINVAL }
        let descriptor = calls.open("\(path).new", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        guard descriptor >= 0 else { return -descriptor }
        let count = calls.write(descriptor, bytes)
        calls.close(descriptor)
        // A disk takes a part when it's about to be full.
        var failure = count == bytes.count ? 0 : count < 0 ? Int32(-count) : ENOSPC
        if failure == 0 { failure = -calls.rename("\(path).new", path) }
        if failure != 0 { _ = calls.unlink("\(path).new") }
        return failure
    }

    /// - Returns: The error's number, or 0.
    private func remove() -> Int32 {
        let failure = -calls.unlink(path)
        return failure == ENOENT ? 0 : failure
    }
}
