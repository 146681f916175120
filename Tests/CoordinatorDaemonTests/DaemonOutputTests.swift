import ConcurrencySupport
import Glibc
import TestSupport
import Testing

@testable import CoordinatorDaemon

@Suite("The writer to standard error", .timeLimit(minutes: 1))
struct DaemonOutputTests {
    @Test("While standard error is blocked, both lanes fill up and drop the rest; then both are written with the number of dropped bytes")
    func blocked() async throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let (reader, writer) = (ends[0], ends[1])
        let output = DaemonOutput(descriptor: writer, logLimit: 30, childrenLimit: 1 << 20)
        // More than a pipe holds: the writer waits in the middle of it.
        let child = [UInt8](repeating: UInt8(ascii: "c"), count: 200_000)
        output.write(child, from: .children)
        try await eventually("the pipe is full") {
            var state = pollfd(fd: writer, events: Int16(POLLOUT), revents: 0)
            return poll(&state, 1, 0) == 0
        }
        for number in 0..<10 { output.write(Array("entry \(number)\n".utf8), from: .log) }
        for _ in 0..<10 { output.write(child, from: .children) }
        await output.flush(within: .milliseconds(10))

        let text = Lock("")
        let reading = Task.detached {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while case let count = read(reader, &buffer, buffer.count), count > 0 {
                let piece = String(decoding: buffer[..<count], as: UTF8.self)
                text.withLock { $0 += piece }
            }
        }
        await output.flush(within: .seconds(20))
        close(writer)
        await reading.value
        close(reader)
        let written = text.withLock { $0 }
        #expect(written.contains("entry 0\nentry 1\nentry 2\n[coordinatord] (56 bytes of the log were dropped)\n"))
        #expect(!written.contains("entry 3"))
        #expect(written.contains("[coordinatord] (1200000 bytes of output were dropped)\n"))
        #expect(written.utf8.count { $0 == UInt8(ascii: "c") } > 1_000_000)
    }

    @Test("While no thread can be made the lanes fill up; then all is written without another call, with the number of dropped bytes")
    func withoutThreads() async throws {
        let temporary = try TemporaryDirectory()
        let file = temporary.file("errors")
        let descriptor = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        let areShort = Lock(true)
        let output = DaemonOutput(descriptor: descriptor, logLimit: 10) { body in
            !areShort.withLock { $0 } && DetachedThread.run(body)
        }
        for number in 1...2 { output.write(Array("entry \(number)\n".utf8), from: .log) }
        areShort.withLock { $0 = false }
        try await eventually("all is written") {
            Files.text(of: file) == "entry 1\n[coordinatord] (8 bytes of the log were dropped)\n"
        }
        await output.flush(within: .seconds(20))
    }

    @Test("Nothing is lost when another process has made the shared standard error non-blocking")
    func nonBlocking() async throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0 && ends.allSatisfy { fcntl($0, F_SETFL, O_NONBLOCK) == 0 })
        let (reader, writer) = (ends[0], ends[1])
        let output = DaemonOutput(descriptor: writer)
        // More than a pipe holds, several times.
        let lines = (0..<50_000).map { "line \($0)\n" }.joined()
        output.write(Array(lines.utf8), from: .children)
        try await eventually("the pipe is full") {
            var state = pollfd(fd: writer, events: Int16(POLLOUT), revents: 0)
            return poll(&state, 1, 0) == 0
        }
        var text: [UInt8] = []
        try await eventually("all of it comes") {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while case let count = read(reader, &buffer, buffer.count), count > 0 { text += buffer[..<count] }
            return text.count >= lines.utf8.count
        }
        await output.flush(within: .seconds(20))
        #expect(text == Array(lines.utf8))
        close(writer)
        close(reader)
    }
}
