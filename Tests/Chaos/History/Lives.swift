/// The lives of all paths, as the history tells them.
struct Lives {
    /// One incarnation of a path, which has a process of its own.
    struct Life {
        let process: ProcessLife
        let path: String
        let incarnation: UInt32
        let role: Record.Role
        /// Its place among the lives of its path.
        let position: Int
        let begun: Int64
        let isAlone: Bool
        /// Whether it may begin beside the life before it.
        let overlaps: Bool
        var ready: Int64?
        /// The time from which on it isn't there for others: it was killed, was told to end, has ended, or is gone.
        var down = Int64.max
        /// The last time at which it certainly lived.
        var lastSign: Int64
        var isGone = false
        /// The faults that it suffered.
        var faults: [(time: Int64, fault: Record.Fault)] = []
        /// The times in which it was stopped, or its links were held back or broken.
        var interruptions: [Range<Int64>] = []
    }

    private(set) var all: [Life] = []
    /// The last time of the history.
    private(set) var end: Int64 = 0
    private var indices: [ProcessLife: Int] = [:]
    /// The lives of each path, in their order.
    private(set) var indicesByPath: [String: [Int]] = [:]

    /// Reads the lives from the records, which are in the order of their times.
    init(_ records: [Record]) {
        end = records.last?.time ?? 0
        for record in records { add(record) }
        // What was never continued lasts until the end.
        for index in all.indices {
            guard let last = all[index].interruptions.last, last.upperBound == .max else { continue }
            all[index].interruptions.append(all[index].interruptions.removeLast().lowerBound..<max(end, last.lowerBound + 1))
        }
    }

    private mutating func add(_ record: Record) {
        if case .begun(let path, let incarnation, let role, let isAlone, let overlaps) = record.event {
            indices[record.process] = all.count
            indicesByPath[path, default: []].append(all.count)
            all.append(
                Life(
                    process: record.process,
                    path: path,
                    incarnation: incarnation,
                    role: role,
                    position: indicesByPath[path, default: []].count - 1,
                    begun: record.time,
                    isAlone: isAlone,
                    overlaps: overlaps,
                    lastSign: record.time
                )
            )
        }
        guard let index = indices[record.process] else { return }
        if record.event.provesLife { all[index].lastSign = record.time }
        switch record.event {
        case .ready: all[index].ready = all[index].ready ?? record.time
        case .ended: all[index].down = min(all[index].down, record.time)
        case .gone:
            all[index].down = min(all[index].down, record.time)
            all[index].isGone = true
        case .fault(let fault):
            all[index].faults.append((record.time, fault))
            if fault.isInterruption {
                all[index].interruptions.append(record.time..<Int64.max)
            } else {
                all[index].down = min(all[index].down, record.time)
            }
        case .continued:
            guard let open = all[index].interruptions.lastIndex(where: { $0.upperBound == .max }) else { break }
            all[index].interruptions[open] =
                all[index].interruptions[open].lowerBound..<max(record.time, all[index].interruptions[open].lowerBound)
        case .begun, .sent, .settled, .executed, .alive, .left, .sampled: break
        }
    }

    subscript(process: ProcessLife) -> Life? { indices[process].map { all[$0] } }

    /// The lives of a path, in their order.
    func lives(of path: String) -> [Life] { (indicesByPath[path] ?? []).map { all[$0] } }

    /// The next life of the same path.
    func successor(of life: Life) -> Life? {
        guard let indices = indicesByPath[life.path], life.position + 1 < indices.count else { return nil }
        return all[indices[life.position + 1]]
    }

    /// The paths that have ever lived.
    var paths: [String] { indicesByPath.keys.sorted() }

    /// Returns the paths above a path that have processes of their own, the root's first; a pool is in the process above it.
    func ancestors(of path: String) -> [String] {
        if path == "/" { return [] }
        let components = path.split(separator: "/")
        let paths = ["/"] + (1..<max(components.count, 1)).map { "/" + components.prefix($0).joined(separator: "/") }
        return paths.filter { indicesByPath[$0] != nil }
    }
}

// MARK: - When a path is there

extension Lives {
    /// Returns the times in which a path was ready and suffered no interruption, in their order.
    func upTimes(of path: String) -> [Range<Int64>] {
        lives(of: path).flatMap { life -> [Range<Int64>] in
            guard let ready = life.ready, ready < min(life.down, end) else { return [] }
            var times: [Range<Int64>] = []
            var from = ready
            let end = min(life.down, end)
            for interruption in life.interruptions where interruption.lowerBound < end {
                if interruption.lowerBound > from { times.append(from..<interruption.lowerBound) }
                from = max(from, interruption.upperBound)
            }
            if from < end { times.append(from..<end) }
            return times
        }
    }

    /// Returns the times in which all paths of a list were there.
    func upTimes(ofAll paths: [String]) -> [Range<Int64>] {
        var common = [Int64.min..<Int64.max]
        for path in paths { common = Self.intersection(common, upTimes(of: path)) }
        return common
    }

    private static func intersection(_ left: [Range<Int64>], _ right: [Range<Int64>]) -> [Range<Int64>] {
        var result: [Range<Int64>] = []
        var (first, second) = (0, 0)
        while first < left.count, second < right.count {
            let common = left[first].clamped(to: right[second])
            if !common.isEmpty { result.append(common) }
            if left[first].upperBound < right[second].upperBound { first += 1 } else { second += 1 }
        }
        return result
    }
}
