import Fixtures
import TestSupport
import Testing
import WireProtocol

@testable import Coordinators

private struct Hidden: ResponderError, Hashable { var reason: String }

/// A type in three builds: first ``First``, then ``Second``, and ``Third`` today.
private enum Builds {
    struct First: ResponderError, Hashable {
        static let name = "Cart.IsFull"
        var limit: Int
    }

    struct Second: ResponderError, Hashable {
        static let name = "Cart.Full"
        static let formerNames = ["Cart.IsFull"]
        var limit: Int
        var hint: String?
    }

    struct Third: ResponderError, Hashable {
        static let name = "Cart.NoRoom"
        static let formerNames = ["Cart.Full", "Cart.IsFull"]
        var limit: Int
        var hint: String?
    }

    /// Has a name of which another's is the beginning.
    struct Other: ResponderError, Hashable {
        static let name = "Cart.IsFullOfHope"
        var limit: Int
    }

    struct Strict: ResponderError, Hashable {
        static let name = "Cart.Full"
        var reason: String
    }

    struct Several: ResponderMessage { typealias Failure = OneOf<First, OneOf<Hidden, RemoteError>> }
    struct None: ResponderMessage {}
}

@Suite("Errors on the wire")
struct FailuresTests {
    private static let codecs: [PayloadCodec] = [.json, .compact]

    @Test("The article on asking names every code")
    func documented() throws {
        let article = try #require(Files.text(of: "\(Files.packageRoot)/Sources/Coordinators/Coordinators.docc/Errors.md"))
        for kind in CoordinatorError.Code.Kind.allCases where kind != .notHere {
            #expect(article.contains("``CoordinatorError/Code/\(kind.rawValue)``"), "\(kind) is in no table")
        }
    }

    @Test("A long text of an error of any kind is cut, and says so, where it leaves, and where it arrives; cut once, it stays")
    func long() throws {
        struct Unknown: Error, CustomStringConvertible { var description: String }
        let text = String(repeating: "ö", count: Failures.textLimit)
        let errors: [any Error] = [
            CoordinatorError(.coding, text), RemoteError(type: text, description: text), Hidden(reason: text), Unknown(description: text),
        ]
        for error in errors {
            for codec in Self.codecs {
                let failure = Failures.encode(error, codec: codec)
                #expect(failure.message.utf8.count <= Failures.textLimit && failure.type.utf8.count <= Failures.textLimit)
                #expect(failure.message.contains("öööö… (the beginning of 131"), "\(type(of: error))")
                // The value that the program has declared crosses whole.
                if error is Hidden {
                    let restored = Failures.restored(Failures.decode(failure, codec: codec), declared: [Hidden.self])
                    #expect(restored as? Hidden == Hidden(reason: text))
                }
                let arrived = Failures.decode(Failure(code: failure.code, type: text, message: text), codec: codec)
                let message = (arrived as? CoordinatorError)?.message ?? "\(arrived)"
                #expect(message == Failures.bounded(text) && Failures.encode(arrived, codec: codec).message == message)
            }
        }
        #expect("\(Failures.crossable(Unknown(description: text)))" == Failures.bounded(text))
        #expect(Failures.bounded(String(text.prefix(10))) == String(text.prefix(10)))
    }

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
        #expect(Failures.restored(underWay, declared: [Builds.First.self]) is RemoteError)
        #expect(Failures.restored(underWay, declared: [Builds.First.self, Hidden.self]) as? Hidden == Hidden(reason: "none"))
        // A payload that doesn't fit leaves the error as it arrived.
        let wrong = Failure(code: "", type: "\((underWay as? RemoteError)?.type ?? "")", message: "words", payload: [])
        #expect(Failures.restored(Failures.decode(wrong, codec: codec), declared: [Hidden.self]) is RemoteError)
    }

    @Test("An error is restored by any name that both builds know, in every direction", arguments: codecs)
    func renamed(_ codec: PayloadCodec) throws {
        func crossed(_ error: any Error, _ declared: any ResponderError.Type) -> any Error {
            let underWay = Failures.decode(Failures.encode(error, codec: codec), codec: codec)
            return Failures.restored(
                Failures.decode(Failures.encode(underWay, codec: codec), codec: codec),
                declared: [Builds.Other.self, declared]
            )
        }
        #expect(crossed(Builds.First(limit: 3), Builds.Second.self) as? Builds.Second == Builds.Second(limit: 3))
        #expect(crossed(Builds.First(limit: 3), Builds.Third.self) as? Builds.Third == Builds.Third(limit: 3))
        #expect(crossed(Builds.Second(limit: 3, hint: "x"), Builds.First.self) as? Builds.First == Builds.First(limit: 3))
        #expect(crossed(Builds.Third(limit: 3, hint: "x"), Builds.Second.self) as? Builds.Second == Builds.Second(limit: 3, hint: "x"))
        #expect((crossed(Builds.Third(limit: 3), Hidden.self) as? RemoteError)?.type == "Cart.NoRoom")
    }

    @Test("An error of a known name whose value isn't understood keeps the words of its own build", arguments: codecs)
    func misunderstood(_ codec: PayloadCodec) throws {
        let thrown = Builds.Second(limit: 3)
        let underWay = Failures.decode(Failures.encode(thrown, codec: codec), codec: codec)
        let error = try #require(Failures.restored(underWay, declared: [Builds.Strict.self]) as? RemoteError)
        #expect(error == RemoteError(type: "Cart.Full", description: "\(thrown)"))
        // Passed on by this process, it's still restored by one that understands it.
        let next = Failures.decode(Failures.encode(error, codec: codec), codec: codec)
        #expect(Failures.restored(next, declared: [Builds.Second.self]) as? Builds.Second == thrown)
    }

    @Test("A message declares one type of errors, several, or none")
    func declarations() {
        #expect(
            Builds.Several.errorTypes.map { ObjectIdentifier($0) } == [ObjectIdentifier(Builds.First.self), ObjectIdentifier(Hidden.self)]
        )
        #expect(Builds.None.errorTypes.isEmpty)
    }

    @Test(
        "An error that is passed on in another codec is written anew",
        arguments: [(PayloadCodec.compact, PayloadCodec.json), (.json, .compact)]
    )
    func otherCodec(_ codec: PayloadCodec, _ other: PayloadCodec) throws {
        let underWay = Failures.decode(Failures.encode(Builds.Second(limit: 3, hint: "x"), codec: codec), codec: codec)
        let next = Failures.decode(Failures.encode(underWay, codec: other), codec: other)
        #expect(Failures.restored(next, declared: [Builds.First.self]) as? Builds.First == Builds.First(limit: 3))
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
