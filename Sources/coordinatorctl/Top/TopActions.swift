import ConcurrencySupport
import Control
import Processes

/// The actions of `top` that go on beside the screen, each on a thread and a connection of its own.
///
/// The daemon carries an action out to its end when the command ends before.
final class TopActions: Sendable {
    private struct State {
        var running: [TopRequest] = []
        var latest: TopNotice?
        var hasNews = false
    }

    private let directory: RuntimeDirectory
    /// Ends the screen's wait for a key; called by other threads.
    private let wake: @Sendable () -> Void
    private let state = Lock(State())

    init(at directory: RuntimeDirectory, wake: @escaping @Sendable () -> Void) { (self.directory, self.wake) = (directory, wake) }

    /// The latest outcome, until it's forgotten, or else what goes on; nil: there is neither.
    var notice: TopNotice? {
        state.withLock { state in
            if let latest = state.latest { return latest }
            guard let first = state.running.first else { return nil }
            let rest = state.running.count > 1 ? ", and \(state.running.count - 1) more" : ""
            return TopNotice(text: "\(first.action.progress) \(first.path)\(rest) …")
        }
    }

    /// Returns whether an action has ended since the last call.
    func takeNews() -> Bool {
        state.withLock { state in
            defer { state.hasNews = false }
            return state.hasNews
        }
    }

    /// Forgets the latest outcome, which the user has seen.
    func forget() { state.withLock { $0.latest = nil } }

    /// Begins an action; one that goes on already isn't begun again.
    func open(_ request: TopRequest) {
        let isNew = state.withLock { state -> Bool in
            state.latest = nil
            guard !state.running.contains(request) else { return false }
            state.running.append(request)
            return true
        }
        guard isNew else { return }
        let isBegun = DetachedThread.run { self.end(request, Self.outcome(of: request, self.directory)) }
        if !isBegun { end(request, TopNotice(text: "no thread can be made for it: too many run", isFailure: true)) }
    }

    private func end(_ request: TopRequest, _ outcome: TopNotice) {
        state.withLock { state in
            state.running.removeAll { $0 == request }
            (state.latest, state.hasNews) = (outcome, true)
        }
        wake()
    }

    private static func outcome(of request: TopRequest, _ directory: RuntimeDirectory) -> TopNotice {
        do throws(ControlError) {
            var client = try BlockingControlClient.connected(to: directory)
            let json = try client.call(request.action.operation(on: request.path))
            let result = try ControlJSON.decode(LifecycleResult.self, from: json)
            return TopNotice(text: result.text.split(separator: "\n").joined(separator: " "))
        } catch {
            return TopNotice(text: "can't \(request.action.name) \(request.path): \(error.message)", isFailure: true)
        }
    }
}
