import Testing
import WireProtocol

@testable import Coordinators

private struct Today: CoordinatorConfiguration, Hashable {
    var currency = "EUR"
    var limit = 5
    var greeting: String? = "hello"
}

private struct Strict: Codable, Hashable {
    var currency: String
    var limit: Int
}

@Suite("Configurations from parents of other builds")
struct ConfigurationVersionsTests {
    private func decoded<C: Codable & Sendable>(_ json: String, as type: C.Type) throws -> C {
        try ConfigurationValue.encoded(.json, Array(json.utf8)[...], isComplete: true).decoded(as: type)
    }

    @Test("A property that the parent doesn't know has its default, and one that is nil stays nil")
    func added() throws {
        #expect(try decoded(#"{"currency":"CHF"}"#, as: Today.self) == Today(currency: "CHF", limit: 5, greeting: nil))
        #expect(try decoded(#"{}"#, as: Today.self) == Today(currency: "EUR", limit: 5, greeting: nil))
        #expect(try decoded(#"{"limit":7,"greeting":"hi"}"#, as: Today.self) == Today(currency: "EUR", limit: 7, greeting: "hi"))
    }

    @Test("A property that only the parent knows is ignored")
    func removed() throws {
        #expect(
            try decoded(#"{"currency":"CHF","limit":1,"colour":"red"}"#, as: Today.self) == Today(currency: "CHF", limit: 1, greeting: nil)
        )
    }

    @Test("A wrong value, and an absent one of a type without defaults, are errors as before")
    func wrong() {
        #expect(throws: CoordinatorError.self) { try decoded(#"{"currency":3}"#, as: Today.self) }
        #expect(throws: CoordinatorError.self) { try decoded(#"{"currency":"CHF"}"#, as: Strict.self) }
    }
}
