import Testing

@testable import Coordinators

@Suite("The fields of a traceparent") struct TraceFieldsTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    @Test(
        "A traceparent is read, with and without lines behind it, also one of a later version",
        arguments: [
            ("00-\(trace)-\(span)-01", true), ("00-\(trace)-\(span)-00", false), ("00-\(trace)-\(span)-03\ntracestate: a=b", true),
            ("cc-\(trace)-\(span)-02-more", false),
        ]
    )
    func valid(text: String, isSampled: Bool) throws {
        let fields = try #require(TraceContext(traceparent: text).fields)
        #expect(fields.trace == TraceIdentifier(high: 0x4bf9_2f35_77b3_4da6, low: 0xa3ce_929d_0e0e_4736))
        #expect(fields.span == 0x00f0_67aa_0ba9_02b7 && fields.isSampled == isSampled)
    }

    @Test(
        "What isn't a traceparent has no fields",
        arguments: [
            "", "00", "\ntracestate: a=b", "00-\(trace)-\(span)-0", "00-\(trace)-\(span)-01-more", "ff-\(trace)-\(span)-01",
            "00-00000000000000000000000000000000-\(span)-01", "00-\(trace)-0000000000000000-01",
            "00-4BF92f3577b34da6a3ce929d0e0e4736-\(span)-01",
            "00-g\(trace.dropFirst())-\(span)-01", "00_\(trace)-\(span)-01", "00-\(trace)_\(span)-01", "00-\(trace)-\(span)_01",
            "00-\(trace)-\(span)-0:",
        ]
    )
    func invalid(text: String) {
        #expect(TraceContext(traceparent: text).fields == nil)
    }

    @Test("Fields are written as they are read, with the lines of the former text behind them")
    func written() {
        let former = TraceContext(traceparent: "anything\ntracestate: a=b\nbaggage: c")
        let fields = TraceContext.Fields(trace: TraceIdentifier(high: 0xa, low: 0xb), span: 0xc, isSampled: true)
        let written = TraceContext(fields, after: former)
        #expect(written.traceparent == "00-000000000000000a000000000000000b-000000000000000c-01\ntracestate: a=b\nbaggage: c")
        #expect(written.fields == fields)
        #expect(TraceContext(fields, after: nil).traceparent == "00-000000000000000a000000000000000b-000000000000000c-01")
    }
}
