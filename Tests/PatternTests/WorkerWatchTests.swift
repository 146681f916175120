import Coordinators
import Fixtures
import Glibc
import TestSupport
import Testing

@Suite("Watch", .timeLimit(minutes: 3))
struct WorkerWatchTests {
    @Test("All watchers get a stop once", arguments: Where.allCases)
    func stop(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild("a", place)
            let watching = (0..<50).map { _ in Task.immediate { try await tree.context.watch("/a") } }
            await child.remove()
            for task in watching {
                let termination = try await task.value
                #expect(termination.words == Self.words("/a", 1, .shutdown))
            }
        }
    }

    @Test("Watchers get a kill -9 with its signal")
    func killed() async throws {
        try await LifecycleTree.run { tree in
            try await tree.startChild("a", .worker)
            let watching = Task.immediate { try await tree.context.watch("/a") }
            try await tree.runtime.kill("/a")
            let termination = try await watching.value
            #expect(termination.words == Self.words("/a", 1, .signaled(SIGKILL)))
            // The next life is another one's to watch.
            _ = try await tree.place(of: "/a", incarnation: 2)
            let next = Task.immediate { try await tree.context.watch("/a") }
            try await tree.runtime.kill("/a")
            let second = try await next.value
            #expect(second.incarnation == 2)
        }
    }

    @Test("Watchers get a restart as the end of an incarnation", arguments: Where.allCases)
    func restart(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            try await tree.startChild("a", place)
            for life: UInt32 in 1...3 {
                let watching = Task.immediate { try await tree.context.watch("/a") }
                try await tree.runtime.restart("/a")
                let termination = try await watching.value
                #expect(termination.words == Self.words("/a", life, .shutdown))
            }
        }
    }

    @Test("Watchers get a child's final failure, and later watchers at once", arguments: Where.allCases)
    func gaveUp(_ place: Where) async throws {
        try await LifecycleTree.run(Support.options.allowing(restarts: 0)) { tree in
            let child = try await tree.startChild("a", place)
            let watching = Task.immediate { try await tree.context.watch("/a") }
            _ = try? await child.perform(.fail)
            let termination = try await watching.value
            #expect(termination.words == Self.words("/a", 1, .failed(#"Refusal(reason: "told to fail")"#)))
            try await eventually("it's given up") { child.state == .failed }
            let later = try await tree.context.watch("/a")
            #expect(later == termination)
        }
    }

    @Test("A watcher of a child that is gone, or never was, gets an answer at once", arguments: Where.allCases)
    func nobody(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            try await tree.startChild("a", place)
            for path: CoordinatorPath in ["/nobody", "/nobody/below", "/a/nobody"] {
                let termination = try await tree.context.watch(path)
                #expect(termination.words == Self.words(path, 0, .unknown))
            }
            try await tree.context.remove("a")
            let gone = try await tree.context.watch("/a")
            #expect(gone.words == Self.words("/a", 0, .unknown))
            await Support.expect(.unsupported) { _ = try await tree.context.watch(.root) }
        }
    }

    @Test("A watcher of a stopped child gets its exit reason")
    func kept() async throws {
        try await LifecycleTree.run { tree in
            try await tree.startChild("a", .inProcess)
            try await tree.runtime.stop("/a")
            let termination = try await tree.context.watch("/a")
            #expect(termination.words == Self.words("/a", 1, .shutdown))
        }
    }

    @Test("A watch ends with the process of the watched child's supervisor", arguments: Where.allCases)
    func supervisorKilled(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let middle = try await tree.startChild("middle", .worker)
            try await middle.perform(.startChild("inner", inWorker: place.isWorker))
            let watching = Task.immediate { try await tree.context.watch("/middle/inner") }
            // It has arrived: what was sent to the same coordinator after it is answered.
            _ = try await tree.whereIs("/middle")
            try await tree.runtime.kill("/middle")
            let termination = try await watching.value
            #expect(termination.words == Self.words("/middle/inner", 0, .unknown))
        }
    }

    @Test("A coordinator in another process is watched from a third", arguments: Where.allCases)
    func acrossProcesses(_ place: Where) async throws {
        try await PageTree.run { tree in
            let watcher = try await tree.start(WatcherCoordinator.self, as: "watcher", place)
            try await tree.step("middle", .worker)
            try await tree.step("child", below: "/middle", .worker)
            try await watcher.ask(Watching.Begin("/middle/child"), timeout: .seconds(15))
            try await tree.reads("/watcher watches")
            // Something of the watcher's that comes back from the same process was sent after it.
            _ = try await watcher.ask(Watching.Watch("/middle/nobody"), timeout: .seconds(15))
            _ = try await tree.runtime.stop("/middle/child")
            try await tree.reads("/watcher first: shutdown")
            try await tree.reads("/watcher second: shutdown")
            let words = tree.notebook.words(at: "/watcher")
            #expect(words == ["watches", "first: shutdown", "second: shutdown"])
        }
    }

    @Test("A cancelled watcher gets its cancellation, and the others the end")
    func cancelled() async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild("a", .inProcess)
            let cancelled = Task.immediate { try await tree.context.watch("/a") }
            let other = Task.immediate { try await tree.context.watch("/a") }
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            await child.remove()
            let termination = try await other.value
            #expect(termination.reason == .shutdown)
        }
    }

    @Test("A watcher that stops itself ends with stopped, and not with the other's end")
    func watcherStops() async throws {
        try await PageTree.run { tree in
            try await tree.step("child", .inProcess)
            let watcher = try await tree.start(WatcherCoordinator.self, as: "watcher")
            try await watcher.ask(Watching.Begin("/child"), timeout: .seconds(15))
            try await tree.root.remove("watcher")
            try await eventually("both have ended") { tree.notebook.words(at: "/watcher").count == 3 }
            #expect(tree.notebook.words(at: "/watcher") == ["watches", "first threw stopped", "second threw stopped"])
        }
    }

    @Test("A coordinator watches no other after its own stop")
    func afterStop() async throws {
        try await PageTree.run { tree in
            let root = tree.root
            await tree.runtime.stop()
            await Support.expect(.stopped) { _ = try await root.watch("/child") }
        }
    }

    private static func words(_ path: CoordinatorPath, _ incarnation: UInt32, _ reason: ExitReason) -> String {
        "\(path) \(incarnation) \(reason)"
    }
}

extension Termination {
    /// One can't be made outside of the library; in words it can be compared.
    fileprivate var words: String { "\(path) \(incarnation) \(reason)" }
}
