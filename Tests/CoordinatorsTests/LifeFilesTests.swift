import CoordinatorsTesting
import Fixtures
import Glibc
import Processes
import TestSupport
import Testing

@testable import Coordinators

/// The files that a directory has for the lives of its workers: locks, which make duplicates impossible, and FIFOs.
@Suite("The files of workers' lives", .timeLimit(minutes: 2))
struct LifeFilesTests {
    private static func with(_ body: (CoordinatorRuntime, TemporaryDirectory) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            var options = Support.options
            options.runtimeDirectory = directory.file("run")
            options.orphanGrace = .seconds(60)
            options.workerOutput = .captured { _, _ in }
            try await withRoot(options: options) { runtime in try await body(runtime, directory) }
            #expect(Files.names(in: directory.file("run")).isEmpty)
        }
    }

    /// The files that a process has open.
    private static func files(of process: Int32) -> [String] {
        Files.names(in: "/proc/\(process)/fd").compactMap { name in
            var buffer = [CChar](repeating: 0, count: 4_096)
            let count = readlink("/proc/\(process)/fd/\(name)", &buffer, buffer.count)
            return count > 0 ? String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
        }
    }

    @Test("A worker has its path's lock, and its own children don't get it")
    func startContext() async throws {
        try await Self.with { runtime, directory in
            try await runtime.startChild("a", .worker)
            _ = try await runtime.perform(.startProgram("p", ["sleep", "1000"]), at: "/a")
            _ = try await runtime.perform(.startGrandchild("w", inWorker: true), at: "/a")
            let lock = directory.file("run/\(RuntimeFiles.lockName(of: "/a"))")
            let worker = try await runtime.ask(Fixture.WhereAmI(), at: "/a").pid
            #expect(Self.files(of: worker).contains(lock))
            let program = try #require(try await runtime.snapshot(of: "/a/p").processID)
            let deeper = try await runtime.ask(Fixture.WhereAmI(), at: "/a/w").pid
            for process in [program, deeper] {
                let files = Self.files(of: process)
                #expect(!files.isEmpty && !files.contains { $0.hasSuffix(RuntimeFiles.lockSuffix) }, "\(files)")
            }
            // The root has given its own descriptor up: it can't hold the lock for a worker that is gone.
            #expect(!Self.files(of: getpid()).contains(lock))
            #expect(try IncarnationLock(lock) == nil)
        }
    }

    @Test("Where a process holds a path's lock, no worker is started at the path")
    func duplicate() async throws {
        try await Self.with { runtime, directory in
            try await runtime.startChild("a", .worker)
            var lock = try IncarnationLock(directory.file("run/\(RuntimeFiles.lockName(of: "/b"))"))
            #expect(lock != nil)
            let error = await #expect(throws: CoordinatorError.self) { try await runtime.startChild("b", .worker) }
            #expect(error?.message.contains("a process lives at /b already") == true, "\(String(describing: error))")
            lock?.removeFile()
            lock = nil
            try await eventually("it's started") { (try? await runtime.startChild("b", .worker)) != nil }
        }
    }

    @Test("Each path has one lock and one FIFO at most, whatever its number of lives, and none after its end")
    func restarts() async throws {
        try await Self.with { runtime, directory in
            try await runtime.startChild("a", .worker)
            func files() -> [String] {
                Files.names(in: directory.file("run")).filter {
                    $0.hasSuffix(RuntimeFiles.lockSuffix) || $0.hasSuffix(RuntimeFiles.outputSuffix)
                }
            }
            for _ in 0..<3 {
                let place = try await runtime.ask(Fixture.WhereAmI(), at: "/a")
                let name = RuntimeFiles.outputName(of: "/a", place.incarnation)
                #expect(Set(files()) == [RuntimeFiles.lockName(of: "/a"), name])
                kill(place.pid, SIGKILL)
                _ = try await runtime.whereIsIt("/a", after: place)
            }
            try await runtime.ask(Fixture.StopChild("a"))
            #expect(files().isEmpty)
        }
    }

    @Test("What dead lives have left is removed when a runtime takes the directory over")
    func stale() async throws {
        try await withTemporaryDirectory { directory in
            let run = directory.file("run")
            try #require(mkdir(run, 0o700) == 0)
            // As a root and a worker that were killed together have left them, each with its record.
            let dead = ProcessIdentity(processID: 999_999_999, startTime: 1)
            let record = AdoptableWorker(
                path: "/a",
                incarnation: 3,
                secret: AdoptableWorker.digits(of: Secret.make()),
                fingerprint: "x",
                output: RuntimeFiles.outputName(of: "/a", 3)
            )
            let entry = ProcessJournal.Entry(family: ProcessFamily(leader: dead, entry: "entry"), record: record)
            let boot = ProcessJournal.Header.current.boot
            try Files.write("coordinators 1 \(dead.processID) 1 \(boot) 4\n" + entry.line, to: "\(run)/\(dead.processID)-1.processes")
            for name in [RuntimeFiles.lockName(of: "/a"), RuntimeFiles.lockName(of: "/gone")] { try Files.write("", to: "\(run)/\(name)") }
            for name in [RuntimeFiles.outputName(of: "/a", 3), RuntimeFiles.outputName(of: "/gone", 1)] {
                try #require(mkfifo("\(run)/\(name)", 0o600) == 0)
            }
            for listener in ["root", "root-4711", "\(dead.processID)", "\(dead.processID)-4711", "root-admin"] {
                try Files.write("", to: "\(run)/\(listener).sock")
            }
            try await withRoot(options: Support.options.with { ($0.runtimeDirectory, $0.orphanGrace) = (run, .seconds(60)) }) { runtime in
                // No socket of this runtime's has a name like that.
                #expect(unlink("\(run)/root-admin.sock") == 0)
                let names = Files.names(in: run)
                #expect(names.count == 2 && names.contains(RuntimeFiles.rootLock), "\(names)")
                // The path's numbers go on, and the root's.
                #expect(runtime.core.epoch == 5)
            }
            #expect(Files.names(in: run).isEmpty)
        }
    }

    @Test("The sockets of a process that has ended are removed, those that workers of other users have dialled too")
    func sockets() throws {
        let directory = try TemporaryDirectory()
        chmod(directory.path, 0o711)
        let files = RuntimeFiles(directory.path)
        for name in ["4711", "4711-65534", "4712-4711", "4711-a", "4711-1-2"] { try Files.write("", to: try files.file("\(name).sock")) }
        files.removeSockets(of: 4711)
        #expect(Set(files.names.filter { $0.hasSuffix(".sock") }) == ["4712-4711.sock", "4711-a.sock", "4711-1-2.sock"])
    }
}
