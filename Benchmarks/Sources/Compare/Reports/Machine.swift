import Foundation

/// The machine that measures, as it was when the run began.
struct Machine {
    /// The machine in a line.
    let description: String
    /// Whether other programs were running, so that the figures mean little.
    let isBusy: Bool

    init() {
        var system = utsname()
        uname(&system)
        let kernel = withUnsafeBytes(of: system.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        let memory = Int((Double(ProcessInfo.processInfo.physicalMemory) / 1e9).rounded())
        let processors = ProcessInfo.processInfo.activeProcessorCount
        let load = Self.text("/proc/loadavg").split(separator: " ").first.flatMap { Double($0) } ?? 0
        let date = Date.now.formatted(.iso8601.year().month().day())
        description = "\(Self.model), \(processors) processors, \(memory) GB, Linux \(kernel), load \(load), \(date)"
        isBusy = load > Double(processors) / 2
    }

    private static var model: String {
        let line = text("/proc/cpuinfo").split(separator: "\n").first { $0.hasPrefix("model name") }
        return line?.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown processor"
    }

    private static func text(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
}
