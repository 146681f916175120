import ConcurrencySupport
import Glibc
import TestSupport
import Testing

@testable import Processes

/// A python that can call prctl.
private let python: String = ["/usr/bin/python3", "/usr/local/bin/python3"].first { access($0, X_OK) == 0 } ?? "python3"
private let hasPython: Bool = {
    let path = getenv("PATH").map { String(cString: $0) } ?? ""
    return path.split(separator: ":").contains { access("\($0)/python3", X_OK) == 0 }
}()

extension ProcessesTests {
    @Suite struct Worker {
        /// Dies when the thread that spawned it ends; else it exits with 7 at SIGUSR1.
        private let armed = ProcessSpecification(
            executable: python,
            arguments: [
                "-c",
                """
                import ctypes, signal, sys
                if ctypes.CDLL(None).prctl(1, 9, 0, 0, 0) != 0: sys.exit(1)
                signal.signal(signal.SIGUSR1, lambda *_: sys.exit(7))
                print("armed", flush=True)
                signal.pause()
                """,
            ]
        )

        @Test(.enabled(if: hasPython, "needs python3 with ctypes, for a child that calls prctl"))
        func aChildOutlivesTheThreadsThatComeAndGo() async throws {
            let output = Transcript()
            try await withChild(armed.collecting(output)) { child in
                #expect(try await output.line() == "armed")
                for _ in 0..<rounds(short: 30, all: 300, long: 1_000) {
                    // Threads of the pool, and other threads, spawning and ending.
                    await withTaskGroup(of: Void.self) { group in
                        for _ in 0..<20 { group.addTask { await Task.yield() } }
                    }
                    for _ in 0..<10 { try await blocking {} }
                    _ = try await run(ProcessSpecification(executable: "/bin/true"))
                }
                try child.send(.user1)
                #expect(await child.waitForExit() == .exited(code: 7))
            }
        }

        @Test(.enabled(if: hasPython, "needs python3 with ctypes, for a child that calls prctl"))
        func aChildDiesWithTheThreadThatSpawnedIt() async throws {
            // What the immortal thread is for: the same child, spawned by a thread that ends.
            let (reading, writing) = try makePipe()
            defer { close(reading) }
            let descriptors = [(-1, 0), (writing, 1), (-1, 2)].map { InheritedDescriptor(source: $0, target: $1) }
            let child = try await blocking {
                let child = try spawn(armed, descriptors)
                close(writing)
                var byte: UInt8 = 0
                _ = read(reading, &byte, 1)
                return child
            }
            try #require(child > 0)
            #expect(reap(child) == Int32(CLD_KILLED))
        }

        @Test(arguments: [true, false])
        func aProgramThatKnowsNothingOfItDiesWithTheThreadThatSpawnedIt(_ diesWithParent: Bool) async throws {
            let specification = ProcessSpecification(
                executable: "sleep",
                arguments: [diesWithParent ? "100" : "2"],
                diesWithParent: diesWithParent
            )
            let descriptors = (0...2).map { InheritedDescriptor(source: -1, target: $0) }
            let child = try await blocking { try spawn(specification, descriptors) }
            try #require(child > 0)
            #expect(reap(child) == Int32(diesWithParent ? CLD_KILLED : CLD_EXITED))
        }

        @Test func theSignalIsRefusedElsewhereThanOnTheMainThread() async {
            let error = await #expect(throws: ProcessError.self) {
                try await blocking { try WorkerProcess.armParentDeathSignal(expecting: getppid()) }
            }
            #expect(error?.code == .wrongThread)
        }

        @Test func theSignalIsArmedAndAParentThatIsGoneIsNoticed() async {
            let armed = Lock<Int32>(0)
            let error = await #expect(throws: ProcessError.self) {
                // On a thread that ends, and with it the wish.
                try await blocking {
                    try WorkerProcess.armParentDeathSignal(expecting: getppid(), isMainThread: true)
                    armed.withLock { $0 = WorkerProcess.parentDeathSignal }
                    try WorkerProcess.armParentDeathSignal(expecting: -1, isMainThread: true)
                }
            }
            #expect(armed.withLock { $0 } == SIGKILL)
            #expect(error?.code == .parentIsGone)
        }

        @Test func brokenPipesBecomeErrors() throws {
            WorkerProcess.ignoreBrokenPipes()
            let (reading, writing) = try makePipe()
            close(reading)
            defer { close(writing) }
            #expect(write(writing, "x", 1) == -1)
            #expect(errno == EPIPE)
        }

        @Test func openFilesAreRaisedAndCounted() {
            var before = rlimit()
            #expect(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before) == 0)
            defer { setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before) }
            #expect(ResourceLimits.softLimit == Int(clamping: before.rlim_cur))
            var lowered = before
            lowered.rlim_cur -= 1
            #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &lowered) == 0)
            let raised = ResourceLimits.raiseOpenFiles()
            #expect(raised == ResourceLimits.softLimit)
            #expect(raised == max(Int(clamping: lowered.rlim_cur), min(Int(clamping: before.rlim_max), 1_048_576)))

            let count = ResourceLimits.openDescriptorCount
            let descriptors = (0..<100).map { _ in open("/dev/null", O_RDONLY | O_CLOEXEC) }
            // Other modules' tests open and close theirs meanwhile.
            #expect((50...150).contains(ResourceLimits.openDescriptorCount - count))
            for descriptor in descriptors { close(descriptor) }
        }
    }
}

/// Spawns a child on the calling thread, and returns its number once it's the program.
private func spawn(_ specification: ProcessSpecification, _ descriptors: [InheritedDescriptor]) throws -> Int32 {
    let (reading, writing) = try makePipe()
    defer { close(reading) }
    let spawned = SystemCalls.live.spawn(SpawnRequest(specification, descriptors: descriptors, status: writing))
    close(writing)
    var byte: UInt8 = 0
    _ = read(reading, &byte, 1)
    spawned.release()
    return spawned.processID
}
