import Testing

/// The cases that the other tests don't run, and the reasons.
@Suite("OTP what is left out")
struct SkipTableTests {
    @Test("OTP every case is run somewhere") func everyCaseIsRunSomewhere() {
        let rows = Skips.rows
        for (test, rows) in Dictionary(grouping: rows, by: \.test) {
            #expect(Set(rows.map(\.backend)).count < Backend.allCases.count, "\(test) is run nowhere")
        }
        let lines = rows.map { "  \($0.test) [\($0.backend.rawValue)]: \($0.reason)" }
        print((["OTP: not run, of 92 cases on \(Backend.allCases.count) backends:"] + lines).joined(separator: "\n"))
    }
}
