#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Tells on the standard error how far a run has come.
struct Progress {
    let isQuiet: Bool
    var events = 0
    private let start = ContinuousClock.now
    private var last = ContinuousClock.now

    init(isQuiet: Bool) {
        self.isQuiet = isQuiet
    }

    /// The events per second so far.
    var speed: Int { Int(Double(events) / max((ContinuousClock.now - start) / .seconds(1), 0.000_001)) }

    /// Tells once a second.
    mutating func tell(_ done: UInt64, of seeds: UInt64) {
        guard !isQuiet, ContinuousClock.now - last >= .seconds(1) else { return }
        last = .now
        say("\(Int(Double(done) / Double(seeds) * 100)) %, \(done) of \(seeds) seeds, \(events) events, \(speed) events/s")
    }

    func say(_ text: String) {
        guard !isQuiet else { return }
        let line = Array((text + "\n").utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }
}
