import Testing
import WireProtocol

@testable import Coordinators

@Suite("Reports of spans") struct SpanReportTests {
    private static func span(_ number: UInt64, message: String = "M") -> MessageSpan {
        MessageSpan(
            trace: TraceIdentifier(high: 1, low: 2),
            span: number,
            parent: 3,
            path: "/a",
            type: "T",
            processID: 4,
            message: message,
            sender: "/b",
            isOutgoing: false,
            isOneWay: true,
            isRemote: true,
            began: 5,
            took: 6,
            waited: 7
        )
    }

    @Test("A report has the first spans up to its limit, and counts all that are left out, also those that others have left out before")
    func limit() {
        var report = SpanReport()
        #expect(report.isEmpty)
        for number in 0..<UInt64(SpanReport.limit) + 5 { report.add(SpanReport(Self.span(number))) }
        #expect(report.spans.map(\.span) == Array(0..<UInt64(SpanReport.limit)) && report.missed == 5)
        var above = SpanReport(Self.span(1000))
        above.add(report)
        #expect(above.spans.count == SpanReport.limit && above.missed == 6 && !above.isEmpty)
    }

    @Test("A report is the same after its way to another process", arguments: [PayloadCodec.json, .compact])
    func coded(codec: PayloadCodec) throws {
        var report = SpanReport()
        for number in 0..<UInt64(SpanReport.limit) + 5 { report.add(SpanReport(Self.span(number))) }
        let decoded = try PayloadCoder.decode(SpanReport.self, from: try PayloadCoder.encode(report, as: codec), codec: codec)
        #expect(decoded.spans == report.spans && decoded.missed == 5)
    }
}
