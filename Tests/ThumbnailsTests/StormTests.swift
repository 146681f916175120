import Coordinators
import TestSupport
import Testing

@testable import Thumbnails

/// One client in three sends pictures that crash, hang or leak.
@Suite("A storm of bad pictures", .timeLimit(minutes: 3))
struct StormTests {
    @Test("No good request fails, and the pool never ends", .disabled(if: Sanitizer.isOn, "its memory is many times the limits"))
    func storm() async throws {
        try await RunningThumbnails.with { thumbnails in
            let quiet = try await load(thumbnails, 0, for: .seconds(rounds(short: 3, all: 10, long: 10)))
            let length = Duration.seconds(rounds(short: 10, all: 60, long: 60))
            async let bad = harm(thumbnails, for: length)
            let stormy = try await load(thumbnails, 1 << 20, for: length)
            let harmed = try await bad

            #expect(quiet.failures.isEmpty && stormy.failures.isEmpty, "\(quiet.failures) \(stormy.failures)")
            // The pool is the one that was started.
            #expect(try await thumbnails.runtime.snapshot(of: "/renderers").incarnation == 1)
            try await eventually("all renderers are there") { try await thumbnails.renderers().count { $0.state == .active } == 3 }
            print("good requests: \(quiet.times.count) alone, p99 \(quiet.p99); \(stormy.times.count) in the storm, p99 \(stormy.p99)")
            print("bad requests: \(harmed.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" })")
            // The machine of the tests has others to serve.
            #expect(stormy.p99 <= quiet.p99 * 3 + .patient(.milliseconds(250)))
        }
    }

    /// The times that good requests took, and what failed.
    struct Load {
        var times: [Duration] = []
        var failures: [String] = []

        var p99: Duration { times.sorted().dropFirst(times.count * 99 / 100).first ?? .zero }
    }

    /// Two clients, each of which is idle for as long as it has waited: half of the load that two renderers can have.
    private func load(_ thumbnails: RunningThumbnails, _ first: Int, for length: Duration) async throws -> Load {
        let end = ContinuousClock.now + length
        return try await withThrowingTaskGroup(of: Load.self) { group in
            for client in 0..<2 {
                group.addTask {
                    var load = Load()
                    var number = first + client
                    while ContinuousClock.now < end {
                        let began = ContinuousClock.now
                        do {
                            _ = try await thumbnails.make(Sample.good(number))
                        } catch {
                            load.failures.append("\(error)")
                        }
                        let took = ContinuousClock.now - began
                        load.times.append(took)
                        number += 2
                        try await realTime(took, because: "a client has a pause")
                    }
                    return load
                }
            }
            return try await group.reduce(into: Load()) {
                $0.times += $1.times
                $0.failures += $1.failures
            }
        }
    }

    /// The third client: a crash each second, a hang in five, a leak in ten.
    private func harm(_ thumbnails: RunningThumbnails, for length: Duration) async throws -> [String: Int] {
        let kinds: [(interval: Duration, picture: [UInt8])] = [
            (.seconds(1), Sample.short), (.seconds(5), Sample.endless), (.seconds(10), Sample.leaking(megabytes: 256)),
        ]
        let end = ContinuousClock.now + length
        return try await withThrowingTaskGroup(of: [String: Int].self) { group in
            for (interval, picture) in kinds {
                group.addTask {
                    var outcomes: [String: Int] = [:]
                    while ContinuousClock.now < end {
                        let next = ContinuousClock.now + interval
                        do {
                            _ = try await thumbnails.make(picture)
                            outcomes["made", default: 0] += 1
                        } catch let error as CoordinatorError {
                            outcomes["\(error.code)", default: 0] += 1
                        }
                        try await realTime(next - .now, because: "the harm is so much in a time")
                    }
                    return outcomes
                }
            }
            return try await group.reduce(into: [:]) { $0.merge($1) { $0 + $1 } }
        }
    }
}
