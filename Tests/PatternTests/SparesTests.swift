import Coordinators
import Glibc
import PatternFixtures
import Testing

@Suite("Workers: spares, recycling, watching", .serialized, .timeLimit(.minutes(3)))
struct SparesTests {
    @Test("A spare becomes the next life, another takes its place, and none is left after the stop")
    func spares() async throws {
        // A name of its own tells this tree's processes from those of other tests.
        let name = "/tmp/pattern-worker-\(UInt32.random(in: 0 ... .max))"
        #expect(symlink(Support.workerExecutable, name) == 0)
        defer { unlink(name) }
        var options = Support.options
        options.workerExecutable = name
        try await PageTree.run(options: options) { tree in
            let processes = Processes(of: name)
            let child = try await tree.worker(.worker(spares: 2))
            try await Support.eventually("two spares wait") { processes.all.count == 3 }
            for _ in 0..<5 {
                let former = try await child.ask(Flow.WhereAmI(), timeout: .seconds(15)).pid
                let spares = processes.all.filter { $0 != former }
                kill(former, SIGKILL)
                try await Support.eventually("another life answers") {
                    let place = try? await child.ask(Flow.WhereAmI(), timeout: .seconds(15))
                    return place.map { $0.pid != former } ?? false
                }
                let now = try await child.ask(Flow.WhereAmI(), timeout: .seconds(15)).pid
                #expect(spares.contains(now))
                try await Support.eventually("two spares wait again") { processes.all.count == 3 }
            }
            // A spare that dies while it waits is replaced too.
            let pid = try await child.ask(Flow.WhereAmI(), timeout: .seconds(15)).pid
            let spare = try #require(processes.all.first { $0 != pid })
            kill(spare, SIGKILL)
            try await Support.eventually("it's replaced") {
                let all = processes.all
                return all.count == 3 && !all.contains(spare)
            }
            try await tree.root.stop("child")
            try await Support.eventually("nothing is left") { processes.all.isEmpty }
        }
    }

    @Test("Recycling by messages loses none, and is no failure")
    func recycling() async throws {
        var options = Support.options
        options.supervision = SupervisionPolicy(.oneForOne, intensity: 0, period: .seconds(60))
        try await PageTree.run(options: options) { tree in
            let child = try await tree.worker(.worker(recycling: Recycling(messages: 50)))
            let pids = try await withThrowingTaskGroup(of: Int32.self) { group in
                for _ in 0..<400 { group.addTask { try await child.ask(Flow.WhereAmI(), timeout: .seconds(60)).pid } }
                return try await group.reduce(into: Set<Int32>()) { $0.insert($1) }
            }
            #expect(!pids.isEmpty)
            try await Support.eventually("it was replaced") { child.incarnation > 1 }
            let state = try await tree.runtime.snapshot(of: "/child")
            #expect(state.lastExit == "shutdown")
        }
    }

    @Test("Recycling by age replaces a life that has lasted long enough")
    func age() async throws {
        try await PageTree.run { tree in
            let child = try await tree.worker(.worker(recycling: Recycling(age: .milliseconds(300), jitter: 0)))
            try await Support.eventually("the third life has come") { child.incarnation >= 3 }
            let place = try await child.ask(Flow.WhereAmI(), timeout: .seconds(15))
            #expect(place.incarnation >= 3)
        }
    }

    @Test("Watching answers once: at a stop, at a kill, at once for what is gone", arguments: Where.allCases)
    func watch(_ place: Where) async throws {
        try await PageTree.run { tree in
            let gone = try await tree.root.watch("/nobody")
            #expect(gone.incarnation == 0)
            #expect(gone.reason == .unknown)
            try await tree.step("child", place)
            let restarted = Task.immediate { try await tree.root.watch("/child") }
            _ = try await tree.runtime.restart("/child")
            let first = try await restarted.value
            #expect(first.path == "/child")
            #expect(first.incarnation == 1)
            #expect(first.reason == .shutdown)
            let stopped = Task.immediate { try await tree.root.watch("/child") }
            try await tree.root.stop("child")
            let termination = try await stopped.value
            #expect(termination.incarnation == 2)
            #expect(termination.reason == .shutdown)
            let later = try await tree.root.watch("/child")
            #expect(later.incarnation == 0)
        }
    }

    @Test("A watched coordinator whose supervisor's process is killed has ended too")
    func watchThroughDeath() async throws {
        // One placement: only another process can be lost.
        try await PageTree.run { tree in
            try await tree.step("middle", .worker)
            try await tree.step("child", below: "/middle", .inProcess)
            let watching = Task.immediate { try await tree.root.watch("/middle/child") }
            try await Support.eventually("it's listening") { tree.runtime.counters.openAsks > 0 }
            _ = try await tree.runtime.kill("/middle")
            let termination = try await watching.value
            #expect(termination.path == "/middle/child")
            #expect(termination.reason == .unknown)
        }
    }
}

extension PageTree {
    fileprivate func worker(_ placement: Placement) async throws -> Child<StepCoordinator> {
        try await root.start(StepCoordinator.self, as: "child", in: placement) { $0.notebook = notebook }
    }
}

/// The processes that run under a name.
private struct Processes {
    let name: String

    init(of name: String) { self.name = name }

    var all: [Int32] {
        guard let directory = opendir("/proc") else { return [] }
        defer { closedir(directory) }
        var found: [Int32] = []
        while let entry = readdir(directory) {
            let text = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if let pid = Int32(text), command(of: pid) == name { found.append(pid) }
        }
        return found
    }

    private func command(of pid: Int32) -> String {
        guard let file = fopen("/proc/\(pid)/cmdline", "re") else { return "" }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count].prefix { $0 != 0 }, as: UTF8.self)
    }
}
