import TestSupport
import Testing
import WireProtocol

@testable import Control
@testable import coordinatorctl
@testable import coordinatord

/// The schemas in `Deploy/schema`, beside the types of the answers.
@Suite("JSON schemas of answers")
struct AnswerSchemaTests {
    @Test("Each file has the members of its type, and no file has none; `Deploy/schemas` writes them")
    func files() throws {
        let directory = "\(Files.packageRoot)/Deploy/schema"
        let written = try Files.names(in: directory).map { name in
            (
                String(name.prefix { $0 != "." }),
                Self.bare(try ControlJSON.parse(Array(try #require(Files.text(of: "\(directory)/\(name)")).utf8)))
            )
        }
        var declared = try AnswerSchema.schemas(of: SchemasCommand.files)
        declared.merge(try AnswerSchema.schemas(of: ConfigurationReport.files)) { first, _ in first }
        for (file, schema) in written { #expect(declared.removeValue(forKey: file) == schema, "\(file)") }
        #expect(declared.isEmpty)
    }

    @Test("The answer of each operation that has a command is in a file")
    func operations() {
        let types = SchemasCommand.files.map { ObjectIdentifier($0.value) }
        for operation in ControlOperation.types where !operation.summary.isEmpty && operation.name != "shutdown" {
            #expect(types.contains(Self.answer(of: operation)), "\(operation.name)")
        }
    }

    private static func answer<Operation: DescribedOperation>(of operation: Operation.Type) -> ObjectIdentifier {
        ObjectIdentifier(Operation.Answer.self)
    }

    /// Returns a schema without what people read.
    private static func bare(_ schema: JSONValue, isProperties: Bool = false) -> JSONValue {
        switch schema {
        case .array(let items): return .array(items.map { bare($0) })
        case .object(let members):
            let kept = isProperties ? members : members.filter { !["$schema", "title", "description"].contains($0.key) }
            return .object(Dictionary(uniqueKeysWithValues: kept.map { ($0, bare($1, isProperties: !isProperties && $0 == "properties")) }))
        default: return schema
        }
    }
}
