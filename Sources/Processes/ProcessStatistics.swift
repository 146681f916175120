/// The parts of /proc/PID/stat that say whether a process lives and which life of its number it is; see proc_pid_stat(5).
struct ProcessStatistics: Sendable, Equatable {
    /// Field 3, such as "S" or "Z".
    let state: UInt8
    /// Field 4.
    let parentID: Int32
    /// Field 5.
    let groupID: Int32
    /// Field 6.
    let sessionID: Int32
    /// Field 20.
    let threadCount: Int
    /// Field 22, in clock ticks since boot.
    let startTime: UInt64

    /// Whether it has ended and only its exit status is left.
    ///
    /// A process whose first thread has ended while others run shows as a zombie too, but counts them.
    var isZombie: Bool {
        switch state {
        case UInt8(ascii: "Z"), UInt8(ascii: "X"), UInt8(ascii: "x"): threadCount <= 1
        default: false
        }
    }

    /// Reads the line of the kernel; nil when it isn't one.
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
