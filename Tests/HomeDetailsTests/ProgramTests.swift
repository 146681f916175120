import TestSupport
import Testing

@Suite("The program")
struct ProgramTests {
    @Test("The program shows the details twice, and that nothing is left of them", .timeLimit(minutes: 1))
    func visit() async throws {
        let ended = try await program.run()
        #expect(ended.exitCode == 0)
        let lines = ended.output.split(separator: "\n")
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
