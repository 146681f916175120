import TestSupport
import Testing
import WireProtocol

@Suite("Ticket")
struct TicketTests {
    @Test("The vector of the written format is the ticket")
    func vector() throws {
        let vector = try #require(try HexVectors.load()["ticket"])
        #expect(Samples.ticket.encoded() == vector)
        #expect(try Ticket(decoding: vector) == Samples.ticket)
    }

    @Test("Every prefix is an error, and so is a byte too many")
    func truncation() {
        let bytes = Samples.ticket.encoded()
        for count in 0..<bytes.count {
            #expect(throws: WireError.self) { try Ticket(decoding: Array(bytes.prefix(count))) }
        }
        #expect(throws: WireError(.trailingBytes, "1 bytes follow the ticket", offset: bytes.count)) {
            try Ticket(decoding: bytes + [0])
        }
    }

    @Test("Every ticket with one bit flipped is an error, or a ticket that encodes to the same bytes")
    func bitFlips() {
        let bytes = Samples.ticket.encoded()
        for bit in 0..<bytes.count * 8 {
            var flipped = bytes
            flipped[bit / 8] ^= 1 << (bit % 8)
            if let ticket = try? Ticket(decoding: flipped) {
                #expect(ticket.encoded() == flipped)
                #expect(ticket != Samples.ticket)
            }
        }
    }

    @Test("Another version and a secret of another length are refused")
    func refused() {
        var ticket = Samples.ticket
        ticket.version = 2
        #expect(throws: WireError(.badVersion, "the ticket's version is 2, not 1", offset: 0)) { try Ticket(decoding: ticket.encoded()) }
        ticket = Samples.ticket
        ticket.secret.removeLast()
        #expect(throws: WireError(.malformed, "the secret has 31 bytes, not 32", offset: 18)) { try Ticket(decoding: ticket.encoded()) }
    }

    @Test("Random bytes are errors")
    func randomBytes() {
        var random = SeededGenerator()
        for _ in 0..<20_000 {
            _ = try? Ticket(decoding: [1] + random.bytes(upTo: 120))
        }
    }

    @Test("Neither ticket nor hello shows its secret when it is printed")
    func secretIsNotPrinted() {
        #expect(!"\(Samples.ticket)".contains("31"))
        #expect("\(Samples.ticket)".contains("/shop/mailer"))
        let hello = Hello(secret: [123, 234], processID: 1, processStartTime: 1, buildID: "b", maximumFrameSize: 1)
        #expect(!"\(hello)".contains("123"))
    }
}
