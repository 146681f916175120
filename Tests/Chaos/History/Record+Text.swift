extension Record: LosslessStringConvertible {
    /// The record as a line without its end, such as `1000 4711.998877 sent 17 ask /p0/l1`.
    package var description: String { "\(time) \(process) \(event)" }

    /// Reads a line; `nil` when it's none of a history, such as one that was cut off.
    package init?(_ line: String) { self.init(line[...]) }

    /// Reads a line.
    package init?(_ line: Substring) {
        var words = Words(line)
        guard let time = words.next(as: Int64.self), let process = words.next(as: ProcessLife.self), let event = Event(&words),
            words.isEmpty
        else { return nil }
        self.init(time: time, process: process, event)
    }

    /// Reads all lines of a text.
    ///
    /// - Parameter text: The lines.
    /// - Returns: The records, and the number of lines that are none.
    package static func read(_ text: String) -> (records: [Record], senseless: Int) {
        var records: [Record] = []
        var senseless = 0
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
            if let record = Record(Substring(line)) { records.append(record) } else { senseless += 1 }
        }
        return (records, senseless)
    }
}

/// The words of a line, one after the other.
private struct Words {
    private var rest: ArraySlice<Substring.UTF8View.SubSequence>

    init(_ line: Substring) { rest = line.utf8.split(separator: UInt8(ascii: " "))[...] }

    var isEmpty: Bool { rest.isEmpty }

    mutating func next() -> String? { rest.popFirst().flatMap { String($0) } }

    mutating func next<Value: LosslessStringConvertible>(as type: Value.Type) -> Value? { next().flatMap { Value($0) } }

    mutating func next<Value: RawRepresentable<String>>(as type: Value.Type) -> Value? { next().flatMap { Value(rawValue: $0) } }
}

extension ProcessLife: LosslessStringConvertible {
    /// Reads a number and a start time.
    package init?(_ text: String) {
        let parts = text.split(separator: ".")
        guard parts.count == 2, let processID = Int32(parts[0]), let startTime = UInt64(parts[1]) else { return nil }
        self.init(processID: processID, startTime: startTime)
    }
}

extension MessageID: LosslessStringConvertible {
    /// Reads a process and a number.
    package init?(_ text: String) {
        let parts = text.split(separator: "/")
        guard parts.count == 2, let sender = ProcessLife(String(parts[0])), let number = Int(parts[1]) else { return nil }
        self.init(sender: sender, number: number)
    }
}

extension Record.Event: CustomStringConvertible {
    /// The event's name and values.
    package var description: String {
        switch self {
        case .begun(let path, let incarnation, let role, let isAlone, let overlaps):
            "begun \(path) \(incarnation) \(role.rawValue) \(isAlone ? "alone" : "beside")\(overlaps ? " overlapping" : "")"
        case .ready: "ready"
        case .ended: "ended"
        case .sent(let number, let kind, let target): "sent \(number) \(kind.rawValue) \(target)"
        case .settled(let number, let outcome): "settled \(number) \(outcome)"
        case .executed(let message, let kind): "executed \(message) \(kind.rawValue)"
        case .fault(let fault): "fault \(fault.rawValue)"
        case .continued: "continued"
        case .alive: "alive"
        case .gone: "gone"
        case .left: "left"
        case .sampled(let sample):
            "sampled \(sample.phase.rawValue) \(sample.kibibytes) \(sample.descriptors) \(sample.threads) \(sample.zombies) \(sample.files)"
        }
    }

    fileprivate init?(_ words: inout Words) {
        switch words.next() {
        case "begun":
            guard let path = words.next(), let incarnation = words.next(as: UInt32.self), let role = words.next(as: Record.Role.self),
                let company = words.next(), ["alone", "beside"].contains(company)
            else { return nil }
            let overlaps = words.next()
            guard [nil, "overlapping"].contains(overlaps) else { return nil }
            self = .begun(path: path, incarnation: incarnation, role: role, isAlone: company == "alone", overlaps: overlaps != nil)
        case "ready": self = .ready
        case "ended": self = .ended
        case "sent":
            guard let number = words.next(as: Int.self), let kind = words.next(as: Record.MessageKind.self), let target = words.next()
            else { return nil }
            self = .sent(number: number, kind: kind, target: target)
        case "settled":
            guard let number = words.next(as: Int.self), let outcome = words.next(as: Record.Outcome.self) else { return nil }
            self = .settled(number: number, outcome: outcome)
        case "executed":
            guard let message = words.next(as: MessageID.self), let kind = words.next(as: Record.MessageKind.self) else { return nil }
            self = .executed(message: message, kind: kind)
        case "fault":
            guard let fault = words.next(as: Record.Fault.self) else { return nil }
            self = .fault(fault)
        case "continued": self = .continued
        case "alive": self = .alive
        case "gone": self = .gone
        case "left": self = .left
        case "sampled":
            guard let phase = words.next(as: Record.Sample.Phase.self), let kibibytes = words.next(as: Int.self),
                let descriptors = words.next(as: Int.self), let threads = words.next(as: Int.self),
                let zombies = words.next(as: Int.self), let files = words.next(as: Int.self)
            else { return nil }
            self = .sampled(
                Record.Sample(phase, kibibytes: kibibytes, descriptors: descriptors, threads: threads, zombies: zombies, files: files)
            )
        default: return nil
        }
    }
}

extension Record.Outcome: LosslessStringConvertible {
    /// The outcome as one word, such as `acknowledged` or `failed:peerLost:maybe`.
    package var description: String {
        switch self {
        case .acknowledged: "acknowledged"
        case .accepted: "accepted"
        case .refused: "refused"
        case .failed(let code, let maybeExecuted): "failed:\(code):\(maybeExecuted ? "maybe" : "never")"
        }
    }

    /// Reads a word.
    package init?(_ word: String) {
        switch word {
        case "acknowledged": self = .acknowledged
        case "accepted": self = .accepted
        case "refused": self = .refused
        default:
            let parts = word.split(separator: ":")
            guard parts.count == 3, parts[0] == "failed", ["maybe", "never"].contains(parts[2]) else { return nil }
            self = .failed(code: String(parts[1]), maybeExecuted: parts[2] == "maybe")
        }
    }
}
