import ConcurrencySupport
import Glibc
import TestSupport
import Testing

@testable import Processes

extension ProcessesTests {
    @Suite struct Identity {
        @Test func weAreOurselves() throws {
            let current = ProcessIdentity.current
            #expect(current.processID == getpid())
            #expect(current.startTime > 0)
            #expect(current == ProcessIdentity(processID: getpid()))
            #expect(current.isAlive)
            #expect(current.sessionID == getsid(0))
            #expect(ProcessIdentity(processID: 0) == nil)
            #expect(ProcessIdentity(processID: -1) == nil)
            #expect(ProcessIdentity(processID: .max) == nil)
        }

        @Test func anOrphanComesToTheFirstThreadOfItsParent() async throws {
            let output = Transcript()
            let child = try await ProcessSpawner.shared.spawn(shell("setsid sleep 100 & echo $!").collecting(output))
            let orphan = try #require(ProcessIdentity(processID: try await output.processID()))
            defer { try? orphan.send(.kill) }
            #expect(await child.waitForExit() == .exited(code: 0))
            let parent = try #require(try ProcessTable.statistics(of: orphan.processID)).parentID
            let orphans = try ProcessTable.orphans(of: parent)
            #expect(orphans.contains(orphan.processID))
            // What is spawned belongs to another thread, and isn't looked at for each search.
            try await withChild(shell("exec sleep 100")) { child in
                let (children, orphans) = (try ProcessTable.children(of: getpid()), try ProcessTable.orphans(of: getpid()))
                #expect(children.contains(child.identity.processID) && !orphans.contains(child.identity.processID))
            }
        }

        @Test func aListOfChildrenThatStaysOpenShowsWhatComesLaterAndIsEmptyInTheEnd() async throws {
            let output = Transcript()
            let child = try await ProcessSpawner.shared.spawn(shell("sleep 0.1; sleep 100 & echo $!; wait").collecting(output))
            let parent = child.identity.processID
            let list = try #require(ChildList(of: parent))
            let late = try #require(ProcessIdentity(processID: try await output.processID()))
            defer { try? late.send(.kill) }
            for _ in 0..<2 { #expect(try ProcessTable.orphans(of: parent, listedIn: list) == [late.processID]) }
            try child.identity.send(.kill)
            #expect(await child.waitForExit() == .signaled(.kill, coreDumped: false))
            #expect(try ProcessTable.orphans(of: parent, listedIn: list).isEmpty)
            #expect(ChildList(of: parent) == nil)
        }

        @Test func aReusedNumberIsAStranger() async throws {
            let stranger = ProcessIdentity(processID: getpid(), startTime: ProcessIdentity.current.startTime + 1)
            #expect(stranger != .current)
            #expect(!stranger.isAlive)
            #expect(stranger.sessionID == nil)
            // With the numbers mixed up this would end the tests.
            let error = #expect(throws: ProcessError.self) { try stranger.send(.kill) }
            #expect(error?.code == .noSuchProcess)
            await stranger.waitUntilGone()
        }

        @Test func aNumberThatIsReusedBetweenOpeningAndComparingIsNotSignalled() throws {
            let line = "1 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 999 0"
            let signals = Lock(0)
            var systemCalls = SystemCalls.live
            systemCalls.openProcess = { _ in open("/dev/null", O_RDONLY | O_CLOEXEC) }
            systemCalls.statistics = { _ in .bytes(Array(line.utf8)) }
            systemCalls.signalProcess = { _, _ in
                signals.withLock { $0 += 1 }
                return 0
            }
            try ProcessIdentity(processID: 1, startTime: 999).send(.user1, systemCalls: systemCalls)
            #expect(signals.withLock { $0 } == 1)
            #expect(throws: ProcessError.self) { try ProcessIdentity(processID: 1, startTime: 998).send(.user1, systemCalls: systemCalls) }
            #expect(signals.withLock { $0 } == 1)
        }

        @Test(arguments: [ESRCH, EINVAL]) func aProcessThatIsBeingReapedIsGone(errno: Int32) throws {
            var systemCalls = SystemCalls.live
            systemCalls.openProcess = { _ in -errno }
            let error = #expect(throws: ProcessError.self) { try ProcessIdentity.current.send(.user1, systemCalls: systemCalls) }
            #expect(error?.code == .noSuchProcess)
        }

        @Test func aProcessThatCanNotBeLookedAtIsNotGone() async throws {
            for errno in [ENOENT, ESRCH] { #expect(SystemCalls.Contents(failure: Int(-errno)) == .absent) }
            for errno in [EACCES, EPERM] { #expect(SystemCalls.Contents(failure: Int(-errno)) == .hidden) }
            for errno in [EMFILE, ENFILE, ENOMEM] { #expect(SystemCalls.Contents(failure: Int(-errno)) == .failed(errno: errno)) }
            var systemCalls = SystemCalls.live
            for contents in [SystemCalls.Contents.absent, .hidden] {
                systemCalls.statistics = { _ in contents }
                #expect(!ProcessIdentity.current.isAlive(systemCalls))
                #expect(!ProcessIdentity.mayLive(getpid(), systemCalls))
                #expect(ProcessIdentity.current.open(systemCalls) == .gone)
            }
            systemCalls.statistics = { _ in .failed(errno: EMFILE) }
            #expect(ProcessIdentity.current.isAlive(systemCalls))
            #expect(ProcessIdentity.mayLive(getpid(), systemCalls))
            #expect(ProcessIdentity.current.open(systemCalls) == .failed(errno: EMFILE))
            let error = #expect(throws: ProcessError.self) { try ProcessIdentity.current.send(.user1, systemCalls: systemCalls) }
            #expect(error?.code == .outOfDescriptors)
        }

        @Test func whoeverCanNotLookLooksAgain() async throws {
            try await withChild(shell("exec sleep 100")) { child in
                let looks = Lock(0)
                let left = await ProcessFamily.end(by: nil) { () throws(ProcessError) in
                    let look = looks.withLock { looks in
                        looks += 1
                        return looks
                    }
                    if look.isMultiple(of: 2) == false { throw ProcessError(EMFILE, action: "look") }
                    return look == 2 ? [child.identity] : []
                }
                #expect(left.isEmpty && !child.identity.isAlive)
                // Twice nothing: once more after something was found.
                #expect(looks.withLock { $0 } == 6)
                _ = await child.waitForExit()
            }
        }

        @Test func thisProcessAndThoseAboveAreNeverKilled() async throws {
            try await withChild(shell("exec sleep 100")) { child in
                let parent = try #require(ProcessIdentity(processID: getppid()))
                let found = [ProcessIdentity.current, parent, child.identity]
                let left = await ProcessFamily.end(by: nil) { () throws(ProcessError) in found.filter(\.isAlive) }
                #expect(left.isEmpty && !child.identity.isAlive && parent.isAlive)
                _ = await child.waitForExit()
            }
        }

        @Test func theKernelsLineIsReadWhateverTheName() throws {
            let rest = " S 1 2 77 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 12 0 123456789 1000 200\n"
            for name in ["sh", "a b", "x) S 1 2 (y", ")", "((", ""] {
                let statistics = try #require(ProcessStatistics(parsing: Array("4711 (\(name))\(rest)".utf8)))
                #expect(statistics.startTime == 123_456_789)
                #expect(statistics.sessionID == 77)
                #expect(statistics.threadCount == 12)
                #expect(!statistics.isZombie)
            }
            for line in ["", "1", "1 (x", "1 (x) S", "1 (x) S 1 2 3 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 12 0 late"] {
                #expect(ProcessStatistics(parsing: Array(line.utf8)) == nil, "\(line)")
            }
            func zombie(threads: Int) -> Bool? {
                ProcessStatistics(parsing: Array("1 (x) Z 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 \(threads) 0 5 0".utf8))?.isZombie
            }
            #expect(zombie(threads: 1) == true)
            #expect(zombie(threads: 2) == false, "its first thread has ended, the others run")
        }

        @Test func aProcessThatIsNotOurChildCanBeWaitedForAndSignalled() async throws {
            try await withGrandchild(shell("setsid sleep 100 > /dev/null & echo $!")) { child, orphan, _ in
                _ = await child.waitForExit()
                #expect(orphan.isAlive)
                let waiting = Task { await orphan.waitUntilGone() }
                try orphan.send(.terminate)
                await waiting.value
                #expect(!orphan.isAlive)
                await orphan.waitUntilGone()
            }
        }

        @Test func waitingForAProcessCanBeCancelled() async throws {
            try await withChild(ProcessSpecification(executable: "/bin/sleep", arguments: ["100"])) { child in
                for _ in 0..<100 {
                    let waiting = Task { await child.identity.waitUntilGone() }
                    await Task.yield()
                    waiting.cancel()
                    await waiting.value
                }
                #expect(child.identity.isAlive)
            }
        }

        @Test func aWaitThatFindsNoDescriptorGoesOnUntilTheEnd() async throws {
            let attempts = Lock(0)
            var systemCalls = SystemCalls.live
            systemCalls.openProcess = { processID in
                attempts.withLock { attempts in
                    attempts += 1
                    return attempts <= 2 ? -EMFILE : SystemCalls.live.openProcess(processID)
                }
            }
            let spawner = ProcessSpawner(systemCalls: systemCalls)
            try await withChild(ProcessSpecification(executable: "/bin/sleep", arguments: ["100"])) { child in
                let waiting = Task { await child.identity.waitUntilGone(on: spawner.thread) }
                try await eventually("three attempts") { attempts.withLock { $0 } >= 3 }
                try child.send(.kill)
                await waiting.value
                #expect(!child.identity.isAlive)
            }
        }

        @Test func aZombieExistsAndIsNotAlive() async throws {
            var systemCalls = SystemCalls.live
            let mayReap = Lock(false)
            systemCalls.reap = { mayReap.withLock { $0 } ? SystemCalls.live.reap($0) : .stillRunning }
            let spawner = ProcessSpawner(systemCalls: systemCalls)
            let child = try await spawner.spawn(ProcessSpecification(executable: "/bin/true"))
            try await eventually("the zombie") { !child.identity.isAlive }
            #expect(ProcessIdentity(processID: child.identity.processID) == child.identity)
            await child.identity.waitUntilGone()
            mayReap.withLock { $0 = true }
            #expect(await child.waitForExit() == .exited(code: 0))
        }

        @Test func signalsHaveTheirNames() {
            #expect(Signal.terminate.name == "SIGTERM")
            #expect(Signal.continue.name == "SIGCONT")
            #expect(Signal(rawValue: 9) == .kill)
            #expect("\(Signal(rawValue: 200))" == "signal 200")
            #expect("\(ExitStatus.signaled(.abort, coreDumped: true))" == "ended by SIGABRT, core dumped")
            #expect("\(ExitStatus.exited(code: 2))" == "exited with code 2")
        }
    }
}
