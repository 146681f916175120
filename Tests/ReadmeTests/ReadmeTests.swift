import Processes
import TestSupport
import Testing

@Suite("The README's program")
struct ReadmeTests {
    @Test("The program has at most 20 lines, and is the one that is compiled")
    func isCompiled() throws {
        let readme = try Self.read("README.md")
        let block = try #require(readme.split(separator: "```swift\n", maxSplits: 1).last?.split(separator: "```").first)
        #expect(block.split(separator: "\n", omittingEmptySubsequences: false).dropLast().count <= 20)
        #expect(try Self.read("Tests/ReadmeProgram/main.swift") == String(block))
    }

    @Test("The program prints its lines, and ends on request", .timeLimit(minutes: 1))
    func runs() async throws {
        let (lines, line) = AsyncStream.makeStream(of: [UInt8].self)
        let process = try await ProcessSpawner.shared.spawn(
            ProcessSpecification(executable: BuiltProgram("ReadmeProgram").path, standardOutput: .captured { line.yield($0) })
        )
        var output = ""
        for await bytes in lines {
            output += String(decoding: bytes, as: UTF8.self)
            if bytes.isEmpty || output.contains("\n") { break }
        }
        #expect(output == "/client received: 144\n")
        #expect(await process.terminate(grace: .patient(.seconds(10))) == .exited(code: 0))
    }

    private static func read(_ file: String) throws -> String {
        try #require(Files.text(of: "\(Files.packageRoot)/\(file)"), "\(file) can't be read")
    }
}
