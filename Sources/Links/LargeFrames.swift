import WireProtocol

/// The sender of a frame, who learns when a frame that leaves in parts leaves.
public protocol LargeFrameSender: AnyObject, Sendable {
    /// Takes note that the frame leaves in parts, and so later; called before any part leaves.
    func leavesLater()

    /// Takes note that the last part is about to leave.
    ///
    /// - Returns: False when the frame isn't wanted any more; the other side is told to forget the parts that it has.
    func leavesNow() -> Bool
}

/// The frames that are larger than the other side takes at once, which leave in parts one after the other, and the frames that wait behind them.
///
/// All other frames overtake the parts: a part leaves with each batch, so that a small frame waits for one part at most. The bytes of a frame use the names as
/// they were when it came here: none of these names gets another meaning while the frame waits.
struct LargeFrames {
    /// The size of the largest part, header included.
    static let partSize = OutboundBatches.batchSize
    /// The number of bytes that may wait here.
    static let limit = FrameLimits.largestFrameInParts

    /// The order that a frame must keep.
    private enum Place: Hashable {
        /// Messages to one coordinator, or, if they climb, of one name.
        case route(NameID)
        /// What is sent about a message of this side.
        case question(UInt64)
        /// Replies to a message of the other side.
        case answer(UInt64)
        case event
        /// A frame of the runtime's that overtakes nothing, and isn't overtaken.
        case barrier

        /// The place of a frame; `nil` if the frame may overtake all others.
        init?(_ frame: Frame) {
            switch frame.content {
            case .ask(let ask): self = .route(ask.target == 0 ? ask.message : ask.target)
            case .send(let send): self = .route(send.target == 0 ? send.message : send.target)
            case .cancel: self = .question(frame.correlation)
            case .reply, .streamItem, .streamEnd, .ack: self = .answer(frame.correlation)
            case .event: self = .event
            case .ping, .pong, .credit, .defineName, .part: return nil
            case .hello, .welcome, .subscribe, .start, .stop, .pause, .resume, .ready, .finish, .exited, .dependency, .inspect, .goodbye,
                .directory:
                self = .barrier
            }
        }
    }

    private struct Entry {
        let bytes: [UInt8]
        /// The orders that the frame keeps: that of messages, and that of what is sent about it later.
        let places: [Place]
        /// The names that the frame uses.
        let names: [NameID]
        /// The number of the message of this side that the frame is; `nil` for other frames and for messages without a number.
        let question: UInt64?
        /// Whether the frame leaves whole, because it's here only for the order.
        let isWhole: Bool
        /// The number of bytes of the message in it.
        let payload: Int
        let sender: (any LargeFrameSender)?
        let isNotice: Bool
        /// The number of bytes that have left.
        var left = 0
        /// Whether the other side is only to forget what has left.
        var isAbandoned = false
    }

    /// The frames, those before `first` being gone.
    private var entries: [Entry?] = []
    private var first = 0
    /// The number of frames that keep each order.
    private var places: [Place: Int] = [:]
    /// The number of frames that use each name.
    private var names: [NameID: Int] = [:]
    /// The messages that weren't wanted when their last part was to leave, until their sender gives them up, and the sizes of their payloads.
    private var unwanted: [UInt64: Int] = [:]
    /// The number of bytes that wait.
    private(set) var count = 0
    /// The number of bytes of notices that wait.
    private(set) var notices = 0
    /// What the next frame or part leaves with.
    enum Turn {
        case withOthers
        /// The last batch had no room for it.
        case withControl
        /// The last batch, of control frames alone, had no room for it either; the frame's names are defined by now.
        case alone
    }

    var turn = Turn.withOthers

    var isEmpty: Bool { count == 0 }

    /// Whether a frame that is here uses a name.
    func uses(_ name: NameID) -> Bool { names[name] != nil }

    /// Whether a frame has to wait behind those that are here.
    func holdsBack(_ frame: Frame) -> Bool {
        guard !isEmpty, let place = Place(frame) else { return false }
        return place == .barrier || places[.barrier] != nil || places[place] != nil
    }

    /// Appends a frame.
    ///
    /// - Parameters:
    ///   - bytes: The encoded frame.
    ///   - isWhole: Whether the frame isn't too large, and waits for the order only.
    mutating func append(_ frame: Frame, _ bytes: [UInt8], isWhole: Bool, isNotice: Bool, _ sender: (any LargeFrameSender)?) {
        var places = [Place(frame) ?? .barrier]
        let payload: Int? =
            switch frame.content {
            case .ask(let ask): ask.payload.count
            case .send(let send): send.payload.count
            default: nil
            }
        let question = payload == nil || frame.correlation == 0 ? nil : frame.correlation
        if let question { places.append(.question(question)) }
        sender?.leavesLater()
        for place in places { self.places[place, default: 0] += 1 }
        let names = frame.content.names
        for name in names { self.names[name, default: 0] += 1 }
        count += bytes.count
        if isNotice { notices += bytes.count }
        entries.append(
            Entry(
                bytes: bytes,
                places: places,
                names: names,
                question: question,
                isWhole: isWhole,
                payload: payload ?? 0,
                sender: sender,
                isNotice: isNotice
            )
        )
    }

    /// Gives up a message of this side that has not left whole.
    ///
    /// - Returns: The size of its payload; `nil` when it has left.
    mutating func abandon(_ correlation: UInt64) -> Int? {
        if let payload = unwanted.removeValue(forKey: correlation) { return payload }
        guard places[.question(correlation)] != nil,
            let index = entries.firstIndex(where: { $0?.question == correlation && $0?.isAbandoned == false }), var entry = entries[index]
        else { return nil }
        entry.isAbandoned = true
        entries[index] = entry
        // What hasn't begun leaves nothing to forget.
        if entry.left == 0 {
            entries.remove(at: index)
            forget(entry)
        }
        return entry.payload
    }

    /// Appends to a batch what leaves next: a part, or as many frames that were only held back as are no larger together.
    ///
    /// - Parameter limit: The size of the largest frame that the other side takes.
    mutating func appendNext(to batch: inout [UInt8], limit: Int, epoch: UInt32) {
        turn = .withOthers
        let start = batch.count
        let size = min(limit, Self.partSize)
        while first < entries.count, let entry = entries[first] {
            guard entry.isWhole else {
                if batch.count == start { appendPart(of: entry, to: &batch, size - Part.overhead, epoch) }
                return
            }
            // The first is as large as any frame, and needs the room that a message of the link has beside a batch.
            let isFirst = batch.count == start
            let room = isFirst ? limit + 2 * OutboundBatches.batchSize : start + size
            guard batch.count + entry.bytes.count <= room else {
                if isFirst { turn = .alone }
                return
            }
            removeFirst()
            if mayLeave(entry) { batch.append(contentsOf: entry.bytes) }
        }
    }

    private mutating func appendPart(of entry: Entry, to batch: inout [UInt8], _ size: Int, _ epoch: UInt32) {
        let end = min(entry.left + size, entry.bytes.count)
        let isLast = end == entry.bytes.count
        let part =
            if entry.isAbandoned || isLast && !mayLeave(entry) {
                Part(.abandoned)
            } else {
                Part(entry.left == 0 ? .first : isLast ? .last : .middle, entry.bytes[entry.left..<end])
            }
        if isLast || part.place == .abandoned { removeFirst() } else { entries[first]?.left = end }
        FrameEncoder.append(Frame(.part(part), epoch: epoch), to: &batch)
    }

    private mutating func mayLeave(_ entry: Entry) -> Bool {
        if entry.sender?.leavesNow() ?? true { return true }
        if let correlation = entry.question { unwanted[correlation] = entry.payload }
        return false
    }

    private mutating func removeFirst() {
        guard let entry = entries[first].take() else { return }
        first += 1
        if first == entries.count || first >= 64 && 2 * first >= entries.count {
            entries.removeFirst(first)
            first = 0
        }
        forget(entry)
    }

    private mutating func forget(_ entry: Entry) {
        count -= entry.bytes.count
        if entry.isNotice { notices -= entry.bytes.count }
        for place in entry.places {
            if places[place] == 1 { places[place] = nil } else { places[place, default: 1] -= 1 }
        }
        for name in entry.names {
            if names[name] == 1 { names[name] = nil } else { names[name, default: 1] -= 1 }
        }
    }
}

extension Content {
    /// The numbers of names that a frame uses.
    fileprivate var names: [NameID] {
        switch self {
        case .ask(let ask): [ask.target, ask.sender, ask.message]
        case .send(let send): [send.target, send.sender, send.message]
        case .event(let event): [event.subject, event.name]
        case .subscribe(let subscribe): [subscribe.subject, subscribe.name]
        case .stop(let stop): [stop.target]
        case .pause(let pause): [pause.target]
        case .resume(let resume): [resume.target]
        case .dependency(let dependency): [dependency.name]
        case .inspect(let inspect): [inspect.target]
        case .credit(let credit): [credit.target]
        case .hello, .welcome, .reply, .streamItem, .streamEnd, .ack, .cancel, .start, .ready, .finish, .exited, .ping, .pong, .goodbye,
            .defineName, .directory, .part:
            []
        }
    }
}
