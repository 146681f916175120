import TestSupport
import Testing
import WireProtocol

@Suite("Compact coder: bad bytes")
struct CompactRobustnessTests {
    /// Tries to read bytes as one type after the other; whatever they are, nothing may trap.
    private func poke(_ bytes: [UInt8]) -> Int {
        func attempt<Value: Decodable>(_ type: Value.Type) -> Int { (try? CompactDecoder().decode(type, from: bytes)) == nil ? 0 : 1 }
        return attempt(Zoo.Numbers.self) + attempt(Zoo.Optionals.self) + attempt(Zoo.Event.self) + attempt(Zoo.Tree.self)
            + attempt(Zoo.Node.self) + attempt(Zoo.Manual.self) + attempt(Zoo.Dog.self) + attempt(Zoo.Cat.self) + attempt([UInt8].self)
            + attempt([Int: [String]].self) + attempt([Zoo.Point: Int].self) + attempt(JSONValue.self) + attempt(String.self)
            + attempt([Zoo.Empty].self) + attempt(Int128.self) + attempt(Float.self) + attempt([Double].self) + attempt(Zoo.Either.self)
    }

    private static func samples() throws -> [[UInt8]] {
        [
            try CompactEncoder().encode(Zoo.Numbers()),
            try CompactEncoder().encode(Zoo.Optionals(a: 1, b: "b", c: 2, d: [nil, 3], e: nil, f: [nil], g: ["n": nil])),
            try CompactEncoder().encode([Zoo.Event.labelled(name: "n", at: Zoo.Point(x: 1, y: 200))]),
            try CompactEncoder().encode(Zoo.Event.nested(.blue, [.plain, .one(1)])),
            try CompactEncoder().encode(Zoo.Tree.branch(.leaf(1), .leaf(2))),
            try CompactEncoder().encode(Zoo.Node.chain(4)),
            try CompactEncoder().encode(Zoo.Manual(a: [1, 300], b: ["x": 1])),
            try CompactEncoder().encode(Zoo.Cat(name: "Tom", lives: 9)),
            try CompactEncoder().encode([UInt8](100..<200)),
            try CompactEncoder().encode(JSONValue.array([1, 2.5, "x", nil, true, ["k": []]])),
        ]
    }

    @Test("Samples with one bit flipped, one byte replaced or cut short don't trap, whatever they are read as")
    func mutations() throws {
        for sample in try Self.samples() {
            #expect(poke(sample) > 0)
            for bit in 0..<sample.count * 8 {
                var flipped = sample
                flipped[bit / 8] ^= 1 << (bit % 8)
                _ = poke(flipped)
            }
            for count in 0..<sample.count {
                _ = poke(Array(sample.prefix(count)))
                for byte: UInt8 in [0x00, 0x7F, 0x80, 0xFF, 0x09, 0x0A] {
                    var replaced = sample
                    replaced[count] = byte
                    _ = poke(replaced)
                }
            }
        }
    }

    @Test("Random byte strings, and as many that begin like a map or an array, don't trap")
    func randomBytes() {
        var random = SeededGenerator()
        for round in 0..<rounds(short: 8_000, all: 40_000, long: 400_000) {
            var bytes = random.bytes(upTo: 60)
            if round % 2 == 0, bytes.count > 5 {
                bytes.replaceSubrange(0..<5, with: [UInt8.random(in: 0x09...0x0A, using: &random), UInt8(bytes.count - 5), 0, 0, 0])
            }
            _ = poke(bytes)
        }
    }

    @Test("Lengths that overflow, don't end, or reach beyond what contains them are errors")
    func lengths() {
        let endless = [UInt8](repeating: 0xFF, count: 30)
        let bad: [[UInt8]] = [
            [], [0x0D], [0x7F], [0x07], [0x07, 0x01], [0x07, 0x01, 0xFF], [0x07] + endless, [0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F],
            [0x03] + endless, [0x03, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02], [0x04, 0x80], [0x05, 0, 0], [0x06],
            [0x0B, 0],
            [0x09, 0xFF, 0xFF, 0xFF, 0xFF], [0x0A, 1, 0, 0, 0], [0x0A, 2, 0, 0, 0, 5, 0x61], [0x0A, 3, 0, 0, 0, 1, 0x61, 0x07],
            // An element, and an entry, whose own length reaches beyond the array and the map.
            [0x09, 2, 0, 0, 0, 0x07, 0x05, 1, 1, 1, 1, 1], [0x0A, 4, 0, 0, 0, 1, 0x61, 0x07, 0x05, 1, 1, 1, 1, 1],
            // The same, where the bytes beyond belong to the next element, so that all of them are used up.
            [0x09, 13, 0, 0, 0, 0x09, 3, 0, 0, 0, 0x05, 0, 0, 0x09, 0, 0, 0, 0],
            [0x09, 15, 0, 0, 0, 0x09, 5, 0, 0, 0, 0x09, 5, 0, 0, 0, 0x09, 0, 0, 0, 0],
        ]
        for bytes in bad {
            #expect(throws: DecodingError.self, "\(bytes)") { try CompactDecoder().decode(JSONValue.self, from: bytes) }
        }
    }

    @Test("A fault where nothing can be thrown is thrown in the end")
    func lateFaults() {
        // An entry whose name, or value, reaches beyond the map, where a type only looks whether there is another one.
        for bytes: [UInt8] in [[0x0A, 2, 0, 0, 0, 5, 0x61], [0x0A, 4, 0, 0, 0, 1, 0x61, 0x07, 0x09]] {
            #expect(throws: DecodingError.self) { try CompactDecoder().decode(Zoo.Defaulted.self, from: bytes) }
        }
    }

    @Test("Values 256 deep come back, and one more is an error in both directions, in a stack of any depth")
    func depth() throws {
        let chain = try CompactEncoder().encode(Zoo.Node.chain(256))
        #expect(try CompactDecoder().decode(Zoo.Node.self, from: chain) == Zoo.Node.chain(256))
        #expect(throws: EncodingError.self) { try CompactEncoder().encode(Zoo.Node.chain(257)) }

        var tree = Zoo.Tree.leaf(0)
        for _ in 0..<126 { tree = .branch(tree, .leaf(1)) }
        #expect(try CompactDecoder().decode(Zoo.Tree.self, from: try CompactEncoder().encode(tree)) == tree)
        for _ in 0..<1000 { tree = .branch(tree, .leaf(1)) }
        #expect(throws: EncodingError.self) { try CompactEncoder().encode(tree) }

        // The bombs: chains that only a malicious peer can have written.
        #expect(try CompactDecoder().decode(Zoo.Node.self, from: chainBomb(5)).next?.next?.next?.next?.value == 5)
        #expect(throws: DecodingError.self) { try CompactDecoder().decode(Zoo.Node.self, from: chainBomb(2000)) }
        #expect(try CompactDecoder().decode(JSONValue.self, from: listBomb(3)) == [[[]]])
        #expect(throws: DecodingError.self) { try CompactDecoder().decode(JSONValue.self, from: listBomb(2000)) }
        #expect(throws: DecodingError.self) { try CompactDecoder().decode(Zoo.Either.self, from: listBomb(2000)) }
    }

    @Test(
        "A value of the greatest depth takes a part of the smallest stack of the runtime's threads",
        .disabled(if: Sanitizer.isOn, "the sanitizers' frames are larger")
    )
    func stack() throws {
        let most = try StackUse.bytes {
            var tree = Zoo.Tree.leaf(0)
            for _ in 0..<126 { tree = .branch(tree, .leaf(1)) }
            #expect(try CompactDecoder().decode(Zoo.Tree.self, from: try CompactEncoder().encode(tree)) == tree)
            let chain = try CompactEncoder().encode(Zoo.Node.chain(256))
            #expect(try CompactDecoder().decode(Zoo.Node.self, from: chain) == Zoo.Node.chain(256))
            #expect(try CompactDecoder().decode(JSONValue.self, from: listBomb(125)) != .null)
            for bomb in [chainBomb(257), listBomb(257)] {
                #expect(throws: DecodingError.self) { try CompactDecoder().decode(JSONValue.self, from: bomb) }
            }
        }
        print("the deepest values took \(most >> 10) KiB of stack")
        // Without a limit of the shell's on stacks a thread has two megabytes.
        #expect(most < 1 << 20)
    }

    /// Returns a chain of so many nodes, all of value 5.
    private func chainBomb(_ count: Int) -> [UInt8] {
        let value: [UInt8] = [5] + Array("value".utf8) + [0x85]
        var bomb = [0x0A] + length(value.count) + value
        for _ in 1..<count {
            let entries = value + [4] + Array("next".utf8) + bomb
            bomb = [0x0A] + length(entries.count) + entries
        }
        return bomb
    }

    /// Returns so many arrays inside one another.
    private func listBomb(_ count: Int) -> [UInt8] {
        var list: [UInt8] = []
        for _ in 0..<count {
            list = [0x09] + length(list.count) + list
        }
        return list
    }

    private func length(_ count: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) } }

    @Test("A type that is never done with itself is an error, in both directions")
    func endless() {
        struct Endless: Codable {
            init() {}
            init(from decoder: any Decoder) throws { self = try decoder.singleValueContainer().decode(Endless.self) }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(self)
            }
        }
        #expect(throws: EncodingError.self) { try CompactEncoder().encode(Endless()) }
        #expect(throws: DecodingError.self) { try CompactDecoder().decode(Endless.self, from: [0x80]) }
    }

    @Test("A value that encodes itself as two things is an error")
    func contradictory() {
        struct Contradictory: Encodable {
            func encode(to encoder: any Encoder) throws {
                var list = encoder.unkeyedContainer()
                var table = encoder.container(keyedBy: Zoo.Renamed.CodingKeys.self)
                try list.encode(1)
                try table.encode(1, forKey: .identifier)
            }
        }
        struct Twice: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(1)
                try container.encode(2)
            }
        }
        #expect(throws: EncodingError.self) { try CompactEncoder().encode(Contradictory()) }
        #expect(throws: EncodingError.self) { try CompactEncoder().encode(Twice()) }
    }

    @Test("An entry whose value throws leaves no trace when the type goes on without it")
    func skippedEntry() throws {
        struct Failing: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                try container.encode("written")
                _ = container.nestedUnkeyedContainer()
                throw Zoo.Wrong()
            }
        }
        struct Tolerant: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Zoo.Manual.CodingKeys.self)
                try? container.encode(Failing(), forKey: .list)
                try container.encode(1, forKey: .table)
            }
        }
        #expect(try CompactDecoder().decode([String: Int].self, from: try CompactEncoder().encode(Tolerant())) == ["table": 1])
    }

    @Test("Errors tell the coding path and the byte")
    func paths() throws {
        struct Outer: Codable { var list: [Zoo.Optionals] }
        let json: JSONValue = ["list": [["d": [], "g": [:]], ["d": [], "g": ["k": "text"]]]]
        do {
            _ = try CompactDecoder().decode(Outer.self, from: try CompactEncoder().encode(json))
            Issue.record("it was decoded")
        } catch DecodingError.typeMismatch(_, let context) {
            #expect(context.codingPath.map(\.stringValue) == ["list", "1", "g", "k"])
            #expect(context.debugDescription.contains("found a text (byte "))
        }
    }

    @Test("Reading a large map in the wrong order takes linear time")
    func largeMap() throws {
        struct Key: CodingKey {
            var stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }
        struct Backwards: Decodable {
            var sum = 0
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Key.self)
                for key in container.allKeys.reversed() { sum += try container.decode(Int.self, forKey: key) }
            }
        }
        // Quadratic time would be minutes.
        let map = Dictionary(uniqueKeysWithValues: (0..<50_000).map { ("\($0)", 1) })
        #expect(try CompactDecoder().decode(Backwards.self, from: try CompactEncoder().encode(map)).sum == 50_000)
    }
}
