import Control

/// The output of `top --once --json`, and of each interval of `top --json`.
struct TopReport: Codable {
    /// The coordinators and programs, in the order that was asked for.
    var coordinators: [TopRow]
    /// The number of processes.
    var processes: Int
    /// The number of coordinators and programs in each state.
    var states: [String: Int]
    /// The processor time of all processes in percent of one processor.
    var cpuPercent: Double
    /// The memory of all processes, in bytes.
    var memoryBytes: UInt64
    /// The messages that were handled each second in the whole tree.
    var handledPerSecond: Double
    /// The time since the daemon became active, in milliseconds.
    var uptimeMilliseconds: Int64

    private enum CodingKeys: String, CodingKey {
        case coordinators, processes, states
        case cpuPercent = "cpu_percent"
        case memoryBytes = "memory_bytes"
        case handledPerSecond = "handled_per_second"
        case uptimeMilliseconds = "uptime_ms"
    }

    init(_ rows: [TopRow]) {
        coordinators = rows
        processes = Set(rows.compactMap(\.pid)).count
        states = Dictionary(rows.map { ($0.state, 1) }, uniquingKeysWith: +)
        cpuPercent = rows.reduce(0) { $0 + ($1.cpuPercent ?? 0) }
        memoryBytes = rows.reduce(0) { $0 + ($1.memoryBytes ?? 0) }
        handledPerSecond = rows.reduce(0) { $0 + ($1.handledPerSecond ?? 0) }
        uptimeMilliseconds = rows.first?.uptimeMilliseconds ?? 0
    }
}
