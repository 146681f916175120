import TestSupport
import Testing
import WireProtocol

@testable import Control
@testable import coordinatorctl

/// The schemas in `Deploy/schema`, beside the types of the answers.
@Suite("JSON schemas of answers")
struct AnswerSchemaTests {
    @Test("Each file has the members of its type; `Deploy/schemas` writes it", arguments: SchemasCommand.files.keys.sorted())
    func files(_ file: String) throws {
        let text = try #require(Files.text(of: "\(Files.packageRoot)/Deploy/schema/\(file).json"))
        let type = try #require(SchemasCommand.files[file])
        #expect(Self.bare(try ControlJSON.parse(Array(text.utf8))) == (try SchemasCommand.schema(of: type, in: file)))
    }

    @Test("The answer of each operation that has a command is in a file")
    func operations() {
        let types = SchemasCommand.files.values.map { ObjectIdentifier($0) }
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
