import Processes
import Testing

@Suite("The program")
struct ProgramTests {
    @Test("It plays its tour, leaves nothing on the stack and ends by itself", .timeLimit(.minutes(1)))
    func tour() async throws {
        let (pieces, piece) = AsyncStream.makeStream(of: [UInt8].self)
        let process = try await ProcessSpawner.shared.spawn(
            ProcessSpecification(
                executable: RunningContacts.executable,
                standardOutput: .captured { bytes in
                    if bytes.isEmpty { piece.finish() } else { piece.yield(bytes) }
                }
            )
        )
        let output = String(decoding: await pieces.reduce(into: []) { $0 += $1 }, as: UTF8.self)
        #expect(await process.waitForExit() == .exited(code: 0))
        #expect(
            output == """
                first launch, who are you?: /contacts /contacts/onboarding
                introduced: /contacts
                editing, in another process: /contacts /contacts /contacts/edit
                saved: /contacts /contacts
                editing again: /contacts /contacts /contacts/edit
                cancelled: /contacts /contacts
                left: no pages
                contacts: Rear Admiral Grace Hopper, Alan Turing, Ada Lovelace

                """
        )
    }
}
