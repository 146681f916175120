import TestSupport
import Testing

/// The pages of the decisions, whose form CONTRIBUTING describes.
@Suite("The decisions")
struct DecisionsTests {
    @Test("Each page says what was decided, why, and its number and status, in at most 200 words", arguments: Catalogue.decisions)
    func form(_ name: String) throws {
        let text = try Catalogue.text(of: name)
        let number = try #require(Int(name.dropFirst("Decisions/".count).prefix(4)))
        #expect(text.hasPrefix("# ") && text.contains("\n\n**Why.** ") && text.contains("\n\n**Status.** \(number), in force"))
        #expect(text.split { $0 == " " || $0 == "\n" }.count <= 200)
        let summary = text.split(separator: "\n\n").dropFirst().first ?? ""
        #expect(!summary.hasPrefix("**"), "the first paragraph is the decision")
    }

    @Test("Each page has a number of its own, and is in the index once")
    func index() throws {
        let names = Catalogue.decisions.map { $0.dropFirst("Decisions/".count) }
        #expect(names.count > 100)
        #expect(Set(names.map { $0.prefix(4) }).count == names.count)
        let lines = try Catalogue.text(of: "Decisions").split(separator: "\n").filter { $0.hasPrefix("- <doc:") }
        #expect(lines.map { $0.dropFirst("- <doc:".count).dropLast() }.sorted() == names.sorted())
    }
}
