import Processes
import Testing

@Suite("The program")
struct ProgramTests {
    @Test("It shows the details twice, and that nothing is left of them", .timeLimit(.minutes(1)))
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
        #expect(
            lines == [
                "home is shown, with 0 children",
                "the details of 7: all about item 7",
                "home has 1 child",
                "home again, with 0 children",
                "the coordinator of 7 is out of memory",
                "the details of 8, from another process: all about item 8",
                "home again, with 0 children",
                "the visit is over",
            ]
        )
    }
}
