import Testing

@testable import Coordinators

/// Looked up in the test below alone: what is found once is remembered.
struct RarelyThrown: Error, Codable {}

@Suite("Types of errors")
struct ErrorTypesTests {
    @Test("Invented names of a peer don't keep an error's type from being found, however many they are")
    func madeUp() {
        for number in 0..<5_000 { #expect(ErrorTypes.type(named: "Error@NotThere\(number)") == nil) }
        let name = ErrorTypes.wireName(of: RarelyThrown.self)
        #expect(name.contains("@"))
        #expect(ErrorTypes.type(named: name) == RarelyThrown.self)
        #expect(ErrorTypes.type(named: name) == RarelyThrown.self)
    }
}
