import TestSupport
import Testing

@testable import CoordinatorConsole

@Suite("The rows that a browser lacks")
struct RowTableTests {
    private static func row(_ path: String, life: UInt32) -> Row {
        Row(path: path, key: path, place: 0, type: "T", kind: "program", placement: "program", state: "active", life: life, restarts: 0)
    }

    @Test(
        "Whatever messages a browser misses, it ends with the rows of one that missed none",
        arguments: 0..<UInt64(rounds(short: 40, all: 300, long: 300))
    )
    func randomCuts(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var table = RowTable()
        var present: [String: Row] = [:]
        var (kept, sent): ([String: Row], UInt64?) = ([:], nil)
        for _ in 0..<60 {
            for _ in 0..<Int.random(in: 0...4, using: &generator) {
                let path = "/\(Int.random(in: 0..<20, using: &generator))"
                let isGone = Bool.random(using: &generator)
                present[path] = isGone ? nil : Self.row(path, life: .random(in: 1...9, using: &generator))
            }
            table.update(present.values.sorted { $0.path < $1.path })
            guard Int.random(in: 0..<3, using: &generator) == 0 else { continue }
            // A browser that has lost everything, now and then.
            if Int.random(in: 0..<20, using: &generator) == 0 { (kept, sent) = ([:], nil) }
            let changes = table.changes(since: sent)
            if changes.isWhole { kept = [:] }
            for path in changes.gone { kept[path] = nil }
            for row in changes.rows { kept[row.path] = row }
            sent = table.tick
            #expect(kept == present, "seed \(seed)")
        }
    }

    @Test("A browser that has everything gets nothing, and one from the future gets all")
    func edges() {
        var table = RowTable()
        table.update([Self.row("/a", life: 1)])
        #expect(table.changes(since: 1) == .init(isWhole: false, rows: [], gone: []))
        #expect(table.changes(since: 7).isWhole && table.changes(since: nil).rows.count == 1)
        table.update([])
        #expect(table.changes(since: 1).gone == ["/a"])
    }

    @Test("Before the first tick a browser gets nothing that would take the place of what it has, and after it everything")
    func beforeTheFirstTick() {
        var table = RowTable()
        for sent in [nil, 0, 7] as [UInt64?] { #expect(table.changes(since: sent) == .init(isWhole: false, rows: [], gone: [])) }
        table.update([Self.row("/a", life: 1)])
        for sent in [nil, 0, 7] as [UInt64?] { #expect(table.changes(since: sent).isWhole) }
    }

    @Test(
        "Figures keep two digits, so that noise is no change",
        arguments: [(0.04, 0.0), (3.14, 3.1), (47.6, 48), (1234, 1200), (98_765, 99_000)]
    )
    func rounding(value: Double, expected: Double) {
        #expect(Row.rounded(value) == expected)
    }
}
