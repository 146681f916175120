import Links
import TestSupport
import Testing

@Suite("Peers that say nothing", .timeLimit(minutes: 1))
struct ArrivalTests {
    @Test("At most a few silent peers wait at a time, and the oldest are dropped long before their time-out")
    func crowd() async throws {
        let temporary = try TemporaryDirectory()
        let path = temporary.file("links.sock")
        let listener = try LinkListener(address: "ipc://\(path)", handshakeTimeout: .seconds(600))
        let serving = Task { await listener.run { link, _ in throw LinkError(.handshake, "nobody is expected") } }
        defer {
            listener.close()
            serving.cancel()
        }
        let crowd = try Crowd(at: path, count: 100)
        try await eventually("all but 64 have given way") { crowd.closedCount == 36 }
        crowd.leave()
    }
}
