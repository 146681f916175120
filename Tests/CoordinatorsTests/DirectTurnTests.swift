import CoordinatorsTesting
import Synchronization
import TestSupport
import Testing

@testable import Coordinators

@Suite("The turn of direct asks", .timeLimit(minutes: 2))
struct DirectTurnTests {
    #if !SLOW_PATH_ONLY
    @Test("One task at a time has it, and each gets it as often as it wants, however they come together", arguments: [2, 64])
    func exclusive(tasks: Int) async {
        let shared = SharedTurn()
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<tasks {
                group.addTask {
                    for number in 0..<(20_000 / tasks) {
                        await shared.take()
                        let others = shared.inside.add(1, ordering: .relaxed).oldValue
                        if others != 0 { shared.violations.add(1, ordering: .relaxed) }
                        // Some keep it for longer than the others look for it.
                        if (task + number) % 16 == 0 { await Task.yield() }
                        shared.inside.subtract(1, ordering: .relaxed)
                        shared.count.add(1, ordering: .relaxed)
                        shared.turn.giveUp()
                    }
                }
            }
        }
        let (violations, count) = (shared.violations.load(ordering: .relaxed), shared.count.load(ordering: .relaxed))
        #expect(violations == 0 && count == 20_000 / tasks * tasks)
        // Nothing is left behind.
        let isFree = shared.turn.takeIfFree()
        #expect(isFree)
    }

    @Test("It's handed over to a waiter that others have passed too often")
    func handedOver() async throws {
        let (shared, executor) = (SharedTurn(), HeldExecutor())
        await shared.take()
        let waiter = Task(executorPreference: executor) {
            await shared.take()
            shared.turn.giveUp()
        }
        try await eventually("the waiter waits") {
            executor.runJobs()
            return shared.turn.isAwaited
        }
        // The waiter is awake from here on, but doesn't get to run.
        shared.turn.giveUp()
        var passes = 0
        while passes < 10_000, shared.turn.takeIfFree() {
            passes += 1
            shared.turn.giveUp()
        }
        #expect((1...1_000).contains(passes))
        try await eventually("the waiter has had the turn") {
            executor.runJobs()
            return !shared.turn.isAwaited
        }
        await waiter.value
        let isFree = shared.turn.takeIfFree()
        #expect(isFree)
    }
    #endif

    @Test("A coordinator that asks and can't go on, because it's busy, holds up no other asker")
    func busyAsker() async throws {
        try await BlockedThread.run {
            // A test that fails leaves no thread blocked.
            defer { BusyChild.mayGoOn.open() }
            try await withRuntime(SlowRoot.self) { runtime in
                async let asked: Void = runtime.ask(AskRoot(), at: "/busy", timeout: .seconds(60))
                try await eventually("the root is asked") { SlowRoot.asked.load(ordering: .relaxed) > 0 }
                async let blocked: Void = runtime.ask(Block(), at: "/busy", timeout: .seconds(60))
                try await eventually("the asker is busy") { BusyChild.mayGoOn.isAwaited }
                // The first ask has been handled, and its asker can't take the answer.
                for _ in 0..<3 { try await runtime.ask(AskRootFreely(), at: "/other", timeout: .seconds(60)) }
                #expect(BusyChild.mayGoOn.isAwaited)
                BusyChild.mayGoOn.open()
                try await blocked
                try await asked
            }
        }
    }
}

#if !SLOW_PATH_ONLY
/// A turn, and what its users do.
private final class SharedTurn: Sendable {
    let turn = DirectTurn()
    let inside = Atomic<Int>(0)
    let violations = Atomic<Int>(0)
    let count = Atomic<Int>(0)
    let isDone = Atomic<Bool>(false)

    func take() async {
        if !turn.takeIfFree() { await turn.acquireTurn() }
    }
}
#endif

/// An executor that runs its jobs when it's told to.
private final class HeldExecutor: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    func runJobs() {
        while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}

private struct Ping: ResponderMessage {}
private struct AskRoot: ResponderMessage {}
private struct AskRootFreely: ResponderMessage {}
private struct Block: ResponderMessage {}

private actor SlowRoot: Coordinator {
    static let asked = Atomic<Int>(0)

    static let responders: Responders = [
        .respond(to: Ping.self) { _, _ in
            // The first one takes long enough for its asker to become busy.
            guard asked.add(1, ordering: .relaxed).oldValue == 0 else { return }
            BusyChild.isBlocked.pass()
        }
    ]

    nonisolated let context: Context

    init(_ context: Context) { self.context = context }

    func start() async throws { for key in ["busy", "other"] { try await context.start(BusyChild.self, as: key) } }
}

private actor BusyChild: Coordinator {
    /// Opened by a child that is about to wait for the other.
    static let isBlocked = ThreadGate()
    static let mayGoOn = ThreadGate()

    static let responders: Responders = [
        .respond(to: AskRoot.self) { me, _ in try await me.context.ask(Ping(), timeout: .seconds(60)) },
        .respond(to: AskRootFreely.self) { me, _ in
            let context = me.context
            try await Task.detached { try await context.ask(Ping(), timeout: .seconds(60)) }.value
        },
        .respond(to: Block.self) { _, _ in
            isBlocked.open()
            mayGoOn.pass()
        },
    ]

    nonisolated let context: Context

    init(_ context: Context) { self.context = context }
}
