import ConcurrencySupport
import CoordinatorsTesting
import Fixtures
import Glibc
import Links
import Processes
import TestSupport
import Testing
import WireProtocol
import WorkerLifecycle

@testable import Coordinators

/// Tests of the way in which a worker gets its ticket, finds its parent, and proves its identity.
@Suite("How workers are born", .timeLimit(minutes: 3))
struct WorkerBirthTests {
    /// For tests that may take longer on a loaded machine, where a worker that looks for its parent for two seconds gives it up.
    private static let patient = Support.options.with { ($0.heartbeatTimeout, $0.orphanGrace) = (.seconds(120), .seconds(60)) }

    private static func withStarter(
        _ options: CoordinatorRuntime.Options = Support.options,
        _ body: (CoordinatorRuntime) async throws -> Void
    ) async throws {
        try await withRuntime(StarterRoot.self, options: options, body)
    }

    @Test(
        "The exit of a worker that ends before it has read its ticket is reported, every time",
        arguments: ["exec 3<&-; exit 78", "exit 125", "exit 1"]
    )
    func endsAtOnce(_ script: String) async throws {
        try await Self.withStarter { runtime in
            for number in 0..<10 {
                let answer = try await runtime.ask(StarterRoot.StartWorker("a\(number)", "/bin/sh", ["-c", script]), timeout: .seconds(30))
                #expect(answer.hasSuffix("ended before it was ready: exited with code \(script.split(separator: " ").last ?? "")"))
            }
        }
    }

    @Test("A worker that has closed its link and lives on is ended")
    func closesDescriptor() async throws {
        let sleepers = Sleepers()
        defer { sleepers.end() }
        try await Self.withStarter(Support.options.with { $0.startTimeout = .seconds(2) }) { runtime in
            let script = "exec 3<&-; exec sleep \(sleepers.seconds)"
            // Whether the ticket was in the pipe already when its end was closed, or comes too late, is up to chance.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<5 {
                    let start = StarterRoot.StartWorker("a\(number)", "/bin/sh", ["-c", script])
                    group.addTask { _ = try await runtime.ask(start, timeout: .seconds(60)) }
                }
                try await group.waitForAll()
            }
            #expect(sleepers.living.isEmpty)
        }
    }

    @Test(
        "A worker has as few of nng's threads on a machine of many processors as on one of two",
        .enabled(if: PreloadedLibrary.canBeBuilt && !Sanitizer.isOn, "needs /usr/bin/cc")
    )
    func fewThreads() async throws {
        for processors in [2, 16, 64] {
            let library = try await PreloadedLibrary(
                """
                #define _GNU_SOURCE
                #include <dlfcn.h>
                #include <unistd.h>
                long __sysconf(int name) {
                    if (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF) return \(processors);
                    return ((long (*)(int))dlsym(RTLD_NEXT, "__sysconf"))(name);
                }
                """
            )
            try await Self.withStarter { runtime in
                let command = library.wrapper + [Support.worker.path]
                let answer = try await runtime.ask(StarterRoot.StartWorker("a", command[0], Array(command[1...])), timeout: .seconds(60))
                #expect(answer == "started")
                let process = try await runtime.ask(Fixture.WhereAmI(), at: "/a").pid
                // Without what is loaded the count would say nothing.
                #expect(try #require(Files.text(of: "/proc/\(process)/maps")).contains("library.so"))
                // A thread has its name a moment after its beginning.
                var count = 0
                try await eventually("there are ten with \(processors) processors: \(count)") {
                    let names = Files.names(in: "/proc/\(process)/task").compactMap { Files.text(of: "/proc/\(process)/task/\($0)/comm") }
                    count = names.count { $0.hasPrefix("nng:") }
                    return count == 10 && names.count { $0.hasPrefix("nng:poll:epoll") } == 1
                }
            }
        }
    }

    @Test("A worker behind a launcher that stays starts, and dies with it")
    func launcher() async throws {
        try await Self.withStarter { runtime in
            let script = "\(Support.worker.path); true"
            #expect(try await runtime.ask(StarterRoot.StartWorker("a", "/bin/sh", ["-c", script]), timeout: .seconds(30)) == "started")
            let place = try await runtime.ask(Fixture.WhereAmI(), at: "/a")
            let worker = try #require(ProcessIdentity(processID: place.pid))
            let launcher = try #require(try await runtime.snapshot(of: "/a").processID)
            #expect(launcher != place.pid)
            kill(launcher, SIGKILL)
            #expect(try await runtime.whereIsIt("/a", after: place).pid != place.pid && !worker.isAlive)
        }
    }

    @Test("A worker whose ticket names another parent than the one that listens doesn't show its secret")
    func wrongListener() async throws {
        let directory = try TemporaryDirectory()
        let listener = try LinkListener(address: "ipc://\(directory.path)/l.sock")
        let hellos = Lock(0)
        let listening = Task {
            await listener.run { _, _ in
                hellos.withLock { $0 += 1 }
                throw LinkError(.handshake, "refused")
            }
        }
        let ticket = Ticket(
            address: listener.address,
            secret: Secret.make(),
            path: "/a",
            incarnation: 1,
            parentProcessID: getppid(),
            isStrict: false,
            orphanGraceMilliseconds: 0
        )
        let pipe = try TicketPipe()
        var specification = ProcessSpecification(executable: Support.worker.path, standardError: .null)
        specification.environment = [WorkerEnvironment.ticketVariable: "3"]
        specification.descriptors = [InheritedDescriptor(source: pipe.reader, target: 3)]
        let status = try await withChild(specification) { child in
            pipe.closeReader()
            try pipe.give(ticket)
            return await child.waitForExit()
        }
        #expect(status == .exited(code: 75))
        #expect(hellos.withLock { $0 } == 0)
        listener.close()
        await listening.value
    }

    /// Says hello with a secret from this process, and waits until the link is closed.
    private static func expectNoWelcome(for secret: [UInt8], at address: String) async throws {
        let isClosed = OneShot<Void>()
        let link = try await Link.dial(address)
        link.start(Link.Handler(frameReceived: { _, _ in }, closed: { _, _ in isClosed.settle(()) }))
        let hello = Hello(secret: secret, processID: getpid(), processStartTime: 0, buildID: "", maximumFrameSize: 1 << 20)
        try link.send(Frame(.hello(hello)))
        await isClosed.value
    }

    @Test("A process with a stolen secret is refused, and the worker keeps its link and its asks")
    func stolenSecret() async throws {
        try await withRoot("a", in: .worker) { runtime in
            let host = try #require(try runtime.root.existingChildren?.host(of: "a") as? WorkerHost)
            let address = try runtime.core.links.hub.expect([1]) { _, _ in throw LinkError(.handshake, "unused") }
            let peer = try #require(host.state.withLock { $0.linkedPeer })
            let working = Task.immediate { try await runtime.perform(.workHard(milliseconds: 1_500), at: "/a", timeout: .seconds(60)) }
            try await Self.expectNoWelcome(for: host.secret, at: address)
            #expect(try await working.value == "done")
            #expect(host.state.withLock { $0.linkedPeer === peer })
            #expect(try await runtime.snapshot(of: "/a").incarnation == 1)
        }
    }

    @Test("Wrong secrets are logged, once for many, and without the secret")
    func wrongSecrets() async throws {
        let log = RecordedLog()
        try await withRoot(options: Support.options.with { $0.logger = log.logger }) { runtime in
            let address = try runtime.core.links.hub.expect([1]) { _, _ in throw LinkError(.handshake, "unused") }
            for _ in 0..<20 { try await Self.expectNoWelcome(for: Secret.make(), at: address) }
        }
        let told = log.lines.filter { $0.contains("nobody expects") }
        // One in ten seconds, however long this takes.
        #expect((1..<10).contains(told.count))
        #expect(told.first?.hasPrefix("warning: ") == true && told.first?.contains("\(getpid())") == true)
    }

    @Test(
        "A runtime directory that others could write to, or turn elsewhere, is refused",
        arguments: ["foreign", "writable", "link", "file"]
    )
    func directories(_ kind: String) async throws {
        let temporary = try TemporaryDirectory()
        let path = temporary.file("run")
        switch kind {
        case "foreign":
            // Only root can give a directory away.
            if geteuid() != 0 { return }
            try #require(mkdir(path, 0o700) == 0 && chown(path, 65_534, 65_534) == 0)
        case "writable": try #require(mkdir(path, 0o700) == 0 && chmod(path, 0o777) == 0)
        case "link": try #require(mkdir(temporary.file("real"), 0o700) == 0 && symlink("real", path) == 0)
        default: try Files.write("", to: path)
        }
        for path in [path, path + "/"] {
            let options = Support.options.with { $0.runtimeDirectory = path }
            let error = await #expect(throws: CoordinatorError.self) { try await withRuntime(StarterRoot.self, options: options) { _ in } }
            #expect(error?.code == .startFailed)
            let texts = ["foreign": "belongs to user 65534", "writable": "others may write to", "link": "is a symbolic link"]
            #expect(error?.message.contains("the runtime directory \(temporary.file("run"))") == true)
            #expect(error?.message.contains(texts[kind] ?? "isn't a directory") == true)
        }
    }

    @Test("A relative runtime directory is found by a worker that runs elsewhere")
    func relativeDirectory() async throws {
        let temporary = try TemporaryDirectory()
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        try #require(getcwd(&buffer, buffer.count) != nil)
        let depth = buffer.count { $0 == CChar(UInt8(ascii: "/")) }
        let options = Support.options.with { $0.runtimeDirectory = String(repeating: "../", count: depth) + temporary.path.dropFirst() }
        // Deeper than where the test runs: from there the same way up ends elsewhere.
        var elsewhere = temporary.path
        for _ in 0...depth {
            elsewhere += "/d"
            try #require(mkdir(elsewhere, 0o700) == 0)
        }
        try await Self.withStarter(options) { runtime in
            let answer = try await runtime.ask(
                StarterRoot.StartWorker("a", Support.worker.path, directory: elsewhere),
                timeout: .seconds(30)
            )
            #expect(answer == "started")
        }
    }

    @Test("Children inherit this process's environment byte for byte, without the variables that systemd set for it alone")
    func environment() {
        let entries = ["A=b", "NOTIFY_SOCKET=/x", "LISTEN_FDS=1", "LISTEN_PID=1", "LISTEN_FDNAMES=a", "WATCHDOG_USEC=1", "WATCHDOG_PID=1"]
        let bytes: [UInt8] = Array("LATIN=".utf8) + [0xE9]
        let inherited = InheritedEnvironment(entries.map { Array($0.utf8) } + [bytes])
        #expect(inherited.entries == [Array("A=b".utf8), bytes])
        #expect(inherited["A"] == "b" && inherited["NOTIFY_SOCKET"] == nil)
    }

    @Test("A snapshot doesn't wait for a worker that never describes itself")
    func silent() async throws {
        try await Self.withStarter { runtime in
            let answer = try await runtime.ask(StarterRoot.StartWorker("a", Support.worker.path, ["--silent"]), timeout: .seconds(30))
            #expect(answer == "started")
            let host = try #require(try runtime.root.existingChildren?.host(of: "a") as? WorkerHost)
            try await eventually("it's known to be silent") { host.state.withLock { $0.description.isMissing } }
            // A quarter of a second, and what a loaded machine adds; the five seconds that it would take are more.
            for _ in 0..<3 { try await expectPromptly(within: .milliseconds(4_500)) { try await Self.look(runtime) } }
        }
    }

    /// Has a snapshot show the only child as one that doesn't answer, and returns what that takes.
    private static func look(_ runtime: CoordinatorRuntime) async throws -> Duration {
        let begin = MachineClock.now
        let snapshot = try await runtime.snapshot()
        #expect(snapshot.children.map(\.isUnresponsive) == [true])
        return MachineClock.now - begin
    }

    @Test("A snapshot doesn't wait for a worker that is stopped, and shows it again when it goes on")
    func suspended() async throws {
        try await withRoot("a", in: .worker, options: Self.patient) { runtime in
            let place = try await runtime.ask(Fixture.WhereAmI(), at: "/a")
            let host = try #require(try runtime.root.existingChildren?.host(of: "a") as? WorkerHost)
            defer { kill(place.pid, SIGCONT) }
            try await expectPromptly(within: .milliseconds(4_500)) {
                try await stopProcess(place.pid)
                try await eventually("it's suspected") {
                    host.state.withLock { $0.machine.lastSign.map { MonotonicTime.now.sinceOrigin - $0 > .seconds(3) } == true }
                }
                // A look that waits in vain knows it from then on, so that each attempt has a worker that goes on before.
                let times = try await [Self.look(runtime), Self.look(runtime)]
                kill(place.pid, SIGCONT)
                try await eventually("it's shown again") { try await runtime.snapshot().children.map(\.isUnresponsive) == [false] }
                return max(times[0], times[1])
            }
            #expect(try await runtime.snapshot(of: "/a").incarnation == 1)
        }
    }

    @Test("The socket that workers dial is made again after its removal")
    func removedSocket() async throws {
        try await withTemporaryDirectory { directory in
            try await withRoot("a", in: .worker, options: Support.options.with { $0.runtimeDirectory = directory.file("run") }) { runtime in
                let pid = try await runtime.ask(Fixture.WhereAmI(), at: "/a").pid
                for name in Files.names(in: directory.file("run")) where name.hasSuffix(".sock") { unlink(directory.file("run/\(name)")) }
                kill(pid, SIGKILL)
                try await eventually("it's back") { try? await runtime.ask(Fixture.WhereAmI(), at: "/a").pid != pid }
            }
        }
    }

    @Test("A worker whose link is being replaced is waited for")
    func linkless() async throws {
        try await withRoot("a", in: .worker, options: Self.patient) { runtime in
            _ = try await runtime.perform(.startGrandchild("b", inWorker: false), at: "/a")
            let host = try #require(try runtime.root.existingChildren?.host(of: "a") as? WorkerHost)
            for _ in 0..<3 {
                // A worker that has no processor for three seconds is rightly shown as unresponsive: such a look doesn't count.
                try await eventually("it's waited for") {
                    let wasDoubtful = host.isDoubtful
                    let begin = ContinuousClock.now
                    host.state.withLock { $0.linkedPeer }?.close()
                    if try await !runtime.snapshot(of: "/a").isUnresponsive { return true }
                    #expect(wasDoubtful || host.isDoubtful || ContinuousClock.now - begin > .seconds(3))
                    return false
                }
                try await eventually("its coordinator is restarted") {
                    let begin = ContinuousClock.now
                    host.state.withLock { $0.linkedPeer }?.close()
                    do {
                        return try await runtime.restart("/a/b").state == .active
                    } catch let error as CoordinatorError where error.code == .peerLost {
                        // The time for which a link is awaited.
                        #expect(ContinuousClock.now - begin >= .seconds(5))
                        return false
                    }
                }
            }
            #expect(try await runtime.snapshot(of: "/a").incarnation == 1)
        }
    }
}
