import Control
import Glibc
import Processes
import TestSupport
import Testing

@Suite("The sockets that a program gets from the daemon", .timeLimit(minutes: 3))
struct GivenSocketsTests {
    /// A server that answers each connection with its process, the variables of the protocol, and the number of its sockets; it starts once a
    /// connection waits.
    private static let server = """
        import os, socket, select, sys
        count = int(os.environ["LISTEN_FDS"])
        select.select(range(3, 3 + count), [], [])
        assert os.environ["LISTEN_PID"] == str(os.getpid()), os.environ["LISTEN_PID"]
        sockets = {socket.socket(fileno=3 + index): name for index, name in enumerate(os.environ["LISTEN_FDNAMES"].split(":"))}
        assert len(sockets) == count
        while True:
            for ready in select.select(list(sockets), [], [])[0]:
                connection, _ = ready.accept()
                connection.sendall(f"{os.getpid()} {sockets[ready]} {count}".encode())
                connection.close()
        """

    static func file(_ directory: TemporaryDirectory, _ more: String = "") throws -> String {
        try Files.write(server, to: directory.file("server.py"))
        return """
            children:
              - name: p
                program:
                  command: [python3, \(directory.file("server.py"))]
                  sockets:
                    - { name: main, listen: \(directory.file("main.sock")) }
                    - { name: other, listen: \(directory.file("other.sock")), mode: 0666 }
                  \(more)
            supervision: { max_restarts: 100, backoff: { minimum: 1ms, maximum: 10ms } }
            """
    }

    static func ask(_ path: String) throws -> String {
        let connection = try RawSocket(path)
        return String(decoding: try #require(connection.receiveAll()), as: UTF8.self)
    }

    @Test("They are its descriptors from 3 on, and no connection is refused while it's killed and restarted")
    func restarts() async throws {
        let directory = try TemporaryDirectory()
        try await RunningDaemon.with(try Self.file(directory)) { daemon in
            try await daemon.program("it runs") { $0.state == "active" }
            let main = directory.file("main.sock")
            let first = try await daemon.node("/p").pid ?? 0
            #expect(try Self.ask(main) == "\(first) main 2")
            #expect(try Self.ask(directory.file("other.sock")) == "\(first) other 2")
            #expect(Files.mode(of: main) == 0o600 && Files.mode(of: directory.file("other.sock")) == 0o666)
            var pids: Set<String> = []
            for round in 0..<5 {
                kill(try await daemon.node("/p").pid ?? 0, SIGKILL)
                // Connects before, during and after the restart.
                for _ in 0..<20 {
                    let answer = try Self.ask(main)
                    // A connection that the killed life has accepted ends without an answer.
                    if let pid = answer.split(separator: " ").first { pids.insert(String(pid)) }
                }
                try await daemon.program("it runs again") { $0.incarnation == UInt32(round + 2) && $0.state == "active" }
            }
            #expect(pids.count >= 5)
            async let restart = daemon.control("restart", "/p")
            for _ in 0..<20 { _ = try Self.ask(main) }
            #expect(try await restart.exitCode == 0)
        }
        #expect(directory.entries == ["server.py"])
    }

    @Test("A change of the program keeps them, and one that the file has no more is closed")
    func changes() async throws {
        let directory = try TemporaryDirectory()
        let file = try Self.file(directory)
        try await RunningDaemon.with(file) { daemon in
            let main = directory.file("main.sock")
            try await daemon.eventually("it answers") { try Self.ask(main).hasSuffix("main 2") }
            let identity = try #require(Files.inode(of: main))
            let other = "        - { name: other, listen: \(directory.file("other.sock")), mode: 0666 }\n"
            #expect(file.contains(other))
            try daemon.rewrite(try Self.file(directory, "environment: { CHANGED: a }").replacing(other, with: ""))
            async let change = daemon.control("config", "apply")
            for _ in 0..<20 { _ = try Self.ask(main) }
            let changed = try await change
            #expect(changed.exitCode == 0, "\(changed)")
            #expect(try Self.ask(main).hasSuffix("main 1"))
            #expect(Files.inode(of: main) == identity)
            try await daemon.eventually("the other is closed") { !directory.entries.contains("other.sock") }
            // An operator's stop keeps what listens.
            #expect(try await daemon.control("stop", "/p").exitCode == 0)
            let waiting = try RawSocket(main)
            #expect(try await daemon.control("start", "/p").exitCode == 0)
            #expect(String(decoding: try #require(waiting.receiveAll()), as: UTF8.self).hasSuffix("main 1"))
        }
    }

    /// Starts a program as systemd does, with two sockets that listen: their descriptors are 3 and 4.
    private static let activation = """
        import fcntl, os, socket, sys
        opened = [socket.socket(socket.AF_INET), socket.socket(socket.AF_UNIX)]
        opened[0].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened[0].bind(("127.0.0.1", int(sys.argv[1])))
        opened[1].bind(sys.argv[2])
        copies = []
        for each in opened:
            each.listen(100)
            copies.append(fcntl.fcntl(each, fcntl.F_DUPFD, 20))
        os.closerange(3, 20)
        for index, copy in enumerate(copies): os.dup2(copy, 3 + index, inheritable=True)
        os.environ.update(LISTEN_FDS="2", LISTEN_FDNAMES="a:b", LISTEN_PID=str(os.getpid()))
        os.execv(sys.argv[3], sys.argv[3:])
        """

    @Test("Sockets that the daemon was started with are given on, also after an upgrade, and stay its starter's")
    func activated() async throws {
        let directory = try TemporaryDirectory()
        let main = directory.file("main.sock")
        let port = try FreePort.find()
        try Files.write(Self.activation, to: directory.file("activate.py"))
        // In another order than the daemon has got them.
        let other = "listen: \(directory.file("other.sock")), mode: 0666"
        let file = try Self.file(directory).replacing(other, with: "listen: 127.0.0.1:\(port)")
        let wrapper = "python3 '\(directory.file("activate.py"))' \(port) '\(main)'"
        try await RunningDaemon.with(file, wrapper: wrapper) { daemon in
            try await daemon.program("it runs") { $0.state == "active" }
            let identity = try #require(Files.inode(of: main))
            let first = try await daemon.node("/p").pid ?? 0
            // Its starter has bound the port, and the daemon doesn't bind it again.
            #expect(try Self.ask(main) == "\(first) main 2" && Self.ask(port: port) == "\(first) other 2")
            for _ in 1...2 {
                async let upgrade = daemon.control("upgrade")
                for _ in 0..<20 { #expect(try Self.ask(port: port) == "\(first) other 2") }
                #expect(try await upgrade.exitCode == 0)
            }
            kill(first, SIGKILL)
            for _ in 0..<20 { _ = try (Self.ask(port: port), Self.ask(main)) }
            try await daemon.eventually("the next life answers") { try !Self.ask(port: port).hasPrefix("\(first) ") }
            #expect(try Self.ask(port: port).hasSuffix(" other 2"))
            // What no child lists any more still listens, for one that lists it again.
            try daemon.rewrite("children: []")
            #expect(try await daemon.control("config", "apply").exitCode == 0)
            #expect(try await daemon.control("upgrade").exitCode == 0)
            let waiting = try RawSocket(main)
            try daemon.rewrite(file)
            #expect(try await daemon.control("config", "apply").exitCode == 0)
            #expect(String(decoding: try #require(waiting.receiveAll()), as: UTF8.self).hasSuffix(" main 2"))
            #expect(Files.inode(of: main) == identity)
        }
        // The file is its starter's.
        #expect(Files.inode(of: main) != nil)
    }

    @Test("The sockets of another process, whose variables the daemon has inherited, aren't taken")
    func othersVariables() async throws {
        let directory = try TemporaryDirectory()
        let wrapper = "env LISTEN_FDS=200 LISTEN_PID=1"
        try await RunningDaemon.with(try Self.file(directory), wrapper: wrapper) { daemon in
            try await daemon.eventually("it answers") { try Self.ask(directory.file("main.sock")).hasSuffix(" main 2") }
        }
        #expect(directory.entries == ["server.py"])
    }

    static func ask(port: UInt16) throws -> String {
        let connection = try RawSocket(port: port)
        return String(decoding: try #require(connection.receiveAll()), as: UTF8.self)
    }

    @Test("An address that can't be had fails the start with a reason")
    func taken() async throws {
        let directory = try TemporaryDirectory()
        let file = try Self.file(directory).replacing("max_restarts: 100", with: "max_restarts: 1")
        try await RunningDaemon.with(file.replacing(directory.file("main.sock"), with: "/nowhere/main.sock")) { daemon in
            let node = try await daemon.program("given up") { $0.state == "failed" }
            #expect(node.lastExit?.contains("Could not listen at /nowhere/main.sock") == true, "\(node.lastExit ?? "")")
        }
    }
}
