import TestSupport
import Testing

@Suite("The program")
struct ProgramTests {
    @Test("The program plays its tour, leaves nothing on the stack and ends by itself", .timeLimit(minutes: 1))
    func tour() async throws {
        let ended = try await RunningRegistration.program.run()
        #expect(ended.exitCode == 0)
        let settings = "/app/dashboard /app/settings"
        #expect(
            ended.output == """
                who are you? [/app/registration]
                is this right, Ada Byron? [/app/registration /app/registration]
                dashboard of Ada Byron [/app/dashboard]
                settings of Ada Byron [\(settings)]
                who are you? [\(settings) /app/settings /app/settings/registration]
                is this right, Ada Lovelace? [\(settings) /app/settings /app/settings/registration /app/settings/registration]
                settings of Ada Lovelace [\(settings)]
                dashboard of Ada Lovelace [/app/dashboard]
                signed out []
                registered: Ada Lovelace

                """
        )
    }
}
