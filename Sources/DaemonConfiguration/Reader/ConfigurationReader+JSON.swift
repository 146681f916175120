import WireProtocol
import Yams

extension ConfigurationReader {
    /// Reads a value of any form as JSON.
    ///
    /// The keys of mappings are texts as they are written.
    mutating func json(_ node: Node) -> JSONValue? {
        switch node {
        case .scalar(let scalar):
            switch node.plain {
            case .null?: return .null
            case .bool(let value)?: return .bool(value)
            case .integer(let value)?: return .integer(value)
            case .number(let value)? where value.isFinite: return .number(value)
            case .number?:
                report(at: node.mark, "the number \(scalar.string) has no form in JSON; expected a finite number")
                return nil
            case .text?, nil: return .string(scalar.string)
            }
        case .sequence(let sequence):
            var elements: [JSONValue] = []
            for element in sequence {
                if let value = json(element) { elements.append(value) }
            }
            return .array(elements)
        case .mapping(let mapping):
            var members: [String: JSONValue] = [:]
            for (keyNode, valueNode) in mapping {
                let value = json(valueNode)
                if let key = keyNode.scalar?.string {
                    members[key] = value
                } else {
                    report(at: keyNode.mark, "a key of the configuration is \(keyNode.summary); expected a name")
                }
            }
            return .object(members)
        case .alias: return nil
        }
    }
}
