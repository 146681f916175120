import TestSupport
import Testing
import WireProtocol

@testable import DaemonConfiguration

@Suite("The reference of the configuration file")
struct ReferenceTests {
    @Test("The article's tables and the JSON schema are as the declarations of the keys (COORDINATORS_TEST_WRITE=1 writes them)")
    func generated() throws {
        let text = try #require(Files.text(of: SchemaDocuments.articleFile))
        let count = SchemaDocuments.referenceTables.count
        let article = try #require(SchemaDocuments.article(text), "the article needs \(count) tables, each with the heading | Key |")
        #expect(try SchemaDocuments.checkedIn(SchemaDocuments.articleFile, article) == article)
        let schema = try SchemaDocuments.schema()
        #expect(try SchemaDocuments.checkedIn(SchemaDocuments.schemaFile, schema) == schema)
    }

    @Test("The examples of the reference and of the library's articles are good files")
    func examples() throws {
        var examples: [Substring] = []
        for folder in ["DaemonConfiguration/DaemonConfiguration.docc", "Coordinators/Coordinators.docc"] {
            let folder = "\(Files.packageRoot)/Sources/\(folder)"
            for name in Files.names(in: folder) {
                let text = Files.text(of: "\(folder)/\(name)") ?? ""
                examples += text.split(separator: "```yaml\n").dropFirst().compactMap { $0.split(separator: "```").first }
            }
        }
        #expect(examples.count >= 6)
        for example in examples { _ = try DaemonConfiguration.parse(text: String(example), file: "example") }
    }
}
