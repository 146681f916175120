import CProcess
import Glibc

/// Reads from /proc about processes that need not be children; see proc(5).
///
/// Each function throws when it could not read, such as for want of descriptors: that doesn't mean that nothing is there.
enum ProcessTable {
    /// Returns the numbers of all visible processes.
    static func numbers() throws(ProcessError) -> [Int32] { try numbers(in: "/proc") }

    static func statistics(of processID: Int32) throws(ProcessError) -> ProcessStatistics? {
        try SystemCalls.live.parsedStatistics(of: processID)
    }

    /// Returns the identity of the process that has a number now, and whether it has ended; nil when there is none.
    static func life(of processID: Int32) throws(ProcessError) -> (identity: ProcessIdentity, isZombie: Bool)? {
        guard let statistics = try statistics(of: processID) else { return nil }
        return (ProcessIdentity(processID: processID, startTime: statistics.startTime), statistics.isZombie)
    }

    /// Returns the identities of the processes among some numbers that live now.
    static func living(_ numbers: [Int32]) throws(ProcessError) -> [ProcessIdentity] {
        var living: [ProcessIdentity] = []
        for number in numbers {
            if let life = try life(of: number), !life.isZombie { living.append(life.identity) }
        }
        return living
    }

    /// Returns the children that a process has now, also those that came to it as orphans.
    static func children(of processID: Int32) throws(ProcessError) -> [Int32] {
        var children: [Int32] = []
        for task in try numbers(in: "/proc/\(processID)/task") {
            guard let found = try self.children(of: processID, thread: task) else { return try childrenByParent(processID) }
            children += found
        }
        return children
    }

    /// Returns the orphans that have come to a process, with the children of its first thread.
    ///
    /// The kernel gives an orphan to the first thread of its new parent that isn't about to end. The first of all is the leader, and one that
    /// has ended has no children.
    static func orphans(of processID: Int32, listedIn list: ChildList? = nil) throws(ProcessError) -> [Int32] {
        guard let children = try children(of: processID, thread: processID, listedIn: list) else { return try childrenByParent(processID) }
        if !children.isEmpty { return children }
        return try statistics(of: processID)?.isZombie == true ? self.children(of: processID) : []
    }

    /// Returns the children of one thread of a process; none when the thread has ended, and `nil` when the kernel was built without that list.
    private static func children(of processID: Int32, thread: Int32, listedIn list: ChildList? = nil) throws(ProcessError) -> [Int32]? {
        switch list?.contents ?? contents(ChildList.path(of: processID, thread: thread), limit: ChildList.limit) {
        case .bytes(let bytes): bytes.split(separator: UInt8(ascii: " ")).compactMap { Int32(String(decoding: $0, as: UTF8.self)) }
        case .absent, .hidden: access(ChildList.path(of: getpid(), thread: getpid()), R_OK) == 0 ? [] : nil
        case .failed(let errno): throw ProcessError(errno, action: "list the children of process \(processID)")
        }
    }

    private static func childrenByParent(_ processID: Int32) throws(ProcessError) -> [Int32] {
        var children: [Int32] = []
        for number in try numbers() where try statistics(of: number)?.parentID == processID { children.append(number) }
        return children
    }

    /// Returns some processes and all their descendants.
    static func subtrees(of processes: [Int32]) throws(ProcessError) -> [Int32] {
        var found: [Int32] = []
        var known: Set<Int32> = []
        var next = processes
        while let process = next.popLast() {
            guard known.insert(process).inserted else { continue }
            found.append(process)
            next += try children(of: process)
        }
        return found
    }

    /// Returns the processes above this one, up to the first of all.
    static func ancestors() throws(ProcessError) -> [Int32] {
        var ancestors: [Int32] = []
        var next = getppid()
        while next > 1, !ancestors.contains(next), let parent = try statistics(of: next)?.parentID {
            ancestors.append(next)
            next = parent
        }
        // In a container the parent may be outside; orphans come to the first process all the same.
        return getpid() == 1 ? ancestors : ancestors + [1]
    }

    /// Returns the real and the effective user of a process; nil when it's gone or can't be examined.
    static func users(of processID: Int32) -> (real: UInt32, effective: UInt32)? {
        guard case .bytes(let bytes) = contents("/proc/\(processID)/status", limit: 1 << 16) else { return nil }
        let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("Uid:") }
        let numbers = line?.split(separator: "\t").compactMap { UInt32($0) } ?? []
        return numbers.count == 4 ? (numbers[0], numbers[1]) : nil
    }

    /// Reads the environment that a process began with; it is empty in the middle of execve(2) too.
    static func environment(of processID: Int32) -> SystemCalls.Contents { contents("/proc/\(processID)/environ", limit: 4 << 20) }

    /// Whether a process runs a program that was given no environment at all.
    static func isWithoutEnvironment(_ processID: Int32) -> Bool {
        guard case .bytes(let arguments) = contents("/proc/\(processID)/cmdline", limit: 1), !arguments.isEmpty else { return false }
        // The process has its arguments, so it isn't in the middle of execve(2) any more.
        return environment(of: processID) == .bytes([])
    }

    /// Reads a file of the kernel's, or its beginning.
    static func contents(_ path: String, limit: Int) -> SystemCalls.Contents {
        contents(limit) { coordinator_process_read_file(path, $0.baseAddress, $0.count) }
    }

    fileprivate static func contents(_ limit: Int, _ read: (UnsafeMutableBufferPointer<UInt8>) -> Int) -> SystemCalls.Contents {
        var capacity = 16_384
        while true {
            var result = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
                result = read(buffer)
                count = max(0, result)
            }
            if result < 0 { return SystemCalls.Contents(failure: result) }
            if bytes.count < capacity || capacity >= limit { return .bytes(bytes) }
            capacity *= 8
        }
    }

    private static func numbers(in path: String) throws(ProcessError) -> [Int32] {
        guard let directory = opendir(path) else {
            guard case .failed(let errno) = SystemCalls.Contents(failure: -Int(Glibc.errno)) else { return [] }
            throw ProcessError(errno, action: "list \(path)")
        }
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

/// The kernel's list of the children of a process's first thread, which stays open.
///
/// It's read again after each end of a process, and to find and open it takes ten times as long. It's the list of that process, and empty once
/// the process has ended, whoever has its number then.
final class ChildList: Sendable {
    fileprivate static let limit = 1 << 20

    let processID: Int32
    private let descriptor: Int32

    /// Opens the list; `nil` if that can't be, such as for want of descriptors, or because there is no such process.
    init?(of processID: Int32) {
        descriptor = coordinator_process_open_file(Self.path(of: processID, thread: processID))
        guard descriptor >= 0 else { return nil }
        self.processID = processID
    }

    deinit { close(descriptor) }

    fileprivate static func path(of processID: Int32, thread: Int32) -> String { "/proc/\(processID)/task/\(thread)/children" }

    fileprivate var contents: SystemCalls.Contents {
        ProcessTable.contents(Self.limit) { coordinator_process_read_from_start(descriptor, $0.baseAddress, $0.count) }
    }
}
