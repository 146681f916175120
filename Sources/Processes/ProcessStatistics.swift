/// The fields of /proc/PID/stat that tell whether a process lives and identify it; see proc_pid_stat(5).
struct ProcessStatistics: Sendable, Equatable {
    /// The state, field 3, such as "S" or "Z".
    let state: UInt8
    /// The parent, field 4.
    let parentID: Int32
    /// The process group, field 5.
    let groupID: Int32
    /// The session, field 6.
    let sessionID: Int32
    /// The number of threads, field 20.
    let threadCount: Int
    /// The start time, field 22, in clock ticks since boot.
    let startTime: UInt64

    /// Whether the process has ended and only its exit status is left.
    ///
    /// A process whose first thread has ended while others run shows as a zombie too, but counts the others.
    var isZombie: Bool {
        switch state {
        case UInt8(ascii: "Z"), UInt8(ascii: "X"), UInt8(ascii: "x"): threadCount <= 1
        default: false
        }
    }

    /// Parses the kernel's line; nil if the line is malformed.
    init?(parsing line: some Collection<UInt8> & BidirectionalCollection<UInt8>) {
        // Field 2 is the program's name in parentheses, and may itself hold spaces and parentheses: the last one ends it.
        guard let nameEnd = line.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = line[line.index(after: nameEnd)...]
            .split(whereSeparator: { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") })
        func number<Number: FixedWidthInteger>(_ field: Int) -> Number? {
            Number(String(decoding: fields[field - 3], as: UTF8.self))
        }
        guard fields.count >= 20, let state = fields[0].first, let parentID: Int32 = number(4), let groupID: Int32 = number(5),
            let sessionID: Int32 = number(6), let threadCount: Int = number(20), let startTime: UInt64 = number(22)
        else { return nil }
        self.state = state
        self.parentID = parentID
        self.groupID = groupID
        self.sessionID = sessionID
        self.threadCount = threadCount
        self.startTime = startTime
    }
}
