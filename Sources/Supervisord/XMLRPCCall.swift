/// A call of a method, as it is read from a request.
package struct XMLRPCCall: Hashable, Sendable {
    /// The reason for which bytes aren't a call.
    package struct Problem: Error, CustomStringConvertible {
        package let description: String
    }

    /// The largest number of values in one another.
    private static let maximumDepth = 16

    var method: String
    var parameters: [XMLRPCValue] = []

    init(method: String, parameters: [XMLRPCValue] = []) {
        self.method = method
        self.parameters = parameters
    }

    package init(xml bytes: [UInt8]) throws(Problem) {
        var reader = XMLReader(bytes)
        try reader.open("methodCall")
        try reader.open("methodName")
        method = try reader.text(until: "methodName")
        // A call without parameters may leave the list out.
        if try reader.opens("params") {
            while try reader.opens("param") {
                parameters.append(try Self.value(&reader, depth: 0))
                try reader.close("param")
            }
            try reader.close("params")
        }
        try reader.close("methodCall")
    }

    private static func value(_ reader: inout XMLReader, depth: Int) throws(Problem) -> XMLRPCValue {
        guard depth < maximumDepth else { throw Problem(description: "more than \(maximumDepth) values are in one another") }
        try reader.open("value")
        // A value without a type is a string.
        guard let type = try reader.openedType() else { return .string(try reader.text(until: "value")) }
        let value: XMLRPCValue
        switch type {
        case "array":
            var values: [XMLRPCValue] = []
            try reader.open("data")
            while try reader.startsValue() { values.append(try Self.value(&reader, depth: depth + 1)) }
            try reader.close("data")
            try reader.close("array")
            value = .array(values)
        case "struct":
            var members: [String: XMLRPCValue] = [:]
            while try reader.opens("member") {
                try reader.open("name")
                let name = try reader.text(until: "name")
                members[name] = try Self.value(&reader, depth: depth + 1)
                try reader.close("member")
            }
            try reader.close("struct")
            value = .structure(members)
        default: value = try scalar(type, try reader.text(until: type))
        }
        try reader.close("value")
        return value
    }

    private static func scalar(_ type: String, _ text: String) throws(Problem) -> XMLRPCValue {
        switch type {
        case "string": return .string(text)
        case "int", "i4", "i8": if let value = Int(text) { return .integer(value) }
        case "boolean": if text == "0" || text == "1" { return .boolean(text == "1") }
        case "double": if let value = Double(text) { return .double(value) }
        default: throw Problem(description: "no method has a parameter of the type `\(type.prefix(40))`")
        }
        throw Problem(description: "`\(text.prefix(40))` isn't of the type \(type)")
    }
}
