import Glibc
import Processes
import TestSupport
import Testing

extension ProcessesTests {
    @Suite struct Leaks {
        @Test func aThousandSpawnsLeaveNothingBehind() async throws {
            // Makes the thread, which stays.
            _ = try await run(ProcessSpecification(executable: "/bin/true"))
            // Other modules' tests run in this process too: a leak per spawn shows in hundreds, they in ones.
            let descriptors = Files.numbers(in: "/proc/self/fd").count
            let threads = Files.numbers(in: "/proc/self/task").count

            let start = ContinuousClock.now
            let processIDs = try await withThrowingTaskGroup(of: [Int32].self) { group in
                for _ in 0..<10 {
                    group.addTask {
                        var processIDs: [Int32] = []
                        for _ in 0..<100 {
                            let output = Transcript()
                            let child = try await ProcessSpawner.shared.spawn(
                                ProcessSpecification(executable: "/bin/true", standardOutput: output.destination)
                            )
                            processIDs.append(child.identity.processID)
                            #expect(await child.waitForExit() == .exited(code: 0))
                            #expect(output.ends == 1)
                        }
                        return processIDs
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            print("1,000 spawns of /bin/true with captured output:", start.duration(to: .now))

            #expect(processIDs.count == 1000)
            for processID in processIDs { #expect(!isOurChild(processID)) }
            try await eventually("as few descriptors as before") { Files.numbers(in: "/proc/self/fd").count < descriptors + 50 }
            try await eventually("as few threads as before") { Files.numbers(in: "/proc/self/task").count < threads + 50 }
        }

        /// The number of children that are signalled, which is larger under `Deploy/test --long`.
        private static let signalled = rounds(short: 400, all: 2_000, long: 10_000)

        @Test func childrenMayEndWhileTheyAreSignalled() async throws {
            let rounds = Self.signalled / 8
            let outcomes = try await withThrowingTaskGroup(of: [ExitStatus].self) { group in
                for task in 0..<8 {
                    group.addTask { try await Self.signalEndingChildren(task: task, rounds: rounds) }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            print("\(outcomes.count) children that ended while signalled:", outcomes.reduce(into: [:]) { $0[$1, default: 0] += 1 })
            #expect(outcomes.count == rounds * 8)
        }

        private static func signalEndingChildren(task: Int, rounds: Int) async throws -> [ExitStatus] {
            var outcomes: [ExitStatus] = []
            for round in 0..<rounds {
                let child = try await ProcessSpawner.shared.spawn(ProcessSpecification(executable: "/bin/true"))
                let signal = [Signal.terminate, .kill, .user1, .continue][(task + round) % 4]
                realTimeOfThread(.microseconds(round % 50 * 30), because: "the child is anything from not begun to long gone")
                try child.send(signal)
                try child.sendToGroup(signal)
                do throws(ProcessError) {
                    try child.identity.send(signal)
                } catch {
                    #expect(error.code == .noSuchProcess)
                }
                let status = await child.waitForExit()
                #expect(status == .exited(code: 0) || status == .signaled(signal, coreDumped: false))
                #expect(!isOurChild(child.identity.processID))
                outcomes.append(status)
            }
            return outcomes
        }

        @Test func aSpawnersThreadEndsWithItAndItsLastChild() async throws {
            let ledger = Ledger()
            var spawner: ProcessSpawner? = ProcessSpawner(systemCalls: ledger.systemCalls)
            let child = try await #require(spawner).spawn(ProcessSpecification(executable: "/bin/sleep", arguments: ["100"]))
            spawner = nil
            #expect(await child.terminate(grace: .patient(.seconds(10))) == .signaled(.terminate, coreDumped: false))
            try await eventually("the end of the thread") { ledger.openDescriptors.isEmpty }
            #expect(await child.terminate(grace: .zero) == .signaled(.terminate, coreDumped: false))
            child.endCapture()
            #expect(ledger.strangersClosed.isEmpty)
        }
    }
}
