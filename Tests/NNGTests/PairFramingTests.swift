import TestSupport
import Testing

@testable import NNG

@Suite("Pair framing")
struct PairFramingTests {
    private func parse(_ bytes: [UInt8], maximum: Int = 1000) -> PairFraming.Header {
        bytes.withUnsafeBytes { PairFraming.parse($0, maximum: maximum) }
    }

    @Test func headers() {
        #expect(parse([]) == .incomplete)
        #expect(parse([1, 0, 0, 0, 0, 0, 0, 0]) == .incomplete)
        #expect(parse([1, 0, 0, 0, 0, 0, 0, 0, 0]) == .message(length: 0))
        #expect(parse([1, 0, 0, 0, 0, 0, 0, 2, 1, 77]) == .message(length: 513))
        #expect(parse([1, 0, 0, 0, 0, 0, 0, 0x03, 0xE8]) == .message(length: 1000))
        #expect(parse([1, 0, 0, 0, 0, 0, 0, 0x03, 0xE9]) == .invalid(.messageTooLarge))
        #expect(parse([1, 255, 255, 255, 255, 255, 255, 255, 255], maximum: .max) == .invalid(.messageTooLarge))
    }

    @Test func anotherTypeIsRefusedAtItsFirstByte() {
        #expect(parse([0]) == .invalid(.protocolError))
        #expect(parse([2, 0, 0, 0, 0, 0, 0, 0, 0]) == .invalid(.protocolError))
    }

    @Test(arguments: [0, 1, 255, 256, 65_536, 1 << 20])
    func whatIsWrittenIsRead(_ length: Int) {
        var bytes = [UInt8](repeating: 0xAA, count: PairFraming.headerLength)
        bytes.withUnsafeMutableBytes { PairFraming.writeHeader(of: length, to: $0) }
        #expect(parse(bytes, maximum: 1 << 20) == .message(length: length))
        #expect(bytes == Array(RawSocket.message([], announcing: UInt64(length))))
    }
}
