import ConcurrencySupport
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Processes

extension ProcessesTests {
    @Suite struct Termination {
        /// Ignores SIGTERM, says so, and has a grandchild.
        private let stubborn = shell("trap '' TERM; sleep 100 & echo $!; while :; do sleep 1; done")

        @Test func aPoliteChildIsAskedOnly() async throws {
            let output = Transcript()
            try await withChild(shell("trap 'exit 3' TERM; echo ready; while :; do sleep 0.05; done").collecting(output)) { child in
                _ = try await output.line()
                #expect(await child.terminate(grace: .seconds(60)) == .exited(code: 3))
                #expect(await child.terminate(grace: .seconds(60)) == .exited(code: 3), "again: no harm")
            }
        }

        @Test func aStubbornChildIsKilledAfterTheGraceWithItsGroup() async throws {
            try await withGrandchild(stubborn) { child, grandchild, _ in
                let start = ContinuousClock.now
                #expect(await child.terminate(grace: .milliseconds(200)) == .signaled(.kill, coreDumped: false))
                #expect(start.duration(to: .now) >= .milliseconds(200))
                await grandchild.waitUntilGone()
                #expect(!grandchild.isAlive)
            }
        }

        @Test func aSecondCallShortensTheGraceAndNeverLengthensIt() async throws {
            let output = Transcript()
            try await withChild(stubborn.collecting(output)) { child in
                _ = try await output.line()
                async let first = child.terminate(grace: .seconds(Int64.max))
                async let second = child.terminate(grace: .milliseconds(50))
                async let third = child.terminate(grace: .seconds(3600))
                #expect(await [first, second, third] == Array(repeating: .signaled(.kill, coreDumped: false), count: 3))
            }
        }

        @Test func cancellationDoesNotCutTheGrace() async throws {
            let output = Transcript()
            try await withChild(shell("trap 'sleep 0.3; exit 4' TERM; echo ready; while :; do sleep 0.05; done").collecting(output)) {
                child in
                _ = try await output.line()
                let task = Task { await child.terminate(grace: .seconds(60)) }
                task.cancel()
                #expect(await task.value == .exited(code: 4))
            }
        }

        /// A child that takes longer than its grace, and less than that together with the time in which nothing of this process runs.
        @Test func theTimeInWhichTheThreadStandsStillDoesntCount() async throws {
            let isStanding = Atomic(false)
            var systemCalls = SystemCalls.live
            let poll = systemCalls.pollWait
            systemCalls.pollWait = { descriptor, tokens, milliseconds in
                let count = poll(descriptor, tokens, milliseconds)
                if isStanding.exchange(false, ordering: .relaxed) {
                    realTimeOfThread(.seconds(2), because: "the thread that ends processes stands still meanwhile")
                }
                return count
            }
            let output = Transcript()
            let script = shell("trap 'sleep 2.5; exit 3' TERM; echo ready; while :; do sleep 0.05; done").collecting(output)
            let child = try await ProcessSpawner(systemCalls: systemCalls).spawn(script)
            _ = try await output.line()
            isStanding.store(true, ordering: .relaxed)
            #expect(await child.terminate(grace: .seconds(1)) == .exited(code: 3))
        }

        @Test func aStoppedChildIsContinuedToEnd() async throws {
            try await withChild(shell("exec sleep 100")) { child in
                try await stopProcess(child)
                #expect(await child.terminate(grace: .seconds(60)) == .signaled(.terminate, coreDumped: false))
            }
        }

        @Test func politeGroupsLeaveNobodyBehind() async throws {
            try await withGrandchild(shell("sleep 100 & echo $!; exec sleep 100")) { child, grandchild, _ in
                #expect(await child.terminate(grace: .seconds(60)) == .signaled(.terminate, coreDumped: false))
                await grandchild.waitUntilGone()
            }
        }
    }

    @Suite struct Groups {
        /// Leaves a grandchild in its group, and ends.
        private let leaving = shell("sleep 100 > /dev/null & echo $!")
        /// A kernel before Linux 6.9: no signals to a group through a pidfd.
        private var oldKernel: SystemCalls {
            var systemCalls = SystemCalls.live
            systemCalls.signalGroupOfProcess = { _, _ in -EINVAL }
            return systemCalls
        }

        @Test(arguments: [false, true])
        func aRunningChildsGroupIsReached(onOldKernel: Bool) async throws {
            let spawner = onOldKernel ? ProcessSpawner(systemCalls: oldKernel) : .shared
            try await withGrandchild(of: spawner, shell("sleep 100 & echo $!; exec sleep 100")) { child, grandchild, _ in
                try child.sendToGroup(.kill)
                #expect(await child.waitForExit() == .signaled(.kill, coreDumped: false))
                await grandchild.waitUntilGone()
            }
        }

        @Test func theGroupIsReachedAfterTheChildsEnd() async throws {
            try await withGrandchild(leaving) { child, grandchild, _ in
                #expect(await child.waitForExit() == .exited(code: 0))
                #expect(grandchild.isAlive)
                do {
                    try child.sendToGroup(.kill)
                    await grandchild.waitUntilGone()
                    // The group is empty: not an error, and the descriptor is given back.
                    try await eventually("the empty group") {
                        try child.sendToGroup(.kill)
                        if case .ended(_, .gone) = child.state.withLock({ $0.life }) { return true }
                        // Where the first process doesn't reap, as in some containers, the dead stay in their group.
                        return ProcessIdentity(processID: grandchild.processID) == grandchild
                    }
                } catch let error as ProcessError where error.code == .unsupported {
                    // Linux before 6.9.
                }
            }
        }

        @Test func anOldKernelRefusesToGuess() async throws {
            try await withGrandchild(of: ProcessSpawner(systemCalls: oldKernel), leaving) { child, grandchild, _ in
                _ = await child.waitForExit()
                let error = #expect(throws: ProcessError.self) { try child.sendToGroup(.kill) }
                #expect(error?.code == .unsupported)
                #expect(grandchild.isAlive)
            }
        }

        @Test(arguments: [false, true])
        func theGroupCanEndWithTheChild(onOldKernel: Bool) async throws {
            let spawner = onOldKernel ? ProcessSpawner(systemCalls: oldKernel) : .shared
            let output = Transcript()
            var specification = leaving.collecting(output)
            specification.killsGroupAtExit = true
            try await withChild(of: spawner, specification) { child in
                let grandchild = ProcessIdentity(processID: try await output.processID())
                #expect(await child.waitForExit() == .exited(code: 0))
                await grandchild?.waitUntilGone()
            }
        }
    }
}
