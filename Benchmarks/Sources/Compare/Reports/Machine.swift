import Foundation

/// The machine that measures, in a line.
enum Machine {
    static var description: String {
        var system = utsname()
        uname(&system)
        let kernel = withUnsafeBytes(of: system.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        let memory = Double(ProcessInfo.processInfo.physicalMemory) / 1e9
        let load = (try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8))?.split(separator: " ").first ?? "?"
        let date = Date.now.formatted(.iso8601.year().month().day())
        return
            "\(processor), \(ProcessInfo.processInfo.activeProcessorCount) processors, \(Int(memory.rounded())) GB, Linux \(kernel), load \(load), \(date)"
    }

    private static var processor: String {
        let lines = ((try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? "").split(separator: "\n")
        let model = lines.first { $0.hasPrefix("model name") }?.split(separator: ":").last
        return model.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown processor"
    }
}
