import CoordinatorsTesting
import TestSupport
import Testing
import WireProtocol

@testable import Coordinators

/// Messages under their names in several builds.
///
/// The names are of these tests alone: a name stands for one type in a process.
private enum Renamed {
    struct Add: ResponderMessage {
        typealias Reply = String
        static let name = "WireNames.Add"
        static let formerNames = ["WireNames.AddItem", "OldNames.AddItem"]
        var sku = "tea"
    }

    struct Plain: ResponderMessage { static let name = "WireNames.Plain" }

    struct Twin: ResponderMessage { static let name = "WireNames.Add" }
    struct Revived: ResponderMessage { static let name = "WireNames.AddItem" }
    struct Claimant: ResponderMessage {
        static let name = "WireNames.Claimant"
        static let formerNames = ["WireNames.Plain"]
    }
    struct Impossible: ResponderMessage { static let name = "Wire|Names" }
    struct Impostor: ResponderMessage {
        static let name = "WireNames.Impostor"
        static let formerNames = ["coordinators.Navigate"]
    }

    struct Full: ResponderError { static let name = "WireNames.Full" }
    struct FullTwin: ResponderError { static let name = "WireNames.Full" }
    struct Buy: ResponderMessage {
        typealias Failure = Full
        static let name = "WireNames.Buy"
    }
    struct Sell: ResponderMessage {
        typealias Failure = FullTwin
        static let name = "WireNames.Sell"
    }
}

private actor Keeper: Coordinator {
    let context: Context
    private var seen: [String] = []

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .intercept(prefix: "OldNames.") { me, message, chain in
            me.seen.append(message.name)
            return try await chain.next()
        },
        .intercept(Renamed.Add.self) { me, add, chain in
            me.seen.append("\(add.sku)")
            return try await chain.next(add)
        },
        .respond(to: Renamed.Add.self) { me, add in
            defer { me.seen = [] }
            return (me.seen + ["\(add.sku) added"]).joined(separator: ", ")
        },
    ]
}

private actor Confused: Coordinator {
    let context: Context
    init(_ context: Context) { self.context = context }
    static let responders: Responders = [.respond(to: Renamed.Add.self) { _, _ in "" }, .respond(to: Renamed.Revived.self) { _, _ in }]
}

@Suite("Names between processes")
struct WireNamesTests {
    @Test("A type that was never renamed goes by its name, and another by all its names")
    func texts() {
        #expect(Renamed.Plain.wireName == "WireNames.Plain")
        #expect(Renamed.Add.wireName == "WireNames.Add|WireNames.AddItem|OldNames.AddItem")
        #expect(WireNames.all(in: Renamed.Add.wireName) == ["WireNames.Add", "WireNames.AddItem", "OldNames.AddItem"])
        #expect(WireNames.first(in: Renamed.Add.wireName) == "WireNames.Add")
    }

    @Test("A row is found by each name that it shares with an encoded message, and by no other")
    func rows() {
        typealias Row = Responder<Keeper>
        let table = ResponderTable(
            [Row.respond(to: Renamed.Plain.self) { _, _ in }, Row.respond(to: Renamed.Add.self) { _, _ in "" }].map(\.row)
        )
        func index(_ name: String) -> Int? { table.row(for: .encoded(name: name, .json, Payload([])))?.index }
        for name in [
            "WireNames.Add", "WireNames.AddItem", "OldNames.AddItem", Renamed.Add.wireName, "New.Put|WireNames.Add|WireNames.AddItem",
        ] {
            #expect(index(name) == 1, "\(name)")
        }
        // The first name that the table knows counts.
        #expect(index("New.Put|WireNames.Plain|WireNames.Add") == 0)
        for name in ["New.Put", "New.Put|New.Other", "WireNames", "|", ""] { #expect(index(name) == nil, "\(name)") }
        // A message that isn't encoded is found by its type.
        #expect(table.row(for: .value(Renamed.Add()))?.index == 1)
    }

    @Test("A prefix is whole components of a name, for rows here and above", arguments: ["Cache", "Cache.", "Cache.Put", ""])
    func prefixes(_ prefix: String) {
        let matching: [String: [String]] = [
            "Cache": ["Cache", "Cache.Put", "Cache.Put.All", "Cache.Putty"], "Cache.": ["Cache.Put", "Cache.Put.All", "Cache.Putty"],
            "Cache.Put": ["Cache.Put", "Cache.Put.All"], "": ["Cache", "Cache.Put", "Cache.Put.All", "CacheFigures.Read", "Cache.Putty"],
        ]
        let table = ResponderTable([Responder<Keeper>.intercept(prefix: prefix) { _, _, chain in try await chain.next() }.row])
        let directory = ResponderDirectory(
            [Directory(distance: 1, buildID: BuildID.current, isLast: true, rows: [Directory.Row(prefix, [.intercepts, .prefix])])]
        )
        for name in ["Cache", "Cache.Put", "Cache.Put.All", "CacheFigures.Read", "Cache.Putty"] {
            let isMatching = matching[prefix]?.contains(name) == true
            #expect((table.row(for: .encoded(name: name, .json, Payload([]))) != nil) == isMatching, "\(name)")
            #expect((directory.entry(for: name) != nil) == isMatching, "\(name)")
        }
    }

    @Test("Processes below are told a row once for each name")
    func directory() {
        let table = ResponderTable([Responder<Keeper>.respond(to: Renamed.Add.self) { _, _ in "" }.row])
        #expect(table.directory.flatMap(\.rows).map(\.name) == Renamed.Add.names)
    }

    @Test("Of several names in a directory the nearest row decides, and every row has its say on the codec")
    func nearest() {
        func directory(_ first: String, _ second: String, _ build: String = BuildID.current) -> ResponderDirectory {
            ResponderDirectory([
                Directory(distance: 1, buildID: build, isLast: false, rows: [Directory.Row(first, .intercepts)]),
                Directory(distance: 2, buildID: BuildID.current, isLast: true, rows: [Directory.Row(second)]),
            ])
        }
        #expect(directory("A", "B").entry(for: "A|B")?.isIntercepted == true)
        #expect(directory("B", "A").entry(for: "A|B")?.isIntercepted == true)
        #expect(directory("C", "B").entry(for: "A|B")?.isIntercepted == false)
        #expect(directory("B", "A").entry(for: "A|B")?.isOfThisBuild == true)
        #expect(directory("B", "A", "other").entry(for: "A|B")?.isOfThisBuild == false)
        #expect(directory("B", "A").entry(for: "C|D") == nil)
        // A prefix of a former name stands for the message, too.
        let prefixes = ResponderDirectory([
            Directory(distance: 1, buildID: BuildID.current, isLast: false, rows: [Directory.Row("Old.", [.intercepts, .prefix])]),
            Directory(distance: 2, buildID: BuildID.current, isLast: true, rows: [Directory.Row("New.Add")]),
        ])
        #expect(prefixes.entry(for: "New.Add|Old.Add")?.isIntercepted == true)
        #expect(prefixes.entry(for: "New.Add")?.isIntercepted == false)
    }

    @Test("A message is intercepted and answered under each of its names, and by prefixes of each")
    func answered() async throws {
        try await withRuntime(Keeper.self) { runtime in
            for name in Renamed.Add.names {
                let answer = try await runtime.ask(named: name, payload: ["sku": "jam"])
                #expect(answer == .string("\(name), jam, jam added"))
            }
            #expect(try await runtime.ask(Renamed.Add()) == "WireNames.Add, tea, tea added")
            #expect(try await runtime.send(named: "OldNames.AddItem", payload: ["sku": "jam"]))
        }
    }

    @Test("A pool hashes a message alike under each of its names")
    func hashed() throws {
        let routing = PoolRouting.hashing(\Renamed.Add.sku)
        func hash(_ body: Envelope.Body) throws -> UInt64? { try routing.hash(of: Envelope(body, sender: .root, deadline: nil)) }
        let expected = try #require(try hash(.value(Renamed.Add(sku: "jam"))))
        for name in Renamed.Add.names + [Renamed.Add.wireName, "New.Put|OldNames.AddItem"] {
            let found = try hash(.encoded(name: name, .json, Payload(Array(#"{"sku":"jam"}"#.utf8)[...])))
            #expect(found == expected, "\(name)")
        }
        #expect(try hash(.value(Renamed.Plain())) == nil)
    }

    @Test("Names that several types claim, and impossible ones, are refused in words that name the types")
    func refused() throws {
        let registry = NameRegistry()
        #expect(registry.add([Renamed.Add.self]).isEmpty)
        #expect(registry.add([Renamed.Add.self, Renamed.Plain.self, Renamed.Buy.self]).isEmpty)
        func problem<M: ResponderMessage>(_ message: M.Type) throws -> String {
            let problems = registry.add([message])
            #expect(problems.count == 1, "\(problems)")
            return try #require(problems.first)
        }
        let twin = try problem(Renamed.Twin.self)
        #expect(
            twin.contains("the name 'WireNames.Add' of ") && twin.contains("Twin is also the name of ") && twin.contains("Add: give"),
            "\(twin)"
        )
        let revived = try problem(Renamed.Revived.self)
        #expect(revived.contains("the name 'WireNames.AddItem'") && revived.contains("is also a former name of "), "\(revived)")
        let claimant = try problem(Renamed.Claimant.self)
        #expect(claimant.contains("the former name 'WireNames.Plain'") && claimant.contains("is also the name of "), "\(claimant)")
        #expect(try problem(Renamed.Impossible.self).contains("'|'"))
        #expect(try problem(Renamed.Impostor.self).contains("the runtime's own"))
        #expect(try problem(Renamed.Sell.self).contains("the name 'WireNames.Full'"))
    }

    @Test("Trees that share a process may have different types of one name, and a refused table claims nothing")
    func apart() {
        #expect(NameRegistry().add([Renamed.Twin.self]).isEmpty)
        let registry = NameRegistry()
        #expect(registry.add([Renamed.Add.self]).isEmpty)
        #expect(registry.add([Renamed.Plain.self, Renamed.Twin.self]).count == 1)
        #expect(registry.add([Renamed.Claimant.self]).isEmpty)
    }

    @Test("A coordinator whose rows claim one name twice isn't started, and the error says why")
    func start() async throws {
        let error = await #expect(throws: CoordinatorError.self) {
            try await withRuntime(Confused.self) { _ in }
        }
        #expect(error?.code == .invalidName)
        #expect(error?.message.contains("'WireNames.AddItem'") == true, "\(String(describing: error))")
    }
}
