import Glibc
import TestSupport
import Testing

/// What a process occupies.
struct Usage {
    let descriptors: Int
    /// The most memory that it has had, in bytes.
    let peak: Int
    /// The processor time that it has taken.
    let time: Duration

    init(_ processID: Int32) {
        descriptors = Files.numbers(in: "/proc/\(processID)/fd").count
        let line = Files.text(of: "/proc/\(processID)/status")?.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        peak = (line?.split(separator: " ").compactMap { Int($0) }.first ?? 0) << 10
        // proc_pid_stat(5): the 14th and the 15th field, the second of which is a name in parentheses.
        let fields = Files.text(of: "/proc/\(processID)/stat")?.split(separator: ")").last?.split(separator: " ") ?? []
        let ticks = fields.count > 12 ? (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0) : 0
        time = .milliseconds(ticks * 1_000 / max(sysconf(Int32(_SC_CLK_TCK)), 1))
    }

    /// Whether this build is for a sanitizer, with which everything takes several times as long.
    static let isBuildSlow = Duration.patient(.seconds(1)) > .seconds(1)

    /// Returns the part of one processor that a process takes during a time.
    static func load(of processID: Int32, for time: Duration) async throws -> Double {
        let (before, began) = (Usage(processID).time, ContinuousClock.now)
        try await realTime(time, because: "the kernel counts the processor time of a process")
        return (Usage(processID).time - before) / (ContinuousClock.now - began)
    }

    /// Records an issue unless a process takes less than a part of one processor, in one of several times of two seconds: one that spins takes more
    /// in each, and one that has a few things left to do in the first.
    static func expectLoad(below limit: Double, of processID: Int32, at location: SourceLocation = #_sourceLocation) async throws {
        var loads: [Double] = []
        for _ in 0..<4 {
            loads.append(try await load(of: processID, for: .seconds(2)))
            if loads[loads.count - 1] < (isBuildSlow ? 1 : limit) { return }
        }
        Issue.record("no load was below \(limit): \(loads)", sourceLocation: location)
    }
}

/// Records an issue unless nine of ten answers came within the limit, and all of them as long as a client waits.
///
/// One answer is late when this machine has nothing left for it, also where nothing is wrong; what a daemon does wrong delays many.
func expectAnswered(_ times: [Duration], within limit: Duration, at location: SourceLocation = #_sourceLocation) {
    let sorted = times.sorted()
    guard let all = sorted.last else {
        Issue.record("nothing was answered", sourceLocation: location)
        return
    }
    let most = sorted[sorted.count * 9 / 10]
    #expect(most < .patient(limit) && all < .patient(.seconds(10)), "\(most), \(all)", sourceLocation: location)
}
