import ConcurrencySupport
import Coordinators
import Fixtures
import TestSupport
import Testing

/// Writes down what it's told.
final class Auditor: CoordinatorDelegate {
    private struct State {
        var events: [StepCoordinator.Event] = []
        var changes: [String] = []
    }

    private let state = Lock(State())

    var events: [StepCoordinator.Event] { state.withLock { $0.events } }
    var changes: [String] { state.withLock { $0.changes } }

    func child(_ child: Child<StepCoordinator>, didSend event: StepCoordinator.Event) async {
        state.withLock { $0.events.append(event) }
    }

    func child(_ child: Child<StepCoordinator>, didChange change: LifecycleChange) async {
        state.withLock { $0.changes.append(Fixture.word(for: change)) }
    }
}

/// Is occupied by an event for as long as it may.
final class Dawdler: CoordinatorDelegate {
    private let heard = Lock(0)

    var count: Int { heard.withLock { $0 } }

    func child(_ child: Child<StepCoordinator>, didSend event: StepCoordinator.Event) async {
        heard.withLock { $0 += 1 }
        try? await untilCancelled()
    }
}

/// Implements nothing: both methods have empty defaults.
final class Deaf: CoordinatorDelegate {
    typealias Subject = StepCoordinator
}

/// A delegate that only the delegates know of would be kept alive by them, if they weren't weak.
struct WeakReference<Object: AnyObject> {
    weak var object: Object?
}

/// Events that a closure has heard.
final class Heard: Sendable {
    private let all = Lock<[StepCoordinator.Event]>([])

    var events: [StepCoordinator.Event] { all.withLock { $0 } }
    func append(_ event: StepCoordinator.Event) { all.withLock { $0.append(event) } }
}
