import Processes
import Testing

@Suite("The program")
struct ProgramTests {
    @Test("One visit, from the login to its end", .timeLimit(.minutes(1)))
    func visit() async throws {
        let (pieces, piece) = AsyncStream.makeStream(of: [UInt8].self)
        let process = try await ProcessSpawner.shared.spawn(
            ProcessSpecification(executable: Program.path, standardOutput: .captured { piece.yield($0) })
        )
        var output: [UInt8] = []
        for await bytes in pieces {
            if bytes.isEmpty { break }
            output += bytes
        }
        let lines = String(decoding: output, as: UTF8.self).split(separator: "\n")
        #expect(await process.waitForExit() == .exited(code: 0))
        #expect(lines.first == "nobody is logged in, so the app starts with login")
        #expect(lines.contains("a wrong password: the app presents \"wrong address or password\""))
        #expect(lines.contains("the right one: welcome, Ada"))
        #expect(lines.contains("the app goes to the background, where these rest: /app/main, /app/main/feed, /app/main/player"))
        #expect(lines.last == "the visit is over")
    }
}
