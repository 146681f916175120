import TestSupport
import Testing
import WireProtocol

@Suite("Compact coder")
struct CompactTests {
    private func expectRoundTrip<Value: Codable & Equatable>(_ value: Value, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let bytes = try CompactEncoder().encode(value)
        #expect(try CompactDecoder().decode(Value.self, from: bytes) == value, sourceLocation: sourceLocation)
        // As a slice in the middle of something else, and as an element of something else.
        let slice = ([1, 2, 3] + bytes + [4])[3..<3 + bytes.count]
        #expect(try CompactDecoder().decode(Value.self, from: slice) == value, sourceLocation: sourceLocation)
        let elements = try CompactEncoder().encode([[value, value]])
        #expect(try CompactDecoder().decode([[Value]].self, from: elements) == [[value, value]], sourceLocation: sourceLocation)
        let members = try CompactEncoder().encode(["k": value])
        #expect(try CompactDecoder().decode([String: Value].self, from: members) == ["k": value], sourceLocation: sourceLocation)
        for count in 0..<bytes.count {
            #expect(throws: DecodingError.self, sourceLocation: sourceLocation) {
                try CompactDecoder().decode(Value.self, from: Array(bytes.prefix(count)))
            }
        }
        #expect(throws: DecodingError.self, sourceLocation: sourceLocation) { try CompactDecoder().decode(Value.self, from: bytes + [0]) }
    }

    @Test("Integers of every width come back, at the ends of their ranges and of each form")
    func integers() throws {
        try expectRoundTrip(Zoo.Numbers())
        for value in [0, 1, 127, 128, 129, 16_383, 16_384, 1 << 62, .max, -1, -2, -128, -129, .min] as [Int] {
            try expectRoundTrip(value)
        }
        for value in [0, .max, UInt64.max / 2, UInt64.max / 2 + 1] as [UInt64] { try expectRoundTrip(value) }
        for value in [.min, .max, Int128(Int64.min), Int128(Int64.min) - 1, Int128(UInt64.max), Int128(UInt64.max) + 1, 0] as [Int128] {
            try expectRoundTrip(value)
        }
        for value in [.max, UInt128(Int128.max), UInt128(Int128.max) + 1, 5] as [UInt128] { try expectRoundTrip(value) }
    }

    @Test("An integer that doesn't fit is an error, and one that fits may be read in another width")
    func integerConversions() throws {
        let bytes = try CompactEncoder().encode(300)
        #expect(try CompactDecoder().decode(UInt16.self, from: bytes) == 300)
        #expect(try CompactDecoder().decode(Double.self, from: bytes) == 300)
        #expect(throws: DecodingError.self) { try CompactDecoder().decode(UInt8.self, from: bytes) }
        #expect(throws: DecodingError.self) { try CompactDecoder().decode(String.self, from: bytes) }
        #expect(throws: DecodingError.self) { try CompactDecoder().decode(UInt.self, from: try CompactEncoder().encode(-1)) }
        #expect(try CompactDecoder().decode(Double.self, from: try CompactEncoder().encode(Int.max)) == Double(Int.max))
        #expect(try CompactDecoder().decode(Double.self, from: try CompactEncoder().encode(UInt128.max)) == Double(UInt128.max))
        #expect(throws: DecodingError.self) { try CompactDecoder().decode(Float.self, from: try CompactEncoder().encode(1e300)) }
    }

    @Test("Floating-point numbers come back bit by bit, infinities and NaN included")
    func floatingPoint() throws {
        for value in [0, -0.0, 0.1, .infinity, -.infinity, .pi, .leastNonzeroMagnitude, .greatestFiniteMagnitude] as [Double] {
            try expectRoundTrip(value)
            try expectRoundTrip(Float(value))
        }
        #expect(try CompactDecoder().decode(Double.self, from: try CompactEncoder().encode(-0.0)).sign == .minus)
        #expect(try CompactDecoder().decode(Double.self, from: try CompactEncoder().encode(Double.nan)).isNaN)
        #expect(try CompactDecoder().decode(Float.self, from: try CompactEncoder().encode([Float.nan])[5...]).isNaN)
    }

    @Test("Texts, bytes, truth values and ranges come back")
    func scalars() throws {
        for text in ["", "a", "grün", "👩‍🚀\u{0}", String(repeating: "long ", count: 1000)] { try expectRoundTrip(text) }
        try expectRoundTrip(true)
        try expectRoundTrip(false)
        try expectRoundTrip([UInt8](0...255))
        try expectRoundTrip([] as [UInt8])
        try expectRoundTrip(1..<5)
    }

    @Test("Bytes are one piece, and may still be read as an array of numbers, and the other way round")
    func bytesAsArray() throws {
        let bytes = try CompactEncoder().encode([1, 2, 200] as [UInt8])
        #expect(bytes.count == 5)
        #expect(try CompactDecoder().decode([Int].self, from: bytes) == [1, 2, 200])
        #expect(try CompactDecoder().decode(Set<UInt8>.self, from: bytes) == [1, 2, 200])
        #expect(try CompactDecoder().decode([UInt8].self, from: try CompactEncoder().encode([1, 2, 200])) == [1, 2, 200])
        #expect(throws: DecodingError.self) { try CompactDecoder().decode([UInt8].self, from: try CompactEncoder().encode([256])) }
    }

    @Test("Structures come back: empty, nested, with other keys, with defaults, read in another order")
    func structures() throws {
        try expectRoundTrip(Zoo.Point(x: -5, y: 1_000_000))
        try expectRoundTrip(Zoo.Empty())
        try expectRoundTrip([Zoo.Empty](repeating: Zoo.Empty(), count: 3))
        try expectRoundTrip(Zoo.Renamed(identifier: 1, displayName: "x"))
        try expectRoundTrip(Zoo.Defaulted(host: "h", port: 1))
        try expectRoundTrip(Zoo.Reordered(user: "u", password: "p"))
        try expectRoundTrip(Zoo.Manual(a: [1, 2, 300], b: ["x": 1, "y": -1]))
        let empty = try CompactEncoder().encode(Zoo.Empty())
        #expect(try CompactDecoder().decode(Zoo.Defaulted.self, from: empty) == Zoo.Defaulted())
    }

    @Test("Optionals come back: in properties, arrays, dictionaries and in one another")
    func optionals() throws {
        try expectRoundTrip(Zoo.Optionals(a: 1, b: "b", c: 2, d: [nil, 3], e: .init(x: 1, y: 2), f: [nil], g: ["n": nil, "o": 1]))
        try expectRoundTrip(Zoo.Optionals(a: nil, b: nil, c: nil, d: [], e: nil, f: nil, g: [:]))
        try expectRoundTrip(Int?.none)
        try expectRoundTrip(Int?.some(0))
        try expectRoundTrip([[nil, [nil, 5]]] as [[[Int?]?]])
    }

    @Test("Enumerations come back: raw, with payloads, recursive")
    func enumerations() throws {
        for color in Zoo.Color.allCases { try expectRoundTrip(color) }
        try expectRoundTrip(Zoo.Level.low)
        try expectRoundTrip(Zoo.Level.high)
        let point = Zoo.Point(x: 1, y: 2)
        for event in [.plain, .one(7), .labelled(name: "n", at: point), .labelled(name: "", at: nil), .nested(.blue, [.plain, .one(1)])]
            as [Zoo.Event]
        {
            try expectRoundTrip(event)
        }
        try expectRoundTrip(Zoo.Tree.branch(.branch(.leaf(1), .leaf(2)), .leaf(3)))
        #expect(throws: DecodingError.self) { try CompactDecoder().decode(Zoo.Color.self, from: try CompactEncoder().encode("mauve")) }
        try expectRoundTrip(Zoo.Shape.circle(radius: 1.5))
        try expectRoundTrip(Zoo.Shape.square(side: 2))
        try expectRoundTrip(Zoo.Either.list([.number(1), .text("x"), .list([])]))
    }

    @Test("Dictionaries and sets come back, whatever their keys are")
    func dictionaries() throws {
        try expectRoundTrip(["a": 1, "": 2, "grün": 3])
        try expectRoundTrip([1: "a", -5: "b", .max: "c"])
        try expectRoundTrip([Zoo.Point(x: 1, y: 2): "a", Zoo.Point(x: 3, y: 4): "b"])
        try expectRoundTrip([Zoo.Color.red: [1, 2]])
        try expectRoundTrip([1.5: true])
        try expectRoundTrip(["outer": ["inner": [1: Set([1, 2, 3])]]])
        try expectRoundTrip([String: Int]())
        try expectRoundTrip(Set(["a", "b"]))
        try expectRoundTrip(Dictionary(uniqueKeysWithValues: (0..<1000).map { ("key \($0)", $0) }))
    }

    @Test("Subclasses come back, whether they share their superclass's encoder or not")
    func inheritance() throws {
        let bytes = try CompactEncoder().encode([Zoo.Dog(name: "Rex", age: 5)])
        let dogs = try CompactDecoder().decode([Zoo.Dog].self, from: bytes)
        #expect(dogs.map(\.name) == ["Rex"])
        #expect(dogs.map(\.age) == [5])
        let cat = try CompactDecoder().decode(Zoo.Cat.self, from: try CompactEncoder().encode(Zoo.Cat(name: "Tom", lives: 9)))
        #expect(cat.name == "Tom")
        #expect(cat.lives == 9)
    }

    @Test("Random structures come back")
    func randomValues() throws {
        var random = SeededGenerator()
        for _ in 0..<2000 {
            let value = Zoo.Optionals(
                a: Bool.random(using: &random) ? random.number() : nil,
                b: Bool.random(using: &random) ? random.text() : nil,
                c: Bool.random(using: &random) ? .some(random.number()) : .none,
                d: [random.number(), nil],
                e: Zoo.Point(x: random.number(), y: random.number()),
                f: Bool.random(using: &random) ? [] : nil,
                g: [random.text(): random.number()]
            )
            #expect(try CompactDecoder().decode(Zoo.Optionals.self, from: try CompactEncoder().encode(value)) == value)
        }
    }

    @Test("Encoding appends to a buffer, and leaves it alone when it throws")
    func appending() throws {
        var buffer: [UInt8] = [9]
        try CompactEncoder().encode("a", into: &buffer)
        #expect(buffer == [9, 7, 1, 0x61])
        #expect(throws: EncodingError.self) { try CompactEncoder().encode(Zoo.Node.chain(1000), into: &buffer) }
        #expect(buffer == [9, 7, 1, 0x61])
    }
}
