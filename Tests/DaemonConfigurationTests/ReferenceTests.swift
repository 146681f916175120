import DaemonConfiguration
import TestSupport
import Testing

@Suite("The reference of the configuration file")
struct ReferenceTests {
    private static let directory = "\(Files.packageRoot)/Sources/DaemonConfiguration"

    private static func lines(_ path: String) throws -> [Substring] {
        let text = try #require(Files.text(of: "\(directory)/\(path)"))
        return text.split(separator: "\n", omittingEmptySubsequences: false)
    }

    @Test("Every mapping that the reader knows has a table with exactly its keys, and there is no other table")
    func keys() throws {
        var documented: [Set<String>] = []
        for line in try Self.lines("DaemonConfiguration.docc/Configuration.md") {
            if line.hasPrefix("| Key |") { documented.append([]) }
            if line.hasPrefix("| `"), let key = line.split(separator: "`").dropFirst().first {
                documented[documented.count - 1].insert(String(key))
            }
        }
        let known = try ReaderSource.keyLists()
        #expect(known.count >= 6)
        #expect(Set(documented) == Set(known))
    }

    @Test("The reference's examples are good files")
    func examples() throws {
        let text = try Self.lines("DaemonConfiguration.docc/Configuration.md").joined(separator: "\n")
        let examples = text.split(separator: "```yaml\n").dropFirst().compactMap { $0.split(separator: "```").first }
        #expect(examples.count >= 3)
        for example in examples { _ = try DaemonConfiguration.parse(text: String(example), file: "example") }
    }
}
