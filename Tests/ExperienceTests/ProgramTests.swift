import TestSupport
import Testing

@Suite("The program")
struct ProgramTests {
    @Test("The program plays one visit, from the login to its end", .timeLimit(minutes: 1))
    func visit() async throws {
        let ended = try await program.run()
        #expect(ended.exitCode == 0)
        let lines = ended.output.split(separator: "\n")
        #expect(lines.first == "nobody is logged in, so the app starts with login")
        #expect(lines.contains("a wrong password: the app presents \"wrong address or password\""))
        #expect(lines.contains("the right one: welcome, Ada"))
        #expect(lines.contains("the app goes to the background, where these rest: /app/main, /app/main/feed, /app/main/player"))
        #expect(lines.last == "the visit is over")
    }
}
