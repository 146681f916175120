import Fixtures
import Testing
import WireProtocol

@testable import Coordinators

private struct Hidden: Error, Codable, Hashable { var reason: String }

@Suite("Errors on the wire")
struct FailuresTests {
    private static let codecs: [PayloadCodec] = [.json, .compact]

    @Test("An error that is passed on stays as it arrived, and is restored where its type is known", arguments: codecs)
    func passedOn(_ codec: PayloadCodec) throws {
        let first = Failures.encode(Fixture.Refusal("full"), codec: codec)
        #expect(first.type.hasPrefix("Fixture.Refusal@"))
        let underWay = Failures.decode(first, codec: codec)
        #expect((underWay as? RemoteError)?.type == "Fixture.Refusal")
        #expect(Failures.encode(Failures.crossable(underWay), codec: codec) == first)
        #expect(Failures.restored(underWay) as? Fixture.Refusal == Fixture.Refusal("full"))
    }

    @Test("An error whose type can't be found by its name is restored where its message declares it", arguments: codecs)
    func declared(_ codec: PayloadCodec) throws {
        let underWay = Failures.decode(Failures.encode(Hidden(reason: "none"), codec: codec), codec: codec)
        #expect(Failures.restored(underWay) is RemoteError)
        #expect(Failures.restored(underWay, declared: [Fixture.Refusal.self]) is RemoteError)
        #expect(Failures.restored(underWay, declared: [Fixture.Refusal.self, Hidden.self]) as? Hidden == Hidden(reason: "none"))
        // A payload that doesn't fit leaves the error as it arrived.
        let wrong = Failure(code: "", type: "\((underWay as? RemoteError)?.type ?? "")", message: "words", payload: [])
        #expect(Failures.restored(Failures.decode(wrong, codec: codec), declared: [Hidden.self]) is RemoteError)
    }

    @Test("An error in another codec than the answer's keeps its text alone")
    func otherCodec() throws {
        let underWay = Failures.decode(Failures.encode(Fixture.Refusal("full"), codec: .compact), codec: .compact)
        let next = Failures.encode(underWay, codec: .json)
        #expect(next.type == "Fixture.Refusal")
        #expect(next.payload.isEmpty)
    }

    @Test(
        "Invented names of a peer give no type, and payloads that don't fit give no error",
        arguments: [
            "", "Cart.Full", "Cart.Full@", "@", "X@Si", "X@SS", "X@8Fixtures7FixtureO5PlaceV", "X@\u{1}aaaa",
            "X@$s8Fixtures7FixtureO7RefusalV",
            "X@13$55e6a1e2a1d0yXZ4FailV", "X@SaySaySaySiGGG", "X@nonsense", "X@_", "X@0", "Fixture.Refusal@8Fixtures7FixtureO7RefusalV",
        ]
    )
    func madeUp(_ name: String) throws {
        let failure = Failure(code: "", type: name, message: "words", payload: Array(#"{"other":1}"#.utf8)[...])
        let error = try #require(Failures.restored(Failures.decode(failure, codec: .json)) as? RemoteError)
        #expect(error.description == "words")
        #expect(!error.type.contains("@"))
    }
}
