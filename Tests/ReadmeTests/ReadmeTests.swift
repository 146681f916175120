import Glibc
import Processes
import Synchronization
import Testing

@Suite("The README's program")
struct ReadmeTests {
    private static let root = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()

    @Test("It has at most 25 lines, and it's the one that is compiled")
    func isCompiled() throws {
        let readme = try Self.read("README.md")
        let block = try #require(readme.split(separator: "```swift\n", maxSplits: 1).last?.split(separator: "```").first)
        #expect(block.split(separator: "\n", omittingEmptySubsequences: false).dropLast().count <= 25)
        #expect(try Self.read("Tests/ReadmeProgram/ReadmeProgram.swift") == String(block))
    }

    @Test("It does what it says, and ends when told", .timeLimit(.minutes(1)))
    func runs() async throws {
        let (lines, line) = AsyncStream.makeStream(of: [UInt8].self)
        let process = try await ProcessSpawner.shared.spawn(
            ProcessSpecification(executable: "\(Self.binaries)/ReadmeProgram", standardOutput: .captured { line.yield($0) })
        )
        var output = ""
        for await bytes in lines {
            output += String(decoding: bytes, as: UTF8.self)
            if bytes.isEmpty || output.contains("\n") { break }
        }
        #expect(output == "/client has learnt: 144\n")
        #expect(await process.terminate(grace: .seconds(10)) == .exited(code: 0))
    }

    private static let binaries: String = {
        var buffer = [CChar](repeating: 0, count: 4_096)
        let length = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        let path = String(decoding: buffer[..<max(length, 0)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    }()

    private static func read(_ file: String) throws -> String {
        let descriptor = open("\(root)/\(file)", O_RDONLY | O_CLOEXEC)
        try #require(descriptor >= 0, "\(file) can't be read")
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = Glibc.read(descriptor, &buffer, buffer.count), count > 0 { bytes += buffer[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }
}
