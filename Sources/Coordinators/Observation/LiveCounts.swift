import Synchronization

/// What is alive in a runtime, counted as it comes and goes.
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
