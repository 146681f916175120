import Testing
import WireProtocol

@Suite("Compact coder: vectors")
struct CompactVectorTests {
    static let names: Set<String> = [
        "compact-null", "compact-true", "compact-small-integer", "compact-integer", "compact-negative-integer", "compact-int128",
        "compact-uint128", "compact-float", "compact-double", "compact-text", "compact-bytes", "compact-array", "compact-struct",
        "compact-enumeration", "compact-dictionary",
    ]

    private struct Article: Codable, Equatable {
        var name: String, count: Int, isNew: Bool
        var note: String?
    }

    private enum Change: Codable, Equatable { case add(sku: String, count: Int) }

    private func expect<Value: Codable & Equatable>(
        _ value: Value,
        _ name: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let vector = try #require(try HexVectors.load()[name], sourceLocation: sourceLocation)
        #expect(try CompactEncoder().encode(value) == vector, sourceLocation: sourceLocation)
        #expect(try CompactDecoder().decode(Value.self, from: vector) == value, sourceLocation: sourceLocation)
    }

    @Test("Every compact vector of the written format is what its value encodes to, and decodes to its value")
    func vectors() throws {
        try expect(Int?.none, "compact-null")
        try expect(true, "compact-true")
        try expect(42, "compact-small-integer")
        try expect(300, "compact-integer")
        try expect(-300, "compact-negative-integer")
        try expect(-(Int128(1) << 100), "compact-int128")
        try expect(UInt128.max, "compact-uint128")
        try expect(1.5 as Float, "compact-float")
        try expect(-0.1, "compact-double")
        try expect("grün", "compact-text")
        try expect([1, 2, 255] as [UInt8], "compact-bytes")
        try expect(["a", "b"], "compact-array")
        try expect(Article(name: "key", count: 1000, isNew: true), "compact-struct")
        try expect(Change.add(sku: "a", count: 2), "compact-enumeration")
        try expect(["x": 1], "compact-dictionary")
    }
}
