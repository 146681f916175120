import Coordinators
import Fixtures
import Glibc
import TestSupport
import Testing

/// Scenarios after which the tree has left nothing behind, and in which it could wait for itself; the counts are printed.
@Suite("Pattern: nothing left behind", .timeLimit(minutes: 5))
struct PatternProofTests {
    // MARK: Nothing is left

    @Test("Children that run to their ends in the root's process, many of them, leave nothing behind")
    func cyclesBesideTheRoot() async throws {
        try await LifecycleTree.run { tree in
            let before = Alive(tree.runtime.counters)
            let count = rounds(short: 300, all: 1_000, long: 10_000)
            for _ in 0..<count {
                let output = try await tree.context.run(LifeChild.self, as: "cycle") {
                    $0.greeting = "cycle"
                    $0.opening = .finishes
                }
                try #require(output == "cycle")
            }
            try await eventually("everything is as before") {
                Alive(tree.runtime.counters) == before && LiveInstances.count(of: "cycle") == 0
            }
            #expect(tree.context.children.isEmpty)
            print("\(count) children in the root's process: before \(before), after \(Alive(tree.runtime.counters))")
        }
    }

    /// The process in which the children run to their ends: one that does nothing else, since other tests run in this one.
    enum Cycles: String, CaseIterable, CustomTestStringConvertible {
        case inTheProcessOfTheirParent = "in their parent's process"
        case inOneLongLivedWorker = "in one long-lived worker"
        case inWorkersOfTheirOwn = "in workers of their own"

        var count: Int {
            self == .inWorkersOfTheirOwn ? rounds(short: 20, all: 50, long: 500) : rounds(short: 300, all: 1_000, long: 10_000)
        }

        var testDescription: String { rawValue }
    }

    @Test("Children and workers that run to their ends, many of them, leave nothing behind", arguments: Cycles.allCases)
    func cyclesInAWorker(_ cycles: Cycles) async throws {
        var options = Support.options
        let temporary = try TemporaryDirectory()
        let directory = temporary.path
        options.runtimeDirectory = directory
        try await LifecycleTree.run(options) { tree in
            try await tree.context.start(LifeLab.self, as: "lab", in: .worker)
            var paths: [CoordinatorPath] = ["/lab"]
            if cycles == .inOneLongLivedWorker {
                let inner = try await tree.runtime.ask(LifeLab.StartInner(), at: "/lab", timeout: .seconds(30))
                #expect(inner == "/lab/inner")
                paths.append("/lab/inner")
            }
            let isWorker = cycles == .inWorkersOfTheirOwn
            let place = paths[paths.count - 1]
            // What a process makes once and keeps is made by the first few: threads, listener, allocations.
            let warmUp = isWorker ? 5 : 100
            let warm = try await tree.runtime.ask(LifeLab.Cycle(warmUp, inWorker: isWorker), at: place, timeout: .seconds(120))
            #expect(warm == warmUp)

            // The last one's actor and node go a moment after its parent has heard of its end.
            var before = try await Remains.found(in: tree, at: paths, sockets: directory)
            try await eventually("the last of the first few is gone") {
                before = try await Remains.found(in: tree, at: paths, sockets: directory)
                return before.isEmpty
            }
            let done = try await tree.runtime.ask(LifeLab.Cycle(cycles.count, inWorker: isWorker), at: place, timeout: .seconds(240))
            #expect(done == cycles.count)
            var after = before
            try await eventually("everything is as before:\n  before \(before)\n  after  \(after)") {
                after = try await Remains.found(in: tree, at: paths, sockets: directory)
                return after.isNoMore(than: before)
            }
            print("\(cycles.count) \(cycles.rawValue):\n  before \(before)\n  after  \(after)")
        }
        #expect(Files.names(in: directory).isEmpty)
    }

    // MARK: One instance

    @Test("A hundred concurrent starts of one key make one instance", arguments: Where.allCases)
    func oneInstance(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let greetings = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<100 {
                    group.addTask {
                        let child = try await tree.startChild("one", place) { $0.greeting = "one" }
                        #expect(child.incarnation == 1)
                        return try await child.perform(.greeting)
                    }
                }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(greetings.count == 1)
            #expect(tree.journal.lines == ["start /one"])
            #expect(tree.context.children.map(\.path) == ["/one"])
            if place == .inProcess { #expect(LiveInstances.count(of: "one") == 1) }
            // All hundred have learnt it by return.
            #expect(await tree.root.heard.isEmpty)
        }
    }

    // MARK: A late stop

    @Test("A stop that ends late never removes the successor", arguments: Where.allCases)
    func lateStop(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let rounds = place.rounds
            for round in 1...rounds {
                let child = try await tree.startChild("a", place)
                // The stop is requested here and now, and ends whenever it does.
                let late = Task.immediate { await child.remove() }
                let successor = try await tree.startChild("a", place)
                await late.value
                try #require(successor.state == .active)
                try #require(successor.incarnation == UInt32(2 * round))
                try #require(try await successor.perform(.echo("alive")) == "alive")
                try #require(tree.context.children.map(\.path) == ["/a"])
                await successor.remove()
            }
            #expect(tree.lines("start", "stop") == (0..<2 * rounds).flatMap { _ in ["start /a", "stop /a"] })
            #expect(tree.context.children.isEmpty)
        }
    }

    @Test("The late end of a finished child never removes the successor", arguments: Where.allCases)
    func lateFinish(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            for _ in 1...place.rounds {
                let output = try await tree.context.run(LifeChild.self, as: "a", in: place.placement) { $0.opening = .finishes }
                try #require(output == "hello")
                let successor = try await tree.startChild("a", place)
                try #require(try await successor.perform(.echo("alive")) == "alive")
                try #require(successor.state == .active)
                try await tree.context.remove("a")
            }
            #expect(tree.context.children.isEmpty)
        }
    }

    // MARK: Finishing twice

    @Test("Finishing twice is one event, with the first output", arguments: Where.allCases)
    func finishTwice(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild("a", place)
            _ = try? await child.perform(.finishTwice("first", "second"))
            try await eventually("the first is heard") { await tree.root.heard.contains("stopped /a") }
            let output = Task {
                try await tree.context.run(LifeChild.self, as: "b", in: place.placement) { $0.journal = tree.journal }
            }
            try await eventually("it's there") { tree.context.child("b")?.state == .active }
            _ = try? await tree.perform(.finishTwice("first", "second"), at: "/b")
            #expect(try await output.value == "first")
            // A later event of one more child stands behind all that the others could still bring.
            try await tree.startChild("last", place)
            try await tree.runtime.stop("/last")
            try await eventually("the last is heard") { await tree.root.heard.contains("stopped /last") }
            let heard = await tree.root.heard
            #expect(heard.count { $0 == "stopped /a" } == 1)
            #expect(heard.count { $0 == "stopped /b" } <= 1)
            #expect(heard.allSatisfy { $0.hasPrefix("stopped") })
            #expect(tree.journal.count(of: "stop /a") == 1)
            #expect(tree.journal.count(of: "stop /b") == 1)
        }
    }

    // MARK: Asking each other

    @Test("A parent and its child ask each other a thousand times at once without a deadlock", arguments: Where.allCases)
    func askingEachOther(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            try await tree.startChild("a", place)
            for round in 0..<10 {
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    for number in 0..<100 {
                        let text = "\(round).\(number)"
                        // From a row of the root's down, and from there up to the root again.
                        group.addTask {
                            try await tree.runtime.ask(LifecycleRoot.AskChild(key: "a", text: text), timeout: .seconds(60)) == text
                        }
                        // From a row of the child's up.
                        group.addTask { try await tree.perform(.echo(text), at: "/a") == text }
                    }
                    for try await isRight in group { #expect(isRight) }
                }
            }
            try await eventually("no ask is left open") { tree.runtime.counters.openAsks == 0 }
        }
    }
}

/// The runtime's own counts of one tree.
private struct Alive: Equatable, CustomStringConvertible {
    var coordinators: Int
    var links: Int
    var openAsks: Int
    var observers: Int

    init(_ counters: RuntimeCounters) {
        coordinators = counters.coordinators
        links = counters.links
        openAsks = counters.openAsks
        observers = counters.observers
    }

    var description: String { "\(coordinators) coordinators, \(links) links, \(openAsks) open asks, \(observers) observers" }
}

/// The parts of a tree at one moment: by the kernel, by the runtime, and in the directory of its sockets.
private struct Remains: CustomStringConvertible {
    var root: Alive
    var processes: [Census]
    var runtimes: [Alive]
    var sockets: [String]

    static func found(in tree: LifecycleTree, at paths: [CoordinatorPath], sockets directory: String) async throws -> Remains {
        var processes: [Census] = []
        var counters: [RuntimeCounters] = []
        for path in paths {
            processes.append(try await tree.runtime.ask(LifeLab.TakeCensus(), at: path, timeout: .seconds(30)))
            counters.append(try await tree.runtime.counters(of: path))
        }
        return Remains(
            root: Alive(tree.runtime.counters),
            processes: processes,
            runtimes: counters.map(Alive.init),
            sockets: Files.names(in: directory)
        )
    }

    /// Nothing lives but those that the test began with.
    var isEmpty: Bool {
        root.coordinators == 1 && runtimes.allSatisfy { $0.coordinators == 1 } && processes.allSatisfy { $0.instances == 0 }
    }

    func isNoMore(than before: Remains) -> Bool {
        guard root == before.root, runtimes == before.runtimes, sockets == before.sockets else { return false }
        // Swift makes the threads of its pool when it needs them, one for each processor at most.
        let pool = sysconf(Int32(_SC_NPROCESSORS_ONLN))
        // Dispatch opens three descriptors for its clock and one for each signal when a starved process comes to it. Twenty cycles and
        // more that leak one each are more than that.
        let once = 6
        return zip(processes, before.processes).allSatisfy { now, then in
            now.instances == 0 && now.descriptors <= then.descriptors + once && now.threads <= then.threads + pool
                && now.childProcesses <= then.childProcesses
        }
    }

    var description: String {
        let each = zip(processes, runtimes).map { process, runtime in
            "\(process.instances) instances, \(process.descriptors) descriptors, \(process.threads) threads, "
                + "\(process.childProcesses) child processes, \(runtime)"
        }
        return "\(each.joined(separator: "; ")); root: \(root); \(sockets.count) sockets"
    }
}
