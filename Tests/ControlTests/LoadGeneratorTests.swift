import ConcurrencySupport
import Control
import TestSupport
import Testing
import WireProtocol

@testable import coordinatorctl

@Suite("The load of coordinatorctl bench", .timeLimit(minutes: 1))
struct LoadGeneratorTests {
    @Test("Asks are due at even distances, until the end")
    func schedule() {
        let schedule = LoadSchedule(rate: 100, ramp: .zero, duration: .seconds(2))
        #expect(schedule.due(0) == .zero)
        #expect(schedule.due(50) == .milliseconds(500))
        #expect(schedule.due(199) != nil)
        #expect(schedule.due(200) == nil)
        #expect(schedule.firstMeasured == 0)
    }

    @Test("The rate rises evenly in the ramp, whose asks don't count")
    func ramp() throws {
        let schedule = LoadSchedule(rate: 100, ramp: .seconds(2), duration: .seconds(1))
        #expect(schedule.due(0) == .zero)
        // After half the time a quarter of the ramp's hundred asks have been due.
        #expect(schedule.due(25) == .seconds(1))
        #expect(schedule.firstMeasured == 100)
        #expect(schedule.due(100) == .seconds(2))
        #expect(!schedule.isMeasured(try #require(schedule.due(99))))
        #expect(schedule.isMeasured(try #require(schedule.due(100))))
        #expect(schedule.due(199) != nil && schedule.due(200) == nil)
    }

    @Test("One slow answer makes the asks after it late, and their latency says so")
    func coordinatedOmission() async throws {
        let asked = Lock(0)
        let generator = Self.generator(rate: 100, for: .seconds(1), concurrency: 1) {
            let number = asked.withLock { number in
                number += 1
                return number
            }
            let time = Duration.milliseconds(number == 20 ? 500 : 1)
            await Self.takes(time)
            return time
        }
        let figures = await generator.run(watch: Self.nothing)
        #expect(figures.due == 100 && figures.answered == 100 && figures.unanswered == 0)
        let latency = try #require(LatencyPercentiles(figures.latency))
        let inTree = try #require(LatencyPercentiles(figures.timesInTree))
        // A closed loop would have measured one slow ask of a hundred; fifty were due before it ended.
        #expect(inTree.p90 < 2_000 && inTree.maximum >= 499_000)
        #expect(latency.p90 >= 250_000)
        #expect(latency.p50 <= latency.p90 && latency.p90 <= latency.p99 && latency.p99 <= latency.maximum)
    }

    @Test("No more asks are open than may be, and as many as may be when each is slow")
    func concurrency() async {
        let open = Lock((now: 0, most: 0))
        let generator = Self.generator(rate: 1_000, for: .milliseconds(300), concurrency: 7) {
            open.withLock { open in
                open.now += 1
                open.most = max(open.most, open.now)
            }
            await Self.takes(.milliseconds(20))
            open.withLock { $0.now -= 1 }
            return nil
        }
        _ = await generator.run(watch: Self.nothing)
        #expect(open.withLock { $0.most } == 7)
    }

    @Test("When the load is ended, all asks that were due count, whether or not they were sent")
    func interrupted() async throws {
        let generator = Self.generator(rate: 100, for: .seconds(600), concurrency: 4) { () async throws(LoadFailure) in
            do { try await untilCancelled() } catch { throw LoadFailure(error: ControlError(.cancelled, "cancelled")) }
            return nil
        }
        let figures = await generator.run { await Self.takes(.milliseconds(500)) }
        #expect(figures.answered == 0 && figures.failed == 0)
        #expect(figures.unanswered >= 50 && figures.due == figures.unanswered)
        #expect(try #require(LatencyPercentiles(figures.latency)).maximum >= 490_000)
        #expect(figures.elapsed >= .milliseconds(500) && figures.elapsed < .seconds(60))
    }

    @Test("An overload ends when the patience does, and what wasn't sent by then counts with the time that it waited")
    func overload() async throws {
        let generator = Self.generator(rate: 1_000, for: .milliseconds(300), concurrency: 1, patience: .milliseconds(200)) {
            await Self.takes(.milliseconds(50))
            return nil
        }
        let figures = await generator.run(watch: Self.nothing)
        #expect(figures.due == 300)
        // Ten within that time, and a few more where the end is noticed late; all would take fifteen seconds.
        #expect(figures.answered < 100 && figures.unanswered == 300 - figures.answered)
        #expect(try #require(LatencyPercentiles(figures.latency)).p50 >= 200_000)
    }

    @Test("What is late of a ramp isn't asked any more when the measurement begins")
    func lateRamp() async {
        let schedule = LoadSchedule(rate: 10_000, ramp: .milliseconds(200), duration: .milliseconds(1))
        let asked = Lock(0)
        let generator = LoadGenerator(.scheduled(schedule), concurrency: 1, patience: .seconds(60)) {
            asked.withLock { $0 += 1 }
            await Self.takes(.milliseconds(10))
            return nil
        }
        let figures = await generator.run(watch: Self.nothing)
        #expect(figures.due == 10 && figures.answered == 10)
        // A thousand were due in the ramp.
        #expect(asked.withLock { $0 } < 50)
    }

    @Test("Failures are counted by code; a time-out counts as latency too, a refusal doesn't")
    func failures() async {
        let asked = Lock(0)
        let generator = Self.generator(rate: 200, for: .milliseconds(300), concurrency: 1) { () async throws(LoadFailure) in
            let number = asked.withLock { number in
                number += 1
                return number
            }
            if number.isMultiple(of: 3) { throw LoadFailure(error: ControlError(.failed, "refused \(number)")) }
            if number.isMultiple(of: 5) { throw LoadFailure(error: ControlError(.timedOut, "too late")) }
            return .milliseconds(1)
        }
        let figures = await generator.run(watch: Self.nothing)
        #expect(figures.due == 60)
        #expect(figures.failures[.failed]?.count == 20 && figures.failures[.failed]?.example == "refused 3")
        #expect(figures.failures[.timedOut]?.count == 8)
        #expect(figures.answered == 32 && figures.latency.count == 40)
        #expect(figures.commonFailure == .failed)
    }

    @Test("A failure after which no ask can succeed ends the load", arguments: [true, false])
    func final(_ isScheduled: Bool) async {
        let schedule = LoadSchedule(rate: 100, ramp: .zero, duration: .seconds(600))
        let pace = isScheduled ? LoadPace.scheduled(schedule) : .saturating(.seconds(600))
        let generator = LoadGenerator(pace, concurrency: 3, patience: .seconds(1)) { () async throws(LoadFailure) in
            throw LoadFailure(error: ControlError(.unreachable, "gone"), isFinal: true)
        }
        let figures = await generator.run {
            _ = await eventually { generator.fatalError != nil }
        }
        #expect(generator.fatalError?.code == .unreachable)
        #expect((1...3).contains(figures.failed))
    }

    @Test("The greatest rate is what so many open asks come to")
    func saturating() async {
        let generator = LoadGenerator(.saturating(.milliseconds(500)), concurrency: 10, patience: .seconds(5)) {
            await Self.takes(.milliseconds(20))
            return .milliseconds(20)
        }
        let figures = await generator.run(watch: Self.nothing)
        // Ten at a time, each of which takes a fiftieth of a second, or more when the machine is loaded.
        #expect(figures.answered >= 1 && figures.rate <= 501)
    }

    private static func generator(
        rate: Double,
        for duration: Duration,
        concurrency: Int,
        patience: Duration = .seconds(30),
        ask: @escaping LoadGenerator.Ask
    ) -> LoadGenerator {
        let schedule = LoadSchedule(rate: rate, ramp: .zero, duration: duration)
        return LoadGenerator(.scheduled(schedule), concurrency: concurrency, patience: patience, ask: ask)
    }

    /// An ask, or a watch, that takes its time.
    @Sendable private static func takes(_ time: Duration) async {
        try? await realTime(time, because: "the load is sent and measured by the real clock")
    }

    /// A watcher that ends nothing.
    @Sendable private static func nothing() async {
        try? await untilCancelled()
    }
}
