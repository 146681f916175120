import ConcurrencySupport
import Processes

/// Looks at the store's history whenever something has happened.
final class LocalWatch: WatchReader {
    private let store: LocalStore
    private let range: StoreRange
    private var seen: StoreRevision
    private var isOver = false

    init(store: LocalStore, range: StoreRange, after revision: StoreRevision) {
        (self.store, self.range, seen) = (store, range, revision)
    }

    func next() async -> StoreEvent? {
        while !isOver, !Task.isCancelled {
            switch await store.look(range, after: seen) {
            case .changes(let changes, let revision):
                seen = revision
                return .changed(changes)
            case .outdated:
                isOver = true
                return .outdated
            case .nothing(let arrival, let leaseEnd):
                // A lease ends when a watch looks: without one, or another call, there is none that could tell the difference.
                let timer = leaseEnd.map { end in ContinuousTimers.schedule(at: end) { arrival.settle() } }
                _ = await arrival.valueUnlessCancelled()
                if let timer { ContinuousTimers.cancel(timer) }
            }
        }
        return nil
    }
}
