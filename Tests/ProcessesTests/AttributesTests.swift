import ConcurrencySupport
import Glibc
import TestSupport
import Testing

@testable import Processes

extension ProcessesTests {
    @Suite struct Attributes {
        private static func with(_ attributes: ProcessAttributes, _ script: String) -> ProcessSpecification {
            var specification = shell(script)
            specification.attributes = attributes
            specification.workingDirectory = "/"
            return specification
        }

        @Test func umaskNicenessAndLimitsAreThoseThatWereGiven() async throws {
            var attributes = ProcessAttributes(umask: 0o027, nice: 7)
            attributes.limits = [.openFiles: .init(soft: 50, hard: 60), .core: .init(0), .cpuTime: .unlimited]
            let script = "umask; nice; ulimit -Sn; ulimit -Hn; ulimit -c; ulimit -t"
            #expect(try await run(Self.with(attributes, script)).1 == "0027\n7\n50\n60\n0\nunlimited\n")
        }

        @Test func theScoreForTimesWithoutMemoryIsTheChildsAlone() async throws {
            let own = Files.text(of: "/proc/self/oom_score_adj")
            var attributes = ProcessAttributes()
            for score in [1_000, 7] {
                attributes.oomScoreAdjustment = score
                #expect(try await run(Self.with(attributes, "cat /proc/self/oom_score_adj")).1 == "\(score)\n")
            }
            #expect(Files.text(of: "/proc/self/oom_score_adj") == own)
        }

        @Test(.enabled(if: geteuid() == 0, "only root can give some of its powers"))
        func aChildHasTheGivenCapabilitiesAndCanGetNoOthers() async throws {
            let script = "grep -E '^Cap(Prm|Eff|Bnd|Amb)' /proc/self/status | cut -f 2"
            for user in ["nobody", nil] {
                for capabilities in [[], [.netBindService, .checkpointRestore]] as [Set<Capability>] {
                    var attributes = ProcessAttributes(user: user)
                    attributes.capabilities = capabilities
                    let bits = String(capabilities.reduce(0 as UInt64) { $0 | 1 << UInt64($1.number) }, radix: 16)
                    let mask = String(repeating: "0", count: 16 - bits.count) + bits
                    let (status, output) = try await run(Self.with(attributes, script))
                    #expect(
                        status == .exited(code: 0) && output == String(repeating: mask + "\n", count: 4),
                        "\(user ?? "root"), \(capabilities)"
                    )
                }
            }
            #expect(Capability.netBindService.number == 10 && Capability.checkpointRestore.number == 40 && Capability.mknod.number == 27)
            #expect(Capability(name: "CAP_SYS_PTRACE") == .sysPtrace && Capability(name: "cap_none") == nil)
        }

        @Test func anOpenInputHasNoEndAndWritesNothing() async throws {
            var specification = shell("read -t 0.2 line; test $? -gt 128 && echo waits; readlink /proc/self/fd/0")
            specification.executable = "/bin/bash"
            specification.input = try InputDescriptor.open(.open)
            let (_, output) = try await run(specification)
            #expect(output.hasPrefix("waits\npipe:"))
            let directory = try TemporaryDirectory()
            try Files.write("text\n", to: directory.file("input"))
            specification = shell("cat; test -p /dev/stdin || echo file")
            specification.input = try InputDescriptor.open(.file(directory.file("input")))
            #expect(try await run(specification).1 == "text\nfile\n")
            #expect(throws: ProcessError.self) { try InputDescriptor.open(.file(directory.file("none"))) }
        }

        @Test(.enabled(if: geteuid() == 0, "only root can become another user"), arguments: [false, true])
        func theUserBringsItsGroupsAndVariables(inGroup: Bool) async throws {
            let script = "id -u; id -G; echo $HOME $USER $LOGNAME; cat /proc/self/status"
            var specification = Self.with(ProcessAttributes(user: "nobody"), script)
            specification.environment = ["PATH": "/usr/bin:/bin", "LOGNAME": "given"]
            if inGroup { specification.controlGroup = ControlGroup.make(for: "attributes") }
            defer { specification.controlGroup?.remove() }
            let (status, output) = try await run(specification)
            #expect(status == .exited(code: 0))
            let lines = output.split(separator: "\n")
            #expect(lines[..<3] == ["65534", "65534", "/nonexistent nobody given"])
            #expect(lines.contains { $0.hasPrefix("CapEff:") && $0.hasSuffix("\t0000000000000000") }, "none of root's powers are left")
            // The kernel makes the files of a process that must not be traced root's; that of this one has stayed as it was.
            #expect(Files.mode(of: "/proc/self/environ") == 0o400)
        }

        @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
        func aUserOrAGroupMayBeANumber() async throws {
            #expect(try await run(Self.with(.init(user: "4711", group: "4712"), "id -u; id -g; id -G")).1 == "4711\n4712\n4712\n")
            #expect(try await run(Self.with(.init(group: "nogroup"), "id -u; id -g")).1 == "0\n65534\n")
        }

        @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
        func aProgramMayActAsAnotherUserThanTheOneThatHasStartedIt() async throws {
            let directory = try TemporaryDirectory()
            chmod(directory.path, 0o711)
            for (mode, acting) in [("755", 65_534), ("4755", 0)] as [(String, UInt32)] {
                let program = directory.file(mode)
                _ = try await run(shell("cp /bin/sleep '\(program)' && chmod \(mode) '\(program)'"))
                var specification = ProcessSpecification(executable: program, arguments: ["600"], workingDirectory: "/")
                specification.attributes.user = "nobody"
                try await withChild(specification) { child in
                    let identity = child.identity
                    #expect(identity.userID == acting)
                    #expect(identity.wasStarted(by: 65_534) && !identity.wasStarted(by: 0))
                    let other = ProcessIdentity(processID: identity.processID, startTime: identity.startTime + 1)
                    #expect(other.userID == nil && !other.wasStarted(by: 65_534))
                }
            }
        }

        @Test(arguments: [
            (ProcessAttributes(user: "no-such-user"), "There is no user \"no-such-user\""),
            (ProcessAttributes(group: "no-such-group"), "There is no group \"no-such-group\""),
            (ProcessAttributes(user: "4711"), "The user 4711 has no entry"),
        ])
        func anUnknownNameIsRefusedBeforeTheSpawn(attributes: ProcessAttributes, message: String) async throws {
            let error = await #expect(throws: ProcessError.self) { try await run(Self.with(attributes, "true")) }
            #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
            #expect(Account.problem(with: attributes)?.hasPrefix(message) == true)
        }

        @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
        func whatCanNotBeSetIsNamedWithItsReason() async throws {
            // More than the kernel allows anyone (fs.nr_open).
            let tooMany = ProcessAttributes(limits: [.core: .init(0), .openFiles: .init(1 << 40)])
            var error = await #expect(throws: ProcessError.self) { try await run(Self.with(tooMany, "true")) }
            let message = error?.message ?? ""
            #expect(message.contains("its limit nofile can't be set: Operation not permitted (EPERM)"), "\(message)")
            #expect(error?.code == .permissionDenied)
            // As the user, not as root, who may enter any directory.
            error = await #expect(throws: ProcessError.self) {
                var specification = Self.with(.init(user: "nobody"), "true")
                specification.workingDirectory = "/root"
                _ = try await run(specification)
            }
            #expect(error?.code == .workingDirectoryUnavailable)
            #expect(error?.message.contains("\"/root\" can't be entered by user 65534: Permission denied (EACCES)") == true)
        }
    }

    @Suite struct Channels {
        private static let hasPython = access("/usr/bin/python3", X_OK) == 0

        /// A program that sends datagrams to a socket.
        ///
        /// - Parameter texts: What it sends, in Python.
        private static func sender(of texts: String, to socket: String) -> ProcessSpecification {
            let script = """
                import socket, sys
                connection = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                for text in (\(texts)): connection.sendto(text, sys.argv[1])
                """
            return ProcessSpecification(executable: "/usr/bin/python3", arguments: ["-c", script, socket])
        }

        @Test func whatIsWrittenToTheDescriptorArrives() async throws {
            let pipe = Transcript()
            var specification = shell("printf 'x\\n' >&7; exec 7>&-; sleep 0.1")
            specification.channels = [.pipe(target: 7) { pipe.append($0) }]
            #expect(try await run(specification).0 == .exited(code: 0))
            #expect(pipe.text == "x\n")
            #expect(pipe.ends == 1)
        }

        @Test(.enabled(if: hasPython, "needs /usr/bin/python3"))
        func anEmptyDatagramIsNotTheEnd() async throws {
            try await withTemporaryDirectory { directory in
                let (socket, sent) = (directory.file("notices"), Transcript())
                var specification = Self.sender(of: #"b"", b"one", b"", b"two""#, to: socket)
                specification.killsGroupAtExit = true
                specification.channels = [.datagrams(path: socket) { sent.append($0) }]
                let status = try await run(specification).0
                #expect(status == .exited(code: 0) && sent.text == "onetwo" && sent.ends == 1)
                #expect(directory.entries.isEmpty, "the socket is gone")
            }
        }

        @Test(.enabled(if: hasPython, "needs /usr/bin/python3"))
        func allDatagramsArriveBeforeTheExit() async throws {
            try await withTemporaryDirectory { directory in
                let (socket, sent, gate) = (directory.file("notices"), Transcript(), ThreadGate())
                // As many as wait in a socket by default.
                var specification = Self.sender(of: #"b"%d" % number for number in range(10)"#, to: socket)
                specification.killsGroupAtExit = true
                specification.channels = [
                    .datagrams(path: socket) { bytes in
                        sent.append(bytes)
                        gate.pass()
                    }
                ]
                // Its thread, which serves no other child, stands still from the first datagram until the child has ended.
                let child = try await ProcessSpawner(systemCalls: .live).spawn(specification)
                defer { gate.open() }
                try await eventually("the child has ended") { !child.identity.isAlive }
                gate.open()
                #expect(await child.waitForExit() == .exited(code: 0))
                #expect(sent.text == "0123456789" && sent.ends == 1)
            }
        }

        @Test(.enabled(if: hasPython, "needs /usr/bin/python3"))
        func theDatagramsOfAKeptChildThatIsGoneArrive() async throws {
            try await withTemporaryDirectory { directory in
                let (path, sent) = (directory.file("notices"), Transcript())
                let socket = SystemCalls.live.datagramSocket(path, geteuid())
                try #require(socket >= 0)
                #expect(try await run(Self.sender(of: #"b"one", b"", b"two", b"three""#, to: path)).0 == .exited(code: 0))
                let gone = ProcessIdentity(processID: getpid(), startTime: ProcessIdentity.current.startTime + 1)
                let kept = KeptProcess(identity: gone, ends: [.init(role: .datagrams, descriptor: socket, path: path)])
                let receivers = KeptReceivers(output: { _ in }, errors: { _ in }, channel: { _ in }, datagrams: { sent.append($0) })
                let error = await #expect(throws: ProcessError.self) {
                    try await ProcessSpawner.shared.adopt(kept, killsGroupAtExit: false, receivers)
                }
                #expect(error?.code == .noSuchProcess)
                #expect(sent.text == "onetwothree" && sent.ends == 1 && directory.entries.isEmpty)
            }
        }

        @Test func whatAChildTellsItsParentDoesNotWaitForRoomForOutput() async throws {
            let pipe = Transcript()
            let asked = Lock(0)
            var specification = shell("echo x >&7; exec 7>&-; sleep 0.1")
            specification.standardOutput = .null
            specification.channels = [.pipe(target: 7) { pipe.append($0) }]
            specification.isOutputFull = {
                asked.withLock { $0 += 1 }
                return true
            }
            let status = try await withChild(specification) { await $0.waitForExit() }
            #expect(status == .exited(code: 0) && pipe.text == "x\n")
            #expect(asked.withLock { $0 } == 0)
        }

        @Test func whatAKeptChildTellsItsParentDoesNotWaitForRoomForOutput() throws {
            let (reading, writing) = try makePipe()
            defer {
                close(reading)
                close(writing)
            }
            let roles: [ReadingEnd.Role] = [.output, .errors, .channel, .datagrams]
            let kept = KeptProcess(identity: .current, ends: roles.map { .init(role: $0, descriptor: reading, path: nil) })
            let receivers = KeptReceivers(output: { _ in }, errors: { _ in }, channel: { _ in }, datagrams: { _ in }, isFull: { true })
            #expect(try kept.readingEnds(receivers, .live).map { $0.isFull != nil } == [true, true, false, false])
        }

        @Test(.enabled(if: hasPython, "needs /usr/bin/python3"))
        func eachDatagramArrivesByItselfFromTheOwnerAlone() async throws {
            let directory = try TemporaryDirectory()
            chmod(directory.path, 0o755)
            let socket = directory.file("notices")
            let pieces = Lock<[String]>([])
            let script = """
                import os, socket, sys
                connection = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                for text in (b"one", b"two"): connection.sendto(text, sys.argv[1])
                if os.geteuid() == 0:
                    os.setresuid(65534, 65534, 65534)
                    try: connection.sendto(b"three", sys.argv[1])
                    except PermissionError: sys.exit(3)
                """
            var specification = ProcessSpecification(executable: "/usr/bin/python3", arguments: ["-c", script, socket])
            specification.killsGroupAtExit = true
            specification.channels = [
                .datagrams(path: socket) { bytes in pieces.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) } }
            ]
            let (status, _) = try await run(specification)
            #expect(status == .exited(code: geteuid() == 0 ? 3 : 0))
            #expect(pieces.withLock { $0 } == ["one", "two", ""])
            #expect(access(socket, F_OK) != 0, "the socket is gone")
        }
    }
}
