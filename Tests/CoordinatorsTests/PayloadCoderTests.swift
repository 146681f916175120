import CoordinatorsTesting
import FoundationEssentials
import Testing
import WireProtocol

@testable import Coordinators

@Suite("Payloads")
struct PayloadCoderTests {
    @Test("Numbers that aren't finite cross in both encodings", arguments: [PayloadCodec.json, .compact])
    func notFinite(_ codec: PayloadCodec) throws {
        struct Numbers: Codable {
            var doubles: [Double] = [.infinity, -.infinity, .nan, 1.5, .greatestFiniteMagnitude]
            var float: Float = -.infinity
            var optional: Double? = .infinity
        }
        let bytes = try PayloadCoder.encode(Numbers(), as: codec)
        let numbers = try PayloadCoder.decode(Numbers.self, from: bytes, codec: codec)
        #expect(numbers.doubles[0] == .infinity && numbers.doubles[1] == -.infinity && numbers.doubles[2].isNaN)
        #expect(numbers.doubles.suffix(2) == [1.5, .greatestFiniteMagnitude])
        #expect(numbers.float == -.infinity && numbers.optional == .infinity)
    }

    @Test("A value whose text wouldn't be read as it's written has none: too deep for what it's kept in, or a number that would be rounded")
    func obstacles() throws {
        final class Nest: Codable {
            let inner: [Nest]

            init(depth: Int) { inner = depth == 0 ? [] : [Nest(depth: depth - 1)] }
        }
        // Two levels each, and a record adds some.
        #expect(try Nest(depth: 251).encodedAsText().value == Nest(depth: 251).encodedAsJSON())
        #expect(throws: CoordinatorError.self) { try Nest(depth: 252).encodedAsText() }
        func isKept<Value: Codable & Equatable>(_ value: Value) throws -> Bool { try Value(decoding: value.encodedAsText().value) == value }
        #expect(try isKept([Int64.min, -1, 0, .max]) && isKept([UInt64(Int64.max)]))
        #expect(try isKept([Double.pi, -1e-300, 1e22, .greatestFiniteMagnitude, .leastNonzeroMagnitude, 0.1 + 0.2]))
        #expect(try isKept(["12345678901234567890.5", "\"12345678901234567890", String(repeating: "[", count: 1_000), "\\"]))
        #expect(try isKept([Decimal(string: "123456789.25")]))
        #expect(throws: CoordinatorError.self) { try [UInt64.max].encodedAsText() }
        #expect(throws: CoordinatorError.self) { try ["id": UInt64(Int64.max) + 1].encodedAsText() }
        #expect(throws: CoordinatorError.self) { try [Decimal(string: "1.2345678901234567890123")].encodedAsText() }
    }

    @Test("A decimal that becomes no number while it's encoded is refused as well", arguments: [true, false])
    func computed(asText: Bool) {
        struct Share: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(["NaN": Decimal.nan])
            }
        }
        let error = #expect(throws: CoordinatorError.self) {
            if asText { _ = try Share().encodedAsText() } else { _ = try PayloadCoder.encode(Share(), as: .json) }
        }
        #expect(error?.code == .coding)
    }

    @Test("A decimal that is no number is refused where it would be written as JSON, by the name of its property")
    func decimals() throws {
        struct Line: Codable {
            var note = "NaN"
            var price: Decimal?
        }
        struct Order: Codable { var lines: [Line] }
        let good = Order(lines: [Line(price: 1.5), Line()])
        for codec in [PayloadCodec.json, .compact] {
            let bytes = try PayloadCoder.encode(good, as: codec)
            #expect(try PayloadCoder.decode(Order.self, from: bytes, codec: codec).lines.map(\.price) == [1.5, nil])
        }
        let bad = Order(lines: [Line(), Line(price: .nan)])
        let error = #expect(throws: CoordinatorError.self) { try PayloadCoder.encode(bad, as: .json) }
        #expect(error?.code == .coding)
        #expect(error?.message.hasSuffix("'lines.1.price' is a Decimal that is no number") == true, "\(String(describing: error))")
        let copy = try PayloadCoder.decode(Order.self, from: PayloadCoder.encode(bad, as: .compact), codec: .compact)
        #expect(copy.lines[1].price?.isNaN == true)
    }

    @Test("The documented texts stand for such numbers, and other texts for nothing")
    func texts() throws {
        let bytes = try PayloadCoder.encode([Double.infinity, -.infinity, .nan], as: .json)
        #expect(String(decoding: bytes, as: UTF8.self) == #"["Infinity","-Infinity","NaN"]"#)
        #expect(throws: CoordinatorError.self) {
            try PayloadCoder.decode([Double].self, from: Bytes(#"["inf"]"#.utf8), codec: .json)
        }
    }

    @Test("An enumeration a hundred deep crosses in both encodings", arguments: [PayloadCodec.json, .compact])
    func deep(_ codec: PayloadCodec) throws {
        indirect enum Nested: Codable, Equatable {
            case end
            case more(Nested)
        }
        var nested = Nested.end
        for _ in 0..<100 { nested = .more(nested) }
        let bytes = try PayloadCoder.encode(nested, as: codec)
        #expect(try PayloadCoder.decode(Nested.self, from: bytes, codec: codec) == nested)
    }

    @Test("The runtime asks with a number that isn't finite")
    func asked() async throws {
        try await withRuntime(Echoing.self) { runtime in
            #expect(try await runtime.ask(Echoing.Echo(number: .infinity)) == .infinity)
            let none = try await runtime.ask(Echoing.Echo(number: .nan))
            #expect(none.isNaN)
        }
    }
}

actor Echoing: Coordinator {
    struct Echo: ResponderMessage {
        typealias Reply = Double
        var number: Double
    }

    nonisolated let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [.respond(to: Echo.self) { _, echo in echo.number }]
}
