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
        var resting: [String: RestingChild] = [:]
        /// What those are that have ended by themselves, condensed: one that the file says otherwise by now is another program.
        var ended: [String: String] = [:]
        var paused: Set<String> = []
        var started: Set<String> = []

        private static let currentFormat = 1

        var isEmpty: Bool { resting.isEmpty && paused.isEmpty && started.isEmpty }
        /// Whether this daemon reads the format.
        fileprivate var isKnown: Bool { format == Self.currentFormat }
        /// Whether what it says is about this boot.
        fileprivate var isOfThisBoot: Bool { boot == CoordinatorRuntime.boot }

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
        /// Whether a save is to come that a child's change has asked for.
        var isSaveDue = false
    }

    /// The children that have ended, by their paths, with what each is, condensed.
    private typealias Condensed = [String: (child: ConfiguredChild, text: String)]

    /// The time after a child's change until the file is written: many that end together are written once.
    private static let gathering = Duration.milliseconds(100)
    /// The time after which a write that has failed is tried again.
    private static let pause = Duration.seconds(5)

    private static let name = "children.json"
    private static let limit = 16 << 20

    private let path: String
    private let children: ConfiguredChildren
    private let runtime: CoordinatorRuntime
    private let logger: Logger
    private let trouble: Trouble<Int32>
    private let calls: FileCalls
    private let state = Lock(State())
    /// Held while the file is written: the children are looked at under this lock, so that what is written last is what was seen last.
    private let saving = Lock<Condensed>([:])
    private let tasks = OwnedTasks()

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
    func load(isReplacement: Bool) async {
        switch await read() {
        case .content(let content):
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
        case .former: _ = remove()
        case .none: break
        case .unreadable(let reason):
            let kept = "\(path).bad"
            _ = calls.rename(path, kept)
            logger.error(
                "how children stood when the former daemon was killed can't be read; they begin as the configuration says",
                metadata: ["file": "\(kept)", "reason": "\(reason)"]
            )
        }
        children.standObserver.withLock {
            $0 = { [weak self] path, change in
                guard let self else { return }
                if state.withLock({ $0.written.mayChange(with: change, of: path.description) }) { saveLater(after: Self.gathering) }
            }
        }
    }

    /// Writes how the children stand after a while, unless that is to come already.
    private func saveLater(after pause: Duration) {
        let isFirst = state.withLock { state in
            defer { state.isSaveDue = true }
            return !state.isSaveDue && !state.isClosed
        }
        guard isFirst else { return }
        tasks.add { [self] in
            guard (try? await Task.sleep(for: pause)) != nil else { return }
            state.withLock { $0.isSaveDue = false }
            _ = try? await BlockingCalls.shared.run("how children stand") { [self] in save() }
        }
    }

    /// Writes how the children stand, if that isn't what the file says.
    func save() {
        let failure = saving.withLock { known -> Int32? in
            let (isClosed, written) = state.withLock { ($0.isClosed, $0.written) }
            guard !isClosed else { return nil }
            let content = content(&known)
            if content == written, content.isEmpty || access(path, F_OK) == 0 { return nil }
            let failure = content.isEmpty ? remove() : write(content)
            if failure == 0 { state.withLock { $0.written = content } }
            return failure
        }
        guard let failure else { return }
        if failure == 0 {
            trouble.succeeded()
        } else {
            trouble.failed(failure)
            saveLater(after: Self.pause)
        }
    }

    /// Removes the file: the daemon ends in order, and the next one begins as the configuration says.
    func close() async {
        saving.withLock { _ in
            let written = state.withLock { state in
                state.isClosed = true
                return state.written
            }
            // Another daemon may have the directory by now.
            if !written.isEmpty { _ = remove() }
        }
        await tasks.end()
    }

    private func content(_ known: inout Condensed) -> Content {
        var content = Content()
        content.resting = children.resting().filter { path, rest in
            // One that is held is held again as long as what it requires doesn't run.
            !rest.isHeld && rest.isRestarting != true && (rest.isStopped == true || rest.lastExit != nil && !isGivenUp(path))
        }
        for (path, rest) in content.resting where rest.isStopped != true { content.ended[path] = condensed(path, &known) }
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

    /// Returns what the child at a path is, condensed, which is computed again when it has changed.
    private func condensed(_ path: String, _ known: inout Condensed) -> String? {
        guard let child = place(of: path)?.child else { return nil }
        if let known = known[path], known.child == child { return known.text }
        guard let text = condensed(path) else { return nil }
        known[path] = (child, text)
        return text
    }

    private enum Reading {
        case content(Content)
        /// There is none.
        case none
        /// It's of another boot.
        case former
        case unreadable(String)
    }

    private func read() async -> Reading {
        do {
            return try await BlockingCalls.shared.run("how children stood") { [path] in Self.read(path) }
        } catch {
            return .unreadable("\(error)")
        }
    }

    private static func read(_ path: String) -> Reading {
        let bytes: [UInt8]
        do throws(RegularFile.Failure) {
            bytes = try RegularFile.read(path, upTo: limit)
        } catch {
            if case .notOpened(ENOENT) = error { return .none }
            return .unreadable(error.explanation)
        }
        do throws(ControlError) {
            let content = try ControlJSON.decode(Content.self, from: try ControlJSON.parse(answer: bytes))
            guard content.isKnown else { return .unreadable("it's of another version") }
            return content.isOfThisBoot ? .content(content) : .former
        } catch {
            return .unreadable(error.message)
        }
    }

    /// - Returns: The error's number, or 0.
    private func write(_ content: Content) -> Int32 {
        guard let value = try? ControlJSON.value(of: content), let bytes = try? ControlJSON.bytes(of: value) else { return EINVAL }
        return calls.replace(path, by: bytes)
    }

    /// - Returns: The error's number, or 0.
    private func remove() -> Int32 {
        let failure = -calls.unlink(path)
        return failure == ENOENT ? 0 : failure
    }
}
