import ConcurrencySupport
import NNG
import TestSupport
import Testing

#if !SLOW_PATH_ONLY
@Suite("Transmissions in the sender's thread", .serialized, .timeLimit(minutes: 1))
struct TransmissionAtOnceTests {
    @Test("A message leaves within the call, and its completion isn't called")
    func leaves() async throws {
        let pair = try await Pair()
        for number in 0..<1_000 {
            let body = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: number)
            #expect(pair.dialled.transmitAtOnce(body) { _ in Issue.record("a completion") })
            #expect(try await pair.accepted.receive() == body)
        }
    }

    @Test("What the kernel doesn't take at once leaves later, whole and in order", arguments: [1_000, 65_000, 1 << 20])
    func continues(_ size: Int) async throws {
        let pair = try await Pair()
        let count = 3_000_000 / size
        let completed = Lock(0)
        var sent = 0
        var atOnce = 0
        // The other end doesn't read yet: sooner or later the socket is full.
        while sent < count {
            let (before, number) = (completed.withLock { $0 }, sent)
            let body = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size)
            sent += 1
            if pair.dialled.transmitAtOnce(body, completion: { error in if error == nil { completed.withLock { $0 += 1 } } }) {
                atOnce += 1
                continue
            }
            #expect(completed.withLock { $0 } == before)
            break
        }
        try #require(sent < count, "the socket took everything")
        // A second one meanwhile is refused, as on the other way.
        let refused = Lock<NNGError.Code?>(nil)
        #expect(!pair.dialled.transmitAtOnce([1]) { error in refused.withLock { $0 = error?.code } })
        #expect(refused.withLock { $0 } == .busy)
        for number in 0..<sent {
            #expect(try await pair.accepted.receive() == [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size))
        }
        #expect(await eventually { completed.withLock { $0 } == 1 })
        #expect(atOnce == sent - 1)
        #expect(pair.dialled.transmitAtOnce([7]) { _ in })
        #expect(try await pair.accepted.receive() == [7])
    }

    @Test("On a connection that has ended, the completion gets the reason", arguments: [false, true])
    func ended(_ here: Bool) async throws {
        let pair = try await Pair()
        (here ? pair.dialled : pair.accepted).close()
        let reason = Lock<NNGError.Code?>(nil)
        #expect(
            await eventually {
                _ = pair.dialled.transmitAtOnce([1]) { error in reason.withLock { $0 = error?.code } }
                return reason.withLock { $0 } != nil
            }
        )
        #expect(await eventually { [.closed, .connectionShut, .connectionReset].contains(reason.withLock { $0 }) })
        pair.close()
    }

    @Test("Connections may close while threads transmit")
    func closing() async throws {
        for _ in 0..<200 {
            let pair = try await Pair()
            let transmitting = Task.detached {
                for number in 0..<100 where !pair.dialled.transmitAtOnce([UInt8(number)], completion: { _ in }) { return }
            }
            pair.close()
            await transmitting.value
        }
    }
}
#endif
