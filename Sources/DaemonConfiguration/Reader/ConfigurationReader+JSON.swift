import WireProtocol

extension ConfigurationReader {
    /// Reads a value of any form as JSON.
    ///
    /// The keys of mappings are texts as they are written.
    mutating func json(_ node: YAMLNode) -> JSONValue? {
        switch node.content {
        case .scalar(let text, _):
            switch node.plain {
            case .null?: return .null
            case .bool(let value)?: return .bool(value)
            case .integer(let value)?: return .integer(value)
            case .number(let value)? where value.isFinite: return .number(value)
            case .number?:
                report(at: node.mark, "the number \(text) has no form in JSON; expected a finite number")
                return nil
            case .text?, nil: return .string(text)
            }
        case .sequence(let nodes):
            var elements: [JSONValue] = []
            for element in nodes {
                if let value = json(element) { elements.append(value) }
            }
            return .array(elements)
        case .mapping(let pairs):
            var members: [String: JSONValue] = [:]
            for (keyNode, valueNode) in pairs {
                let value = json(valueNode)
                if let key = keyNode.text {
                    members[key] = value
                } else {
                    report(at: keyNode.mark, "a key of the configuration is \(keyNode.summary); expected a name")
                }
            }
            return .object(members)
        }
    }
}
