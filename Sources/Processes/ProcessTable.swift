import CProcess
import Glibc

/// What /proc says about processes that need not be ours; see proc(5).
enum ProcessTable {
    /// The numbers of all processes that can be seen.
    static var numbers: [Int32] { numbers(in: "/proc") }

    static func statistics(of processID: Int32) -> ProcessStatistics? { SystemCalls.live.parsedStatistics(of: processID) }

    /// The children that a process has now, also those that came to it as orphans.
    static func children(of processID: Int32) -> [Int32] {
        var children: [Int32] = []
        for task in numbers(in: "/proc/\(processID)/task") {
            guard let bytes = contents("/proc/\(processID)/task/\(task)/children", limit: 1 << 20) else {
                // A kernel that was built without it, or a thread that has just ended.
                if access("/proc/self/task/\(getpid())/children", R_OK) == 0 { continue }
                return numbers.filter { statistics(of: $0)?.parentID == processID }
            }
            children += bytes.split(separator: UInt8(ascii: " ")).compactMap { Int32(String(decoding: $0, as: UTF8.self)) }
        }
        return children
    }

    /// Everything below some processes, these included.
    static func subtrees(of processes: [Int32]) -> [Int32] {
        var found: [Int32] = []
        var known: Set<Int32> = []
        var next = processes
        while let process = next.popLast() {
            guard known.insert(process).inserted else { continue }
            found.append(process)
            next += children(of: process)
        }
        return found
    }

    /// The processes above this one, up to the first of all.
    static var ancestors: [Int32] {
        var ancestors: [Int32] = []
        var next = getppid()
        while next > 1, !ancestors.contains(next), let parent = statistics(of: next)?.parentID {
            ancestors.append(next)
            next = parent
        }
        // In a container our parent may be outside; orphans come to the first process all the same.
        return getpid() == 1 ? ancestors : ancestors + [1]
    }

    /// The environment that a process began with; nil when it is gone or another user's.
    static func environment(of processID: Int32) -> [UInt8]? { contents("/proc/\(processID)/environ", limit: 4 << 20) }

    private static func contents(_ path: String, limit: Int) -> [UInt8]? {
        var capacity = 16_384
        while true {
            var isGone = false
            let bytes = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
                let result = coordinator_process_read_file(path, buffer.baseAddress, buffer.count)
                isGone = result < 0
                count = max(0, result)
            }
            if isGone { return nil }
            if bytes.count < capacity || capacity >= limit { return bytes }
            capacity *= 8
        }
    }

    private static func numbers(in path: String) -> [Int32] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var numbers: [Int32] = []
        while let entry = readdir(directory) {
            // Unsafe: the name is a fixed array of the C structure, ended by NUL.
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if let number = Int32(name) { numbers.append(number) }
        }
        return numbers
    }
}
