import CoordinatorsTesting
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
