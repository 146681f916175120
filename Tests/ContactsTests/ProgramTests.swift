import TestSupport
import Testing

@Suite("The program")
struct ProgramTests {
    @Test("The program plays its tour, leaves nothing on the stack and ends by itself", .timeLimit(minutes: 1))
    func tour() async throws {
        let ended = try await RunningContacts.program.run()
        #expect(ended.exitCode == 0)
        #expect(
            ended.output == """
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
