import Coordinators
import Glibc
import PatternFixtures
import TestSupport
import Testing

@Suite("Watch", .serialized, .timeLimit(.minutes(3)))
struct WorkerWatchTests {
    @Test("Watch: a stop is told once to everybody who watches", arguments: Where.allCases)
    func stop(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild("a", place)
            let watching = (0..<50).map { _ in Task.immediate { try await tree.context.watch("/a") } }
            await child.stop()
            for task in watching {
                let termination = try await task.value
                #expect(termination.path == "/a")
                #expect(termination.incarnation == 1)
                #expect(termination.reason == .shutdown)
            }
        }
    }

    @Test("Watch: kill -9 is told with its signal")
    func killed() async throws {
        try await LifecycleTree.run { tree in
            try await tree.startChild("a", .worker)
            let watching = Task.immediate { try await tree.context.watch("/a") }
            try await tree.runtime.kill("/a")
            let termination = try await watching.value
            #expect(termination.reason == .signaled(SIGKILL))
            #expect(termination.incarnation == 1)
            // The next life is another one's to watch.
            _ = try await tree.place(of: "/a", incarnation: 2)
            let next = Task.immediate { try await tree.context.watch("/a") }
            try await tree.runtime.kill("/a")
            let second = try await next.value
            #expect(second.incarnation == 2)
        }
    }

    @Test("Watch: a restart is the end of a life", arguments: Where.allCases)
    func restart(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            try await tree.startChild("a", place)
            for life: UInt32 in 1...3 {
                let watching = Task.immediate { try await tree.context.watch("/a") }
                try await tree.runtime.restart("/a")
                let termination = try await watching.value
                #expect(termination.incarnation == life)
                #expect(termination.reason == .shutdown)
            }
        }
    }

    @Test("Watch: a child that is given up is told, and told at once to who watches later", arguments: Where.allCases)
    func gaveUp(_ place: Where) async throws {
        var options = Support.options
        options.supervision = SupervisionPolicy(.oneForOne, intensity: 0, period: .seconds(60), backoff: .none)
        try await LifecycleTree.run(options) { tree in
            let child = try await tree.startChild("a", place)
            let watching = Task.immediate { try await tree.context.watch("/a") }
            _ = try? await child.perform(.fail)
            let termination = try await watching.value
            #expect(termination.incarnation == 1)
            #expect(termination.reason == .failed("told to fail"))
            try await eventually("it's given up") { child.state == .failed }
            let later = try await tree.context.watch("/a")
            #expect(later == termination)
        }
    }

    @Test("Watch: who is gone, or never was, is told at once", arguments: Where.allCases)
    func nobody(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            try await tree.startChild("a", place)
            for path: CoordinatorPath in ["/nobody", "/nobody/below", "/a/nobody"] {
                let termination = try await tree.context.watch(path)
                #expect(termination.words == Self.unknown(path))
            }
            try await tree.context.stop("a")
            let gone = try await tree.context.watch("/a")
            #expect(gone.words == Self.unknown("/a"))
            await Support.expect(.unsupported) { _ = try await tree.context.watch(.root) }
        }
    }

    @Test("Watch: one that is stopped and kept is told as it ended")
    func kept() async throws {
        try await LifecycleTree.run { tree in
            try await tree.startChild("a", .inProcess)
            try await tree.runtime.stop("/a")
            let termination = try await tree.context.watch("/a")
            #expect(termination.incarnation == 1)
            #expect(termination.reason == .shutdown)
        }
    }

    @Test("Watch: it ends with the process of the supervisor of whom it watches", arguments: Where.allCases)
    func supervisorKilled(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let middle = try await tree.startChild("middle", .worker)
            try await middle.perform(.startChild("inner", inWorker: place.isWorker))
            let watching = Task.immediate { try await tree.context.watch("/middle/inner") }
            // It has arrived: what was sent to the same coordinator after it is answered.
            _ = try await tree.whereIs("/middle")
            try await tree.runtime.kill("/middle")
            let termination = try await watching.value
            #expect(termination.words == Self.unknown("/middle/inner"))
        }
    }

    @Test("Watch: a coordinator in another process is watched from a third", arguments: Where.allCases)
    func acrossProcesses(_ place: Where) async throws {
        try await PageTree.run { tree in
            let watcher = try await tree.root.start(WatcherCoordinator.self, as: "watcher", in: place.placement) {
                $0.notebook = tree.notebook
            }
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

    @Test("Watch: a watcher that is cancelled is told so, and the others of the end")
    func cancelled() async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild("a", .inProcess)
            let cancelled = Task.immediate { try await tree.context.watch("/a") }
            let other = Task.immediate { try await tree.context.watch("/a") }
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            await child.stop()
            let termination = try await other.value
            #expect(termination.reason == .shutdown)
        }
    }

    @Test("Watch: a watcher that stops itself is told stopped, and not that the other has ended")
    func watcherStops() async throws {
        try await PageTree.run { tree in
            try await tree.step("child", .inProcess)
            let watcher = try await tree.root.start(WatcherCoordinator.self, as: "watcher") { $0.notebook = tree.notebook }
            try await watcher.ask(Watching.Begin("/child"), timeout: .seconds(15))
            try await tree.root.stop("watcher")
            try await eventually("both have ended") { tree.notebook.words(at: "/watcher").count == 3 }
            #expect(tree.notebook.words(at: "/watcher") == ["watches", "first threw stopped", "second threw stopped"])
        }
    }

    @Test("Watch: after its own stop a coordinator watches nobody")
    func afterStop() async throws {
        try await PageTree.run { tree in
            let root = tree.root
            await tree.runtime.stop()
            await Support.expect(.stopped) { _ = try await root.watch("/child") }
        }
    }

    private static func unknown(_ path: CoordinatorPath) -> String { "\(path) 0 \(ExitReason.unknown)" }
}

extension Termination {
    /// One can't be made outside of the library; in words it can be compared.
    fileprivate var words: String { "\(path) \(incarnation) \(reason)" }
}
