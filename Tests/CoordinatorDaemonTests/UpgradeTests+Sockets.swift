import ConcurrencySupport
import Control
import Glibc
import TestSupport
import Testing

extension UpgradeTests {
    @Test("keeps the sockets of programs: no connection is refused, and one waits for a program that is stopped")
    func sockets() async throws {
        let directory = try TemporaryDirectory()
        let main = directory.file("main.sock")
        try await RunningDaemon.with(try GivenSocketsTests.file(directory)) { daemon in
            try await daemon.program("it runs") { $0.state == "active" }
            let (identity, pid) = (try #require(Files.inode(of: main)), try await daemon.node("/p").pid ?? 0)
            for _ in 1...2 {
                async let upgrade = daemon.control("upgrade")
                for _ in 0..<20 { #expect(try GivenSocketsTests.ask(main) == "\(pid) main 2") }
                #expect(try await upgrade.exitCode == 0)
            }
            // The next life has the same socket.
            kill(pid, SIGKILL)
            for _ in 0..<20 { _ = try GivenSocketsTests.ask(main) }
            try await daemon.eventually("the next life answers") { try !GivenSocketsTests.ask(main).hasPrefix("\(pid) ") }
            #expect(Files.inode(of: main) == identity)
            try await daemon.call(.stop(path: "/p"))
            #expect(try await daemon.control("upgrade").exitCode == 0)
            let waiting = try RawSocket(main)
            try await daemon.call(.start(path: "/p"))
            #expect(String(decoding: try #require(waiting.receiveAll()), as: UTF8.self).hasSuffix(" main 2"))
            #expect(Files.inode(of: main) == identity)
        }
        #expect(directory.entries == ["server.py"])
    }

    @Test("keeps the ports of programs: no connection to one is refused, also while a program is stopped")
    func ports() async throws {
        let directory = try TemporaryDirectory()
        let port = try FreePort.find()
        let file = try GivenSocketsTests.file(directory).replacing(directory.file("main.sock"), with: "127.0.0.1:\(port)")
        try await RunningDaemon.with(file) { daemon in
            try await daemon.program("it runs") { $0.state == "active" }
            let pid = try await daemon.node("/p").pid ?? 0
            let isOver = OneShot<Void>()
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        var count = 0
                        // A connection that is refused throws.
                        while !isOver.isSettled {
                            let answer = try GivenSocketsTests.ask(port: port)
                            #expect(answer == "\(pid) main 2")
                            count += 1
                            await Task.yield()
                        }
                        return count
                    }
                }
                do {
                    defer { isOver.settle() }
                    for _ in 1...3 { #expect(try await daemon.control("upgrade").exitCode == 0) }
                }
                for try await count in group { #expect(count > 10) }
            }
            #expect(try await daemon.node("/p").pid == pid)
            try await daemon.call(.stop(path: "/p"))
            #expect(try await daemon.control("upgrade").exitCode == 0)
            let waiting = try RawSocket(port: port)
            try await daemon.call(.start(path: "/p"))
            #expect(String(decoding: try #require(waiting.receiveAll()), as: UTF8.self).hasSuffix(" main 2"))
        }
    }
}
