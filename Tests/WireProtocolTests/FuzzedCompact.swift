import WireProtocol

/// What must hold of the compact decoder, whatever the bytes are.
enum FuzzedCompact {
    /// The types as which the bytes are read.
    private static var types: [any Codable.Type] {
        [
            Zoo.Numbers.self, Zoo.Optionals.self, Zoo.Event.self, Zoo.Tree.self, Zoo.Node.self, Zoo.Manual.self, Zoo.Dog.self,
            Zoo.Cat.self, Zoo.Defaulted.self, Zoo.Reordered.self, Zoo.Shape.self, [UInt8].self, [Int: [String]].self,
            [Zoo.Point: Int].self, JSONValue.self, String.self, [Zoo.Empty].self, Int128.self, Float.self, [Double].self,
            [Zoo.Level?].self,
        ]
    }

    /// Returns what is wrong; `nil` when all is well.
    static func problem(_ bytes: [UInt8]) -> String? { types.lazy.compactMap { check($0, bytes) }.first }

    private static func check<Value: Codable>(_ type: Value.Type, _ bytes: [UInt8]) -> String? {
        guard let value = try? CompactDecoder().decode(type, from: bytes) else { return nil }
        do {
            let encoded = try CompactEncoder().encode(value)
            let again = try CompactEncoder().encode(try CompactDecoder().decode(type, from: encoded))
            // The order of a dictionary's entries may differ.
            return again.count == encoded.count ? nil : "\(type) comes back with another size"
        } catch {
            return "\(type) doesn't come back: \(error)"
        }
    }
}
