import Testing

@testable import Coordinators

@Suite("What programs send by sd_notify")
struct ProgramNoticeTests {
    @Test(
        "Each line of a datagram is one variable; what isn't known is left out",
        arguments: [
            ("READY=1\nSTATUS=up = well\n", [.ready, .status("up = well")]), ("STOPPING=1", [.stopping]), ("STATUS=", [.status("")]),
            ("WATCHDOG=1\nWATCHDOG=trigger", [.alive, .hung]), ("WATCHDOG_USEC=1500000", [.watchdogChanged(.milliseconds(1_500))]),
            ("EXTEND_TIMEOUT_USEC=20", [.timeoutExtended(.microseconds(20))]),
            ("READY=0\nREADY\nready=1\nBARRIER=1\nMAINPID=1\nWATCHDOG_USEC=-1\nEXTEND_TIMEOUT_USEC=x\n\n=\n", []), ("", []),
            ("EXTEND_TIMEOUT_USEC=9223372036854775807", [.timeoutExtended(.seconds(365 * 86_400))]),
        ] as [(String, [ProgramNotice])]
    )
    func notices(datagram: String, notices: [ProgramNotice]) {
        #expect(ProgramNotice.notices(in: Array(datagram.utf8)) == notices)
    }

    @Test("A state of any length, and bytes that are no text, do no harm")
    func hostile() {
        let notices = ProgramNotice.notices(in: Array("STATUS=\(String(repeating: "x", count: 60_000))".utf8))
        #expect(notices == [.status(String(repeating: "x", count: 256))])
        #expect(ProgramNotice.notices(in: [0xFF, 0x00, 0x0A, 0x3D, 0xFE]).isEmpty)
    }
}
