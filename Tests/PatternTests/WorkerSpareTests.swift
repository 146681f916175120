import ConcurrencySupport
import Coordinators
import Fixtures
import Glibc
import Processes
import TestSupport
import Testing

@Suite("Spares", .timeLimit(minutes: 3))
struct WorkerSpareTests {
    @Test("After kill -9 the next incarnation runs in a process that was there before, and another takes its place")
    func nextLife() async throws {
        try await run { tree, worker in
            try await tree.startChild(sparing: 1)
            for round in 1...5 {
                let before = try await tree.place(of: "/a", incarnation: UInt32(round))
                let spares = try await worker.settled(at: 2, in: tree).filter { $0.processID != before.pid }
                let spare = try #require(spares.first)
                #expect(kill(before.pid, SIGKILL) == 0)
                let after = try await tree.place(of: "/a", incarnation: UInt32(round + 1))
                #expect(after.pid == spare.processID)
                // The number and its start: it isn't another one with the number.
                #expect(spare.isAlive)
            }
            let snapshot = try await tree.runtime.snapshot(of: "/a")
            #expect(snapshot.restarts == 5)
        }
    }

    @Test("The requested number of spares is kept, and none of them is the child")
    func several() async throws {
        try await run { tree, worker in
            let child = try await tree.startChild(sparing: 3)
            let all = try await worker.settled(at: 4, in: tree)
            let there = try await tree.whereIs("/a")
            #expect(all.contains { $0.processID == there.pid })
            // The spares aren't part of the tree, which has one child.
            let snapshot = try await tree.runtime.snapshot()
            #expect(snapshot.children.count == 1)
            #expect(child.incarnation == 1)
        }
    }

    @Test("An idle spare that is killed is replaced, without an effect on the child")
    func idleKilled() async throws {
        try await run { tree, worker in
            try await tree.startChild(sparing: 1)
            let there = try await tree.whereIs("/a")
            for _ in 0..<3 {
                let spares = try await worker.settled(at: 2, in: tree).filter { $0.processID != there.pid }
                let spare = try #require(spares.first)
                try spare.send(.kill)
                await spare.waitUntilGone()
                let now = try await worker.settled(at: 2, in: tree)
                #expect(!now.contains(spare))
            }
            let still = try await tree.whereIs("/a")
            #expect(still == there)
            #expect(await tree.root.heard.isEmpty)
        }
    }

    @Test("A stop leaves no spare, and neither does the end of the runtime", arguments: [true, false])
    func gone(_ stopsChild: Bool) async throws {
        let worker = try NamedWorker()
        try await LifecycleTree.run(worker.options) { tree in
            let child = try await tree.startChild(sparing: 2)
            _ = try await worker.settled(at: 3, in: tree)
            if stopsChild {
                await child.remove()
                try await eventually("no process is left") { worker.children.isEmpty }
                // Its key can be taken again, with spares of its own.
                try await tree.startChild(sparing: 1)
                _ = try await worker.settled(at: 2, in: tree)
            }
        }
        try await eventually("no process is left") { worker.children.isEmpty }
    }

    @Test("A runtime that has stopped has no spares left, whether they were starting, idle or in use", arguments: [1, 2, 5, 9])
    func stopped(_ count: Int) async throws {
        let worker = try NamedWorker()
        try await LifecycleTree.run(worker.options) { tree in
            try await tree.startChild(sparing: 8)
            // Some of the nine have come by then. A process that is being killed loses its command line before it's gone: it's known by its
            // identity.
            let seen = Lock<Set<ProcessIdentity>>([])
            try await eventually("there are \(count) processes") {
                seen.withLock { seen in
                    seen.formUnion(worker.children)
                    return seen.count >= count
                }
            }
            await tree.runtime.stop()
            #expect(worker.children.isEmpty)
            #expect(seen.withLock { $0.filter(\.isAlive) }.isEmpty)
        }
    }

    @Test("A child that is started again with another plan has that plan's spares, or none")
    func otherPlan() async throws {
        try await run { tree, worker in
            try await tree.startChild(sparing: 2)
            let former = try await worker.settled(at: 3, in: tree)
            try await tree.runtime.stop("/a")
            try await tree.startChild(sparing: 0)
            let now = try await worker.settled(at: 1, in: tree)
            #expect(now.isDisjoint(with: former))
            try await tree.runtime.stop("/a")
            try await tree.startChild(sparing: 1)
            _ = try await worker.settled(at: 2, in: tree)
        }
    }

    @Test("A spare that has waited for the longest age is replaced")
    func age() async throws {
        try await run { tree, worker in
            let recycling = Recycling(age: .seconds(1), jitter: 0)
            let child = try await tree.context.start(LifeChild.self, as: "a", in: .worker(spares: 2, recycling: recycling)) {
                $0.journal = tree.journal
            }
            // Lives alone would have needed the first three, and one more each.
            var seen: Set<ProcessIdentity> = []
            try await eventually("more processes than that") {
                seen.formUnion(worker.children)
                return seen.count >= Int(child.incarnation) + 3
            }
            try await eventually("there are as many") { worker.children.count == 3 }
            #expect(await !tree.root.heard.contains { $0.hasPrefix("crashed") })
        }
    }

    @Test("The spares of a killed worker end with it, before its next incarnation begins")
    func spawnerKilled() async throws {
        let worker = try NamedWorker()
        try await LifecycleTree.run(worker.options) { tree in
            try await tree.startChild(sparing: 0)
            let first = try await tree.place(of: "/a", incarnation: 1)
            _ = try await tree.perform(.startSparedChild("b", spares: 2), at: "/a")
            try await eventually("two spares wait") { try await tree.runtime.counters(of: "/a").spares == 2 }
            try await eventually("the child is there too") { NamedWorker.children(of: first.pid).count == 3 }
            let below = NamedWorker.children(of: first.pid)
            #expect(kill(first.pid, SIGKILL) == 0)
            let second = try await tree.place(of: "/a", incarnation: 2)
            #expect(second.pid != first.pid)
            for process in below { #expect(!process.isAlive) }
        }
        try await eventually("no process is left") { worker.children.isEmpty }
    }

    @Test("A child that is started again after a stop has its spares again")
    func startedAgain() async throws {
        try await run { tree, worker in
            try await tree.startChild(sparing: 1)
            _ = try await worker.settled(at: 2, in: tree)
            try await tree.runtime.stop("/a")
            try await tree.runtime.start("/a")
            _ = try await worker.settled(at: 2, in: tree)
            let echo = try await tree.perform(.echo("back"), at: "/a")
            #expect(echo == "back")
        }
    }

    @Test("An empty bucket of restarts delays spares, and no more")
    func emptyBucket() async throws {
        let worker = try NamedWorker()
        var options = worker.options
        options.workerRestarts = TokenBucket(rate: 1, burst: 1)
        try await LifecycleTree.run(options) { tree in
            try await tree.startChild(sparing: 2)
            for _ in 0..<2 {
                let all = try await worker.settled(at: 3, in: tree)
                let there = try await tree.whereIs("/a")
                for spare in all where spare.processID != there.pid { try spare.send(.kill) }
                try await eventually("they are gone") { all.count(where: \.isAlive) == 1 }
            }
            _ = try await worker.settled(at: 3, in: tree)
        }
    }

    private func run(_ body: (LifecycleTree, NamedWorker) async throws -> Void) async throws {
        let worker = try NamedWorker()
        try await LifecycleTree.run(worker.options) { try await body($0, worker) }
        try await eventually("no process is left") { worker.children.isEmpty }
    }
}

extension NamedWorker {
    var options: CoordinatorRuntime.Options {
        var options = Support.options
        options.workerExecutable = executable
        return options
    }

    /// Waits until there are so many processes, all of them spares but one.
    fileprivate func settled(at count: Int, in tree: LifecycleTree) async throws -> Set<ProcessIdentity> {
        try await eventually("\(count - 1) spares wait") { tree.runtime.counters.spares == count - 1 }
        var found: Set<ProcessIdentity> = []
        try await eventually("there are \(count) processes") {
            found = children
            return found.count == count
        }
        return found
    }
}

extension LifecycleTree {
    @discardableResult
    fileprivate func startChild(sparing spares: Int) async throws -> Child<LifeChild> {
        try await context.start(LifeChild.self, as: "a", in: .worker(spares: spares)) { $0.journal = journal }
    }
}
