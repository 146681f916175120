import ConcurrencySupport
import Glibc
import TestSupport
import Testing

@testable import Processes

extension ProcessesTests {
    @Suite struct Adoption {
        /// What may be known of an end, when the parent reaps its child in a while, if ever.
        static let killed: [ExitStatus] = [.signaled(.kill, coreDumped: false), .unknown]
        private static let terminated: [ExitStatus] = [.signaled(.terminate, coreDumped: false), .unknown]

        private static let kernelTells: Bool = {
            var system = utsname()
            uname(&system)
            let release = withUnsafeBytes(of: &system.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            let numbers = release.split(whereSeparator: { !$0.isNumber }).prefix(2).compactMap { Int($0) }
            return !numbers.lexicographicallyPrecedes([6, 15])
        }()

        /// The shell is the parent, and reaps its child as soon as that ends; sleep(1) never reaps any.
        @Test(
            arguments: [
                ("exit 3", ExitStatus.exited(code: 3)), ("exit 0", .exited(code: 0)),
                ("kill -USR1 $$", .signaled(.user1, coreDumped: false)),
            ],
            [true, false]
        )
        func theStatusOfAnotherProcessesChildIsKnownOnceThatOneHasReapedIt(end: (String, ExitStatus), isReaped: Bool) async throws {
            let output = Transcript()
            let parent = "setsid sh -c 'echo $$; read x <&3; \(end.0)' & \(isReaped ? "wait; " : "")exec sleep 100"
            var specification = shell(parent).collecting(output)
            let (gate, opener) = try makePipe()
            specification.descriptors = [.init(source: gate, target: 3)]
            try await withChild(specification) { _ in
                close(gate)
                let child = try #require(ProcessIdentity(processID: try await output.processID()))
                let process = try await ProcessSpawner.shared.adopt(child)
                close(opener)
                #expect(await process.waitForExit() == (isReaped && Self.kernelTells ? end.1 : .unknown))
            }
        }

        /// The kernel's answers until the last, which is asked for again for as long as it may come.
        @Test(
            arguments: [
                ([.failed(errno: ENOTTY)], ExitStatus.unknown), ([.failed(errno: EINVAL)], .unknown),
                // In the midst of the reaping.
                ([.failed(errno: ESRCH), .ended(.exited(code: 3))], .exited(code: 3)),
                ([.stillRunning, .failed(errno: ESRCH), .failed(errno: ESRCH), .ended(.exited(code: 3))], .exited(code: 3)),
                ([.failed(errno: ESRCH)], .unknown),
            ] as [([SystemCalls.Reaped], ExitStatus)]
        )
        func theExitIsKnownWithItsStatusAsSoonAsTheKernelTellsIt(answers: [SystemCalls.Reaped], status: ExitStatus) async throws {
            try await withOrphan("trap 'exit 3' TERM; echo ready; while :; do sleep 0.05; done") { orphan, _ in
                var systemCalls = SystemCalls.live
                let left = Lock(answers)
                systemCalls.foreignExit = { _ in left.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] } }
                let process = try await ProcessSpawner(systemCalls: systemCalls).adopt(orphan)
                try process.send(.terminate)
                #expect(await process.waitForExit() == status)
            }
        }

        @Test func theExitOfAnAdoptedProcessIsKnown() async throws {
            try await withOrphan("trap 'exit 3' TERM; echo ready; while :; do sleep 0.05; done") { orphan, _ in
                let process = try await ProcessSpawner.shared.adopt(orphan)
                #expect(process.identity == orphan && process.isAdopted)
                #expect(process.exitStatus == nil)
                let observed = OneShot<ExitStatus>()
                process.onExit { observed.settle($0) }
                try process.send(.terminate)
                let status = await process.waitForExit()
                #expect([.exited(code: 3), .unknown].contains(status))
                #expect(await observed.value == status)
                #expect(process.exitStatus == status)
                #expect(!orphan.isAlive)
                // Later signals reach nobody.
                try process.send(.kill)
                try process.sendToGroup(.kill)
                #expect(await process.terminate(grace: .zero) == status)
            }
        }

        @Test func anAdoptedProcessThatIgnoresTheEndIsKilledWithItsGroup() async throws {
            try await withOrphan("trap '' TERM; sleep 100 & echo $!; while :; do sleep 1; done") { orphan, output in
                let member = try identity(output)
                let process = try await ProcessSpawner.shared.adopt(orphan)
                let start = ContinuousClock.now
                #expect(Self.killed.contains(await process.terminate(grace: .milliseconds(200))))
                #expect(start.duration(to: .now) >= .milliseconds(200))
                await member.waitUntilGone()
                #expect(!member.isAlive)
            }
        }

        @Test func theGroupOfAnAdoptedProcessCanEndWithIt() async throws {
            // Before Linux 6.9 the group is known by its number alone, which may be a stranger's once the process was reaped.
            for isOldKernel in [false, true] {
                var systemCalls = SystemCalls.live
                let reached = Lock<[Int32]>([])
                if isOldKernel {
                    systemCalls.signalGroupOfProcess = { _, _ in -EINVAL }
                    systemCalls.signalGroup = { group, _ in
                        reached.withLock { $0.append(group) }
                        return 0
                    }
                }
                try await withOrphan("sleep 100 & echo $!; read x <&0; exec sleep 100") { orphan, output in
                    let member = try identity(output)
                    defer { try? member.send(.kill) }
                    let process = try await ProcessSpawner(systemCalls: systemCalls).adopt(orphan, killsGroupAtExit: true)
                    try process.send(.kill)
                    #expect(Self.killed.contains(await process.waitForExit()))
                    if !isOldKernel { return await member.waitUntilGone() }
                    // While it's a zombie the number is its own.
                    #expect(reached.withLock { $0.allSatisfy { $0 == orphan.processID } })
                    let before = reached.withLock { $0.count }
                    try? process.sendToGroup(.kill)
                    #expect(reached.withLock { $0.count } == before, "the number may belong to another group")
                }
            }
        }

        @Test func strangersAreNotAdopted() async throws {
            func refusal(_ identity: ProcessIdentity) async -> ProcessError.Code? {
                do throws(ProcessError) {
                    _ = try await ProcessSpawner.shared.adopt(identity)
                    return nil
                } catch {
                    #expect(error.message.hasPrefix("Could not adopt process \(identity.processID)"), "\(error)")
                    return error.code
                }
            }
            try await withOrphan("sleep 100 & echo $!; exec sleep 100") { orphan, output in
                let reused = ProcessIdentity(processID: orphan.processID, startTime: orphan.startTime + 1)
                #expect(await refusal(reused) == .noSuchProcess)
                let member = try identity(output)
                defer { try? member.send(.kill) }
                #expect(await refusal(member) == .invalidSpecification, "it leads no session")
                try orphan.send(.kill)
                await orphan.waitUntilGone()
                #expect(await refusal(orphan) == .noSuchProcess)
            }
            #expect(await refusal(ProcessIdentity(processID: -1, startTime: 0)) == .noSuchProcess)
        }

        @Test func outputIsReadOnFromWhereTheFormerReaderHasLeftIt() async throws {
            try await withTemporaryDirectory { directory in
                let fifo = directory.file("output")
                try #require(mkfifo(fifo, 0o600) == 0)
                let script = "exec 1<>\(fifo) 2>&1; echo before; echo ready >&3; exec 3>&-; sleep 0.2; echo after >&2; exec sleep 100"
                try await withOrphan("exec 3>&1; " + script) { orphan, _ in
                    let output = Transcript()
                    let process = try await ProcessSpawner.shared.adopt(orphan, output: output.fifo(fifo))
                    try await eventually("all output") { output.text == "before\nafter\n" }
                    #expect(output.ends == 0 && directory.entries == ["output"])
                    #expect(Self.terminated.contains(await process.terminate(grace: .patient(.seconds(10)))))
                    #expect(output.ends == 1)
                    #expect(directory.entries.isEmpty, "the FIFO goes with the last output")
                }
            }
        }

        @Test(
            arguments: [
                (.openProcess, EMFILE, .outOfDescriptors), (.statistics, EMFILE, .outOfDescriptors),
                (.signalProcess, EPERM, .permissionDenied), (.openFIFO, EMFILE, .outOfDescriptors), (.openFIFO, ENOENT, .systemCallFailed),
                (.pollAdd, ENOSPC, .systemCallFailed),
            ] as [(Ledger.Call, Int32, ProcessError.Code)]
        )
        func aStepOfAnAdoptionFails(call: Ledger.Call, errno: Int32, code: ProcessError.Code) async throws {
            try await withTemporaryDirectory { directory in
                let fifo = directory.file("output")
                try #require(mkfifo(fifo, 0o600) == 0)
                try await withOrphan("exec 3>&1 1<>\(fifo); echo text; echo ready >&3; exec 3>&-; exec sleep 100") { orphan, _ in
                    var failures = 0
                    for number in 1... {
                        let ledger = Ledger()
                        let spawner = ProcessSpawner(systemCalls: ledger.systemCalls)
                        try spawner.prepare()
                        ledger.plan(.init(call: call, number: number, isForever: false, errno: errno))
                        let output = Transcript()
                        do {
                            let process = try await spawner.adopt(orphan, output: output.fifo(fifo))
                            #expect(ledger.hits == 0, "the failure of \(call) \(number) was not noticed")
                            ledger.plan(nil)
                            try await eventually("the output") { output.text == "text\n" }
                            #expect(Self.terminated.contains(await process.terminate(grace: .patient(.seconds(10)))))
                            try await eventually("closed descriptors") { ledger.openDescriptors.count == 2 }
                            break
                        } catch let error as ProcessError {
                            failures += 1
                            #expect(error.code == code, "\(error)")
                            #expect(ledger.openDescriptors.count == 2, "those of the thread")
                            #expect(ledger.strangersClosed.isEmpty)
                            // It's as it was.
                            #expect(orphan.isAlive && directory.entries == ["output"] && output.bytes.isEmpty)
                        }
                    }
                    #expect(failures > 0, "\(call) was never called")
                }
            }
        }

        private static let receivers = KeptReceivers(output: { _ in }, errors: { _ in }, channel: { _ in }, datagrams: { _ in })

        /// Nothing here waits for the end of such a child any more: its exit status is left to the thread that reaps orphans.
        @Test(
            arguments: [
                (.openFIFO, 1, EMFILE), (.openProcess, 1, EMFILE), (.statistics, 1, EMFILE), (.statistics, 2, EMFILE),
                (.signalProcess, 1, EPERM), (.pollAdd, 1, ENOSPC), (.pollAdd, 2, ENOSPC),
            ] as [(Ledger.Call, Int, Int32)]
        )
        func aKeptChildThatCanNotBeAdoptedIsNotExpectedAnyMore(call: Ledger.Call, number: Int, errno: Int32) async throws {
            try await withTemporaryDirectory { directory in
                let fifo = directory.file("output")
                try #require(mkfifo(fifo, 0o600) == 0)
                try await withChild(ProcessSpecification(executable: "/bin/sleep", arguments: ["100"])) { child in
                    let processID = child.identity.processID
                    let ledger = Ledger()
                    let spawner = ProcessSpawner(systemCalls: ledger.systemCalls)
                    try spawner.prepare()
                    let kept = KeptProcess(child.identity, output: fifo, errors: nil, channel: nil, datagrams: nil, owner: geteuid())
                    spawner.expect([kept])
                    #expect(spawner.withoutSpawned([processID]).isEmpty)
                    ledger.plan(.init(call: call, number: number, isForever: false, errno: errno))
                    await #expect(throws: ProcessError.self) {
                        try await spawner.adopt(kept, killsGroupAtExit: false, Self.receivers)
                    }
                    #expect(ledger.hits == 1)
                    #expect(spawner.withoutSpawned([processID]) == [processID])
                    #expect(ledger.openDescriptors.count == 2, "those of the thread")
                    #expect(ledger.strangersClosed.isEmpty)
                }
            }
        }

        @Test func aKeptChildThatIsGoneTakesNothingFromAnotherOfItsNumber() async throws {
            try await withChild(ProcessSpecification(executable: "/bin/sleep", arguments: ["100"])) { child in
                let processID = child.identity.processID
                let gone = ProcessIdentity(processID: processID, startTime: child.identity.startTime - 1)
                let error = await #expect(throws: ProcessError.self) {
                    let kept = KeptProcess(identity: gone, ends: [])
                    _ = try await ProcessSpawner.shared.adopt(kept, killsGroupAtExit: false, Self.receivers)
                }
                #expect(error?.code == .noSuchProcess)
                #expect(ProcessSpawner.shared.withoutSpawned([processID]).isEmpty, "its exit status is still this spawner's to take")
            }
        }

        private func identity(_ text: String) throws -> ProcessIdentity {
            let number = try #require(Int32(text))
            return try #require(ProcessIdentity(processID: number))
        }

        /// Runs a body with a process that leads a session and isn't this process's child, and the first line of its output.
        private func withOrphan(_ script: String, _ body: (ProcessIdentity, String) async throws -> Void) async throws {
            let output = Transcript()
            var specification = shell("setsid /bin/sh -c \"$SCRIPT\" < /dev/zero &").collecting(output)
            // The number comes when the session exists.
            specification.environment = ["SCRIPT": "echo $$; \(script)", "PATH": "/usr/bin:/bin"]
            let child = try await ProcessSpawner.shared.spawn(specification)
            let orphan = try #require(ProcessIdentity(processID: try await output.processID()))
            defer { try? orphan.send(.kill) }
            try await eventually("the first line of the script") { output.text.count { $0 == "\n" } > 1 }
            #expect(await child.waitForExit() == .exited(code: 0))
            try await body(orphan, String(output.text.split(separator: "\n").last ?? ""))
        }
    }

    @Suite struct OutputFIFO {
        @Test func theChildHoldsBothEndsAndTheLastOutputIsReadBeforeTheExit() async throws {
            try await withTemporaryDirectory { directory in
                let output = Transcript()
                var specification = shell(
                    "cat /proc/self/fdinfo/1; echo err >&2; read x <&3; head -c 3000000 /dev/zero | tr '\\0' x; exit 3"
                )
                let (gate, opener) = try makePipe()
                specification.descriptors = [.init(source: gate, target: 3)]
                specification.standardOutput = output.fifo(directory.file("output"))
                specification.standardError = .sameAsOutput
                try await withChild(specification) { child in
                    close(gate)
                    try await eventually("the first output") { output.text.contains("err\n") }
                    #expect(Files.mode(of: directory.file("output")) == 0o600)
                    let line = try #require(output.text.split(separator: "\n").first { $0.hasPrefix("flags:") })
                    let flags = try #require(Int32(line.dropFirst("flags:\t".count), radix: 8))
                    #expect(flags & O_ACCMODE == O_RDWR && flags & O_NONBLOCK == 0)
                    close(opener)
                    #expect(await child.waitForExit() == .exited(code: 3))
                    #expect(output.bytes.count { $0 == UInt8(ascii: "x") } == 3_000_000)
                    try await eventually("the end") { output.ends == 1 && directory.entries.isEmpty }
                }
            }
        }

        @Test func theWriterOutlivesItsReader() async throws {
            try await withTemporaryDirectory { directory in
                let fifo = directory.file("output")
                let script =
                    "exec 3> \(directory.file("note")); i=0; while [ $i -lt 2000 ]; do echo $i; i=$((i+1)); done; echo done >&3; exec sleep 100"
                // The former reader: it spawns the writer as a spawner would, and is killed.
                let former = shell(
                    "mkfifo \(fifo); exec 1<>\(fifo); setsid sh -c '\(script)' & echo $! > \(directory.file("pid")); exec sleep 100"
                )
                try await withChild(former) { child in
                    try await eventually("the writer's last line") { Files.text(of: directory.file("note")) == "done\n" }
                    try child.send(.kill)
                    _ = await child.waitForExit()
                    let number = try #require(Files.text(of: directory.file("pid")).flatMap { Int32($0.dropLast()) })
                    let writer = try #require(ProcessIdentity(processID: number))
                    #expect(writer.isAlive)
                    let output = Transcript()
                    let process = try await ProcessSpawner.shared.adopt(writer, output: output.fifo(fifo), killsGroupAtExit: true)
                    try process.send(.kill)
                    #expect(Adoption.killed.contains(await process.waitForExit()))
                    #expect(output.text == (0..<2000).map { "\($0)\n" }.joined(), "what was written before the exit comes before it")
                }
            }
        }

        @Test func theFirstFIFOsAreLarge() async throws {
            try await withTemporaryDirectory { directory in
                let sizes = Lock<[Int32]>([])
                var systemCalls = SystemCalls.live
                systemCalls.makeFIFO = { path, size in
                    sizes.withLock { $0.append(size) }
                    return SystemCalls.live.makeFIFO(path, size)
                }
                let spawner = ProcessSpawner(systemCalls: systemCalls)
                var children: [ChildProcess] = []
                for number in 0...ProcessLoop.largeFIFOs {
                    let specification = ProcessSpecification(
                        executable: "/bin/sleep",
                        arguments: ["100"],
                        standardOutput: Transcript().fifo(directory.file("\(number)"))
                    )
                    children.append(try await spawner.spawn(specification))
                }
                let large = Array(repeating: 1 << 20 as Int32, count: ProcessLoop.largeFIFOs)
                #expect(sizes.withLock { $0 } == large + [0])
                let descriptor = open(directory.file("0"), O_RDONLY | O_NONBLOCK | O_CLOEXEC)
                // F_GETPIPE_SZ of fcntl(2), whose name is hidden from Swift. An unprivileged user whose pipes are many gets less.
                #expect(fcntl(descriptor, 1032) == 1 << 20)
                close(descriptor)
                for child in children { _ = await child.terminate(grace: .zero) }
                #expect(directory.entries.isEmpty)
            }
        }

        @Test func aFileInThePlaceOfTheFIFOIsRefusedAndStays() async throws {
            try await withTemporaryDirectory { directory in
                let place = directory.file("output")
                try Files.write("x", to: place)
                let specification = ProcessSpecification(executable: "/bin/true", standardOutput: Transcript().fifo(place))
                await #expect(throws: ProcessError.self) { try await ProcessSpawner.shared.spawn(specification) }
                #expect(Files.text(of: place) == "x")
                #expect(SystemCalls.live.openFIFO(place) == -EINVAL)
                #expect(SystemCalls.live.openFIFO(directory.file("nothing")) == -ENOENT)
                try #require(symlink(place, directory.file("link")) == 0)
                #expect(SystemCalls.live.openFIFO(directory.file("link")) == -ELOOP)
            }
        }
    }

    @Suite struct LifeLocks {
        @Test func theLockIsHeldForAsLongAsTheChildLives() async throws {
            try await withTemporaryDirectory { directory in
                let path = directory.file("lock")
                var lock = try IncarnationLock(path)
                #expect(try IncarnationLock(path) == nil)
                var specification = ProcessSpecification(executable: "/bin/sleep", arguments: ["100"])
                specification.descriptors = [try #require(lock).inherited(as: 7)]
                try await withChild(specification) { child in
                    lock = nil
                    #expect(try IncarnationLock(path) == nil, "the child has it")
                    try child.send(.kill)
                    _ = await child.waitForExit()
                    // The child of another test has a copy of each descriptor, until it has become its program.
                    try await eventually("the lock is free") { try IncarnationLock(path) != nil }
                }
            }
        }

        @Test func aChildsChildrenDoNotHoldTheLock() async throws {
            try await withTemporaryDirectory { directory in
                let path = directory.file("lock")
                var lock = try IncarnationLock(path)
                // The shell's own way of close-on-exec: its child gets the descriptor closed.
                var specification = shell("setsid sleep 100 7>&- & echo $!; exec sleep 100")
                specification.descriptors = [try #require(lock).inherited(as: 7)]
                try await withGrandchild(specification) { child, grandchild, _ in
                    lock = nil
                    try child.send(.kill)
                    _ = await child.waitForExit()
                    #expect(grandchild.isAlive)
                    // The child of another test has a copy of each descriptor, until it has become its program.
                    try await eventually("the lock is free") { try IncarnationLock(path) != nil }
                }
            }
        }

        @Test func twoTakersNeverHoldTheLockTogetherThoughTheFileIsRemoved() async throws {
            try await withTemporaryDirectory { directory in
                let path = directory.file("lock")
                let holders = Holders()
                let rounds = try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<4 { group.addTask { try Self.takeAndRemove(path, holders) } }
                    return try await group.reduce(0, +)
                }
                #expect(rounds > 100)
                #expect(directory.entries.isEmpty)
            }
        }

        private final class Holders: Sendable {
            let count = Lock(0)
        }

        private static func takeAndRemove(_ path: String, _ holders: Holders) throws -> Int {
            var rounds = 0
            for _ in 0..<2_000 {
                guard let lock = try IncarnationLock(path) else { continue }
                let others = holders.count.withLock { holders in
                    defer { holders += 1 }
                    return holders
                }
                #expect(others == 0)
                rounds += 1
                holders.count.withLock { $0 -= 1 }
                lock.removeFile()
            }
            return rounds
        }

        @Test func whatCanNotBeLockedIsAnErrorAndLeavesNothing() throws {
            let ledger = Ledger()
            ledger.plan(.init(call: .lockFile, number: 1, isForever: false, errno: EMFILE))
            let error = #expect(throws: ProcessError.self) { try IncarnationLock("/tmp/never", systemCalls: ledger.systemCalls) }
            #expect(error?.code == .outOfDescriptors)
            #expect(ledger.openDescriptors.isEmpty)
            #expect(throws: ProcessError.self) { try IncarnationLock("/nowhere/lock") }
        }
    }
}

extension Transcript {
    /// A FIFO at a path, whose content is collected here.
    fileprivate func fifo(_ path: String) -> OutputDestination {
        guard case .captured(let receive) = destination else { return destination }
        return .fifo(at: path, receive)
    }
}
