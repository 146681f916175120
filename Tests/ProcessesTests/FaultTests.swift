import ConcurrencySupport
import Glibc
import TestSupport
import Testing

@testable import Processes

extension ProcessesTests {
    /// Every system call fails, the first time, the second time, and so on until the scenario no longer reaches it.
    @Suite struct Faults {
        @Test(
            arguments: [
                (.spawn, EAGAIN, .outOfProcesses), (.spawn, ENOMEM, .outOfMemory), (.spawn, ENOENT, .executableNotFound),
                (.spawn, EMFILE, .outOfDescriptors), (.openProcess, EMFILE, .outOfDescriptors), (.openProcess, ENFILE, .outOfDescriptors),
                (.openProcess, ENOMEM, .outOfMemory), (.statistics, EMFILE, .spawnFailed), (.pipe, EMFILE, .outOfDescriptors),
                (.makeFIFO, EMFILE, .outOfDescriptors), (.makeFIFO, ENOSPC, .systemCallFailed),
                (.duplicate, EMFILE, .outOfDescriptors), (.pollAdd, ENOSPC, .systemCallFailed), (.pollAdd, ENOMEM, .outOfMemory),
                (.pollDescriptor, EMFILE, .outOfDescriptors), (.eventDescriptor, ENFILE, .outOfDescriptors),
                (.startThread, EAGAIN, .outOfProcesses),
            ] as [(Ledger.Call, Int32, ProcessError.Code)]
        )
        func aStepOfASpawnFails(call: Ledger.Call, errno: Int32, code: ProcessError.Code) async throws {
            var failures = 0
            for number in 1... {
                let ledger = try await withSpawner("\(call) \(number)") { ledger, spawner in
                    ledger.plan(.init(call: call, number: number, isForever: false, errno: errno))
                    let before = ledger.openDescriptors
                    do {
                        try await expectWorking(spawner)
                        #expect(ledger.hits == 0, "the failure of \(call) \(number) was not noticed")
                    } catch let error as ProcessError {
                        failures += 1
                        #expect(error.code == code, "\(error)")
                        #expect(error.message.contains("ould not"), "\(error)")
                        // The thread has its two, from the first spawn on.
                        #expect(ledger.openDescriptors.count - before.count <= 2)
                        for processID in ledger.processIDs { #expect(!isOurChild(processID), "\(call) \(number)") }
                        // It passes, and is not remembered.
                        try await expectWorking(spawner)
                    }
                }
                if ledger.hits == 0 { break }
            }
            #expect(failures > 0, "\(call) was never called")
        }

        @Test(
            arguments: [
                (.reap, EINVAL), (.reap, ENOMEM), (.pollWait, ENOMEM), (.pollWait, EINTR), (.signalGroupOfProcess, EINVAL),
            ] as [(Ledger.Call, Int32)]
        )
        func aStepAfterASpawnFails(call: Ledger.Call, errno: Int32) async throws {
            for number in 1...20 {
                let ledger = try await withSpawner("\(call) \(number)") { ledger, spawner in
                    ledger.plan(.init(call: call, number: number, isForever: false, errno: errno))
                    try await expectWorking(spawner)
                }
                if number == 1 { #expect(ledger.hits == 1) }
                if ledger.hits == 0 { break }
            }
        }

        @Test func outputThatCanNotBeReadEndsTheCaptureOnly() async throws {
            try await withSpawner("read") { ledger, spawner in
                try await expectWorking(spawner)
                ledger.plan(.init(call: .read, number: 1, isForever: true, errno: EIO))
                let output = Transcript()
                let specification = shell("trap '' PIPE; echo x; exit 7").collecting(output)
                #expect(try await spawner.spawn(specification).waitForExit() == .exited(code: 7))
                #expect(output.ends == 1)
                ledger.plan(nil)
            }
        }

        @Test func outputIsDeliveredWithoutKnowingHowMuchThereIs() async throws {
            try await withSpawner("available") { ledger, spawner in
                ledger.plan(.init(call: .available, number: 1, isForever: true, errno: EIO))
                let output = Transcript()
                // The grandchild holds the pipe, so the end can't come before the exit.
                try await withChild(of: spawner, shell("sleep 100 & echo $!").collecting(output)) { child in
                    let grandchild = ProcessIdentity(processID: try await output.processID())
                    defer { try? grandchild?.send(.kill) }
                    #expect(await child.waitForExit() == .exited(code: 0))
                    #expect(ledger.hits == 1)
                }
                try await eventually("the end of the capture") { output.ends == 1 }
            }
        }

        @Test(arguments: [ECHILD, EINVAL])
        func anExitStatusThatCanNotBeHadIsUnknown(errno: Int32) async throws {
            try await withSpawner("reap") { ledger, spawner in
                ledger.plan(.init(call: .reap, number: 1, isForever: true, errno: errno))
                let child = try await spawner.spawn(ProcessSpecification(executable: "/bin/true"))
                #expect(await child.waitForExit() == .unknown)
                // The process is really a child in this test, so the test has to reap it.
                if errno == ECHILD { #expect(reap(child.identity.processID) != nil) }
                try await eventually("the reaping") { !isOurChild(child.identity.processID) }
            }
        }

        @Test func aChildThatIsReapedBehindOurBackIsUnknown() async throws {
            let mayLook = Lock(false)
            var systemCalls = SystemCalls.live
            systemCalls.reap = { mayLook.withLock { $0 } ? SystemCalls.live.reap($0) : .stillRunning }
            let child = try await ProcessSpawner(systemCalls: systemCalls).spawn(ProcessSpecification(executable: "/bin/true"))
            #expect(reap(child.identity.processID) != nil)
            // Its number may be a stranger's now.
            try child.sendToGroup(.kill)
            try child.send(.kill)
            mayLook.withLock { $0 = true }
            #expect(await child.waitForExit() == .unknown)
        }

        @Test func aChildThatCanBeNeitherKeptNorKilledIsReapedLater() async throws {
            try await withSpawner("abandoned", changing: { $0.signalGroup = { _, _ in -EPERM } }) { ledger, spawner in
                ledger.plan(.init(call: .openProcess, number: 1, isForever: false, errno: EMFILE))
                await #expect(throws: ProcessError.self) { try await spawner.spawn(ProcessSpecification(executable: "/bin/true")) }
                let processID = try #require(ledger.processIDs.first)
                try await eventually("the reaping") {
                    // Any wake-up does it.
                    spawner.thread.endNothing()
                    return !isOurChild(processID)
                }
            }
        }

        @Test func refusedSignalsAreErrors() async throws {
            try await withSpawner("signal") { ledger, spawner in
                try await withChild(of: spawner, ProcessSpecification(executable: "/bin/sleep", arguments: ["100"])) { child in
                    ledger.plan(.init(call: .signalProcess, number: 1, isForever: true, errno: EPERM))
                    #expect(throws: ProcessError.self) { try child.send(.terminate) }
                    // The ladder goes on to its last step.
                    #expect(await child.terminate(grace: .milliseconds(10)) == .signaled(.kill, coreDumped: false))
                    ledger.plan(nil)
                }
            }
        }

        @Test func theLastDescriptorsAreKeptInReserve() async throws {
            let usage = Lock((open: 100, limit: 128))
            try await withSpawner("reserve", changing: { $0.descriptorUsage = { usage.withLock { $0 } } }) { ledger, spawner in
                try await expectWorking(spawner, descriptors: 0)
                usage.withLock { $0.open += 1 }
                do {
                    try await expectWorking(spawner, descriptors: 0)
                    Issue.record("it was spawned")
                } catch let error as ProcessError {
                    #expect(error.code == .outOfDescriptors)
                    #expect(error.message.contains("101 of 128"), "\(error)")
                }
                #expect(ledger.openDescriptors.count == 2)
                usage.withLock { $0.open -= 1 }
                try await expectWorking(spawner, descriptors: 0)
            }
        }

        /// A child with all kinds of descriptors runs, writes and ends as it should.
        private func expectWorking(_ spawner: ProcessSpawner, descriptors: Int = 1) async throws {
            let output = Transcript()
            let error = Transcript()
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            defer { close(descriptor) }
            let directory = try TemporaryDirectory()
            var specification = shell("echo out; echo err >&2; exit 7").collecting(output, error: error)
            if case .captured(let receive) = output.destination {
                specification.standardOutput = .fifo(at: directory.file("output"), receive)
            }
            defer { #expect(directory.entries.isEmpty, "the FIFO is left") }
            specification.standardInput = .inherit
            specification.descriptors = (0..<Int32(descriptors)).map { .init(source: descriptor, target: 200 + $0) }
            let child = try await spawner.spawn(specification)
            #expect(await child.waitForExit() == .exited(code: 7))
            #expect(output.text == "out\n")
            #expect(error.text == "err\n")
        }

        /// Runs a body with a spawner whose system calls a ledger notes, and checks that nothing is left when the spawner is gone.
        @discardableResult
        private func withSpawner(
            _ what: String,
            changing change: (inout SystemCalls) -> Void = { _ in },
            body: (Ledger, ProcessSpawner) async throws -> Void
        ) async throws -> Ledger {
            let ledger = Ledger()
            var systemCalls = ledger.systemCalls
            change(&systemCalls)
            try await body(ledger, ProcessSpawner(systemCalls: systemCalls))
            for processID in ledger.processIDs { #expect(!isOurChild(processID), "\(what)") }
            try await eventually("closed descriptors after \(what)") { ledger.openDescriptors.isEmpty }
            #expect(ledger.strangersClosed.isEmpty, "\(what)")
            return ledger
        }
    }
}

extension ProcessThread {
    /// Wakes the thread.
    fileprivate func endNothing() {
        try? post(.endCapture(child: 0))
    }
}
