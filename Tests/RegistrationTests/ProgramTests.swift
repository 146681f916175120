import Processes
import Testing

@Suite("The program")
struct ProgramTests {
    @Test("It plays its tour, leaves nothing on the stack and ends by itself", .timeLimit(.minutes(1)))
    func tour() async throws {
        let (pieces, piece) = AsyncStream.makeStream(of: [UInt8].self)
        let process = try await ProcessSpawner.shared.spawn(
            ProcessSpecification(
                executable: RunningRegistration.executable,
                standardOutput: .captured { bytes in
                    if bytes.isEmpty { piece.finish() } else { piece.yield(bytes) }
                }
            )
        )
        let output = String(decoding: await pieces.reduce(into: []) { $0 += $1 }, as: UTF8.self)
        #expect(await process.waitForExit() == .exited(code: 0))
        let settings = "/app/dashboard /app/settings"
        #expect(
            output == """
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
