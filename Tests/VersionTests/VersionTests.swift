import Fixtures
import TestSupport
import Testing

/// What a client gets from coordinators of the other build.
private enum Expected {
    /// The former build's client, and the present one's coordinators.
    static func old(currency: String = "EUR", replies: String = "new1 new2 new3") -> [String: String] {
        [
            "add": "Add 1 tea, gift none, in \(currency) up to 5, points none",
            "full": "thrown IsFull(limit: 3)",
            "closed": #"remote Cart.Closed: Closed(until: "Monday")"#,
            "pay": "paid by cash",
            "watch": replies,
            "note": "true",
            "count": "2",
        ]
    }

    /// The present build's client, and the former one's coordinators.
    static func new(currency: String = "EUR", replies: String = "old1 old2 old3") -> [String: String] {
        [
            "add": "AddItem tea, coupon none, in \(currency), currency none",
            "full": "thrown Full(limit: 3, hint: nil)",
            "closed": "AddItem closed, coupon none, in \(currency)",
            "pay": "paid by cash",
            "voucher": "coding: the payload isn't a Pay: Cannot initialize Method from invalid String value voucher (at method)",
            "watch": replies,
            "note": "true",
            "count": "1",
        ]
    }

    static let namesOfOld = ["Basket.Size", "Cart.AddItem", "Cart.Follow", "Cart.Notes", "Cart.Pay", "Cart.Remark"]
    static let namesOfNew = ["Cart.Add", "Cart.Count", "Cart.Note", "Cart.Notes", "Cart.Pay", "Cart.Watch"]
}

@Suite("Processes of different builds in one tree", .timeLimit(minutes: 3))
struct VersionTests {
    private static let old = BuiltProgram("OldBuild")
    private static let new = BuiltProgram("NewBuild")

    private func trial(of root: BuiltProgram, _ workers: BuiltProgram) async throws -> Trial { try await trial(of: root, [workers.path]) }

    private func trial(of root: BuiltProgram, _ arguments: [String]) async throws -> Trial {
        let ended = try await root.run(arguments)
        #expect(ended.exitCode == 0, "\(ended.errors)")
        return try Trial(json: ended.output)
    }

    @Test("A worker of a new build and its old parent understand each other")
    func oldParent() async throws {
        let trial = try await trial(of: Self.old, Self.new)
        #expect(trial.results["up"] == Expected.new())
        #expect(trial.seen == Expected.namesOfNew)
        #expect(trial.results["child"] == Expected.old(currency: "CHF"))
        #expect(trial.results["handle"] == Expected.old(currency: "CHF"))
        #expect(trial.results["path"] == Expected.old(currency: "CHF", replies: "new1"))
    }

    @Test("A worker of an old build and its new parent understand each other")
    func newParent() async throws {
        let trial = try await trial(of: Self.new, Self.old)
        #expect(trial.results["up"] == Expected.old())
        #expect(trial.seen == Expected.namesOfOld)
        #expect(trial.results["child"] == Expected.new(currency: "CHF"))
        #expect(trial.results["handle"] == Expected.new(currency: "CHF"))
        #expect(trial.results["path"] == Expected.new(currency: "CHF", replies: "old1"))
    }

    @Test("A coordinator of a private type starts in a worker of its own build only, and the refusal says why")
    func privateNames() async throws {
        let apart = try #require(try await trial(of: Self.old, Self.new).results["private"]?["start"])
        #expect(apart.hasPrefix("unknownType: ") && apart.contains("the type is private"), "\(apart)")
        #expect(try await trial(of: Self.new, Self.new).results["private"] == ["start": "started"])
    }

    @Test("Processes of one build understand each other by the compact codec, renamed types too")
    func oneBuild() async throws {
        let trial = try await trial(of: Self.new, Self.new)
        let up = try #require(trial.results["up"])
        #expect(up["add"] == "Add 2 tea, gift bow, in EUR up to 5, currency EUR")
        #expect(up["full"] == #"thrown Full(limit: 3, hint: Optional("order first"))"#)
        #expect(up["closed"] == #"thrown Closed(until: "Monday")"#)
        #expect(up["voucher"] == "paid by voucher")
        #expect(up["count"] == "2")
        #expect(trial.results["child"]?["full"] == up["full"])
        #expect(trial.results["path"]?["closed"] == up["closed"])
    }

    @Test("A process of a third build, which knows none of the types, passes messages and errors on", arguments: [true, false])
    func relayed(isClientOld: Bool) async throws {
        let (cart, client) = isClientOld ? (Self.new, Self.old) : (Self.old, Self.new)
        let trial = try await trial(of: BuiltProgram("FixtureWorker"), ["--relay", cart.path, client.path])
        #expect(trial.results["up"] == (isClientOld ? Expected.old() : Expected.new()))
        // By name the present build's rows are reached under every name, and the former build's under its own.
        let named =
            isClientOld
            ? [
                "Cart.Count": "integer(2)", "Basket.Size": "integer(2)",
                "Cart.AddItem": #"remote Cart.Full: Full(limit: 3, hint: Optional("order first"))"#,
            ]
            : [
                "Cart.Count": "unhandled: /cart, a CartCoordinator, has no row for Cart.Count", "Basket.Size": "integer(1)",
                "Cart.AddItem": "remote Cart.IsFull: IsFull(limit: 3)",
            ]
        #expect(trial.results["named"] == named)
    }
}
