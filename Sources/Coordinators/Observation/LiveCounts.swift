import Synchronization

/// The numbers of live objects in a runtime.
final class LiveCounts: Sendable {
    let coordinators = Atomic<Int>(0)
    let links = Atomic<Int>(0)
    let openAsks = Atomic<Int>(0)
    let observers = Atomic<Int>(0)
    let spares = Atomic<Int>(0)

    var counters: RuntimeCounters {
        RuntimeCounters(
            coordinators: coordinators.load(ordering: .relaxed),
            links: links.load(ordering: .relaxed),
            openAsks: openAsks.load(ordering: .relaxed),
            observers: observers.load(ordering: .relaxed),
            spares: spares.load(ordering: .relaxed)
        )
    }
}
