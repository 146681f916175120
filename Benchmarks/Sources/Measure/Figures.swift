import Glibc

/// The output of this program: a line for each figure.
enum Figures {
    static func print(_ name: String, _ value: some BinaryInteger) { Swift.print(name, value) }

    static func print(_ name: String, _ value: Double) { Swift.print(name, value) }

    static func print(_ percentiles: Percentiles) {
        print("p50", percentiles.p50)
        print("p99", percentiles.p99)
    }
}

/// The median and the 99th percentile of durations in nanoseconds, by nearest rank.
struct Percentiles: Codable, Sendable {
    let p50: Int64
    let p99: Int64

    init(of durations: [Int64]) {
        let sorted = durations.sorted()
        (p50, p99) = (sorted[sorted.count / 2], sorted[sorted.count * 99 / 100])
    }
}

/// The monotonic clock in nanoseconds, read as cheaply as the machine can: what is measured may take less time than an elaborate reading.
enum Clock {
    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// The time that a body takes.
    static func duration(isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Void) async rethrows -> Int64 {
        let start = now
        try await body()
        return now - start
    }
}
