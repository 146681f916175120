import ConcurrencySupport
import Fixtures
import TestSupport
import Testing

@testable import Coordinators

/// The messages of workers while another program is about to take the root's place.
@Suite("Messages that are held", .timeLimit(minutes: 2))
struct UplinkHoldTests {
    @Test("None comes while they are held, and all come once and in order when they are released")
    func heldAndReleased() async throws {
        try await withRoot("a", in: .worker) { runtime in
            func notes() async throws -> [Int] { try await runtime.ask(Fixture.Notes()) }
            #expect(try await runtime.perform(.noteForEver, at: "/a") == "begun")
            for _ in 0..<3 {
                let before = try await notes().count
                try await eventually("they come") { try await notes().count > before + 20 }
                await runtime.holdMessages()
                #expect(await runtime.waitUntilQuiet(by: PatientDeadline(.seconds(20))))
                let count = try await notes().count
                // The answer comes on the same link, behind what the worker has sent.
                for _ in 0..<20 { #expect(try await runtime.perform(.configuration, at: "/a") == "hello") }
                #expect(try await notes().count == count)
                await runtime.releaseMessages()
            }
            let before = try await notes().count
            try await eventually("they come") { try await notes().count > before + 20 }
            let all = try await notes()
            #expect(all == Array(0..<all.count))
        }
    }

    @Test("An open ask that depends on one that is held gets it in time: the wait ends with both answered")
    func dependence() async throws {
        try await withRoot("a", in: .worker) { runtime in
            let asking = Task { try await runtime.perform(.echoUntilHeld, at: "/a") }
            try await eventually("it has begun") { try await runtime.ask(Fixture.Echoes()) > 10 }
            await runtime.holdMessages()
            #expect(await runtime.waitUntilQuiet(by: PatientDeadline(.seconds(20))))
            #expect(try await asking.value.hasPrefix("echo "))
            await runtime.releaseMessages()
        }
    }
}
