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

    @Test("The README has at most 1,000 words, the two commands with which everything begins, and a picture that is there")
    func page() throws {
        let readme = try Self.read("README.md")
        #expect(readme.split { $0 == " " || $0 == "\n" }.count <= 1_000)
        for command in ["Deploy/run", "Deploy/test"] { #expect(readme.contains("`\(command)`")) }
        let picture = try #require(
            readme.split(separator: "![").dropFirst().first?.split(separator: "](").dropFirst().first?.split(separator: ")").first
        )
        #expect(try Self.read(String(picture)).hasPrefix("<svg "))
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
