import WireProtocol

/// A hash that is the same in every process; see http://www.isthe.com/chongo/tech/comp/fnv/.
struct FNV1a {
    private var value: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func add(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }

    /// Adds a value, whose fields count in the order of their names.
    mutating func add(_ value: JSONValue) {
        switch value {
        case .array(let elements):
            add("[\(elements.count)".utf8)
            for element in elements { add(element) }
        case .object(let fields):
            add("{\(fields.count)".utf8)
            for (name, field) in fields.sorted(by: { $0.key < $1.key }) {
                add(JSONValue.string(name))
                add(field)
            }
        case .string(let text):
            add("\"\(text.utf8.count)".utf8)
            add(text.utf8)
        default: add("\(value);".utf8)
        }
    }

    var text: String { String(value, radix: 36) }
}

extension JSONValue {
    /// The value, condensed: equal values have equal texts, in every process.
    package var condensed: String {
        var hash = FNV1a()
        hash.add(self)
        return hash.text
    }
}
