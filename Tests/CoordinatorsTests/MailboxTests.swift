import ConcurrencySupport
import Testing
import WireProtocol

@testable import Coordinators

@Suite("Mailbox: what waits for a coordinator and what it works on")
struct MailboxTests {
    // MARK: Order

    @Test("Messages and notices begin in the order of their arrival")
    func order() {
        var mailbox = Mailbox(Box(MailboxPolicy()))
        mailbox.put("a")
        mailbox.post("one")
        mailbox.put("b")
        mailbox.post("two")
        mailbox.put("c")
        let mustDrain = mailbox.beginDraining()
        let twice = mailbox.beginDraining()
        #expect(mustDrain && !twice)
        let words = mailbox.begin()
        #expect(words == ["a", "one", "b", "two", "c"])
        let rest = mailbox.begin()
        #expect(rest.isEmpty)
        #expect(!mailbox.isDraining)
    }

    @Test("A batch is bounded, and the next goes on where it ended")
    func batches() {
        var mailbox = Mailbox(Box(MailboxPolicy()))
        for number in 0..<100 { mailbox.put("\(number)") }
        let first = mailbox.takeBatch().map(\.word)
        let second = mailbox.takeBatch().map(\.word)
        #expect(first == (0..<64).map(String.init))
        #expect(second == (64..<100).map(String.init))
    }

    @Test("Messages that share an envelope are taken and counted together, or not at all")
    func together() {
        var mailbox = Mailbox(Box(MailboxPolicy(running: 4, waiting: 100, bytes: 100_000)))
        let row = Kind.short.row(0)
        let taken = [60, 30, 20].map { mailbox.takeAll(.letters($0), row, isFromSubtree: false) }
        #expect(taken == [true, true, false])
        #expect(mailbox.messageCount == 90)
        let (room, full) = ((0..<10).map { mailbox.put("\($0)", as: .short) }, mailbox.put("late", as: .short))
        #expect(Set(room) == ["admitted"])
        #expect(full == "admitted", "four may run beyond those that wait")
        let large = mailbox.takeAll(.letters(2, bytes: 60_000), row, isFromSubtree: false)
        #expect(!large)
        // The first batch ends after the second envelope, since that makes more than 64.
        let batch = mailbox.takeBatch()
        #expect(batch.map { $0.envelope?.count } == [60, 30])
        for item in batch { mailbox.ended(item) }
        #expect(mailbox.messageCount == 11)
        let removed = mailbox.removeMessages().count
        #expect(removed == 11)
        #expect(mailbox.messageCount == 0)
        let again = mailbox.takeAll(.letters(100), row, isFromSubtree: true)
        #expect(again, "nothing is left over from the messages before")
    }

    @Test("A pause delays messages, and no notice")
    func pause() {
        var mailbox = Mailbox(Box(MailboxPolicy()))
        mailbox.put("a")
        mailbox.pause()
        #expect(mailbox.isPaused)
        let nothing = mailbox.beginDraining()
        #expect(!nothing)
        mailbox.post("one")
        mailbox.put("b")
        mailbox.post("two")
        let mustDrain = mailbox.beginDraining()
        #expect(mustDrain)
        let notices = mailbox.begin()
        #expect(notices == ["one", "two"])
        _ = mailbox.begin()
        mailbox.resume()
        let resumed = mailbox.beginDraining()
        #expect(resumed)
        let messages = mailbox.begin()
        #expect(messages == ["a", "b"])
    }

    @Test("A mailbox is idle when nothing waits, runs or is about to")
    func idle() {
        var mailbox = Mailbox(Box(MailboxPolicy()))
        #expect(mailbox.isIdle)
        mailbox.put("a")
        #expect(!mailbox.isIdle)
        _ = mailbox.beginDraining()
        let batch = mailbox.takeBatch()
        _ = mailbox.takeBatch()
        #expect(!mailbox.isIdle)
        for item in batch { mailbox.ended(item) }
        #expect(mailbox.isIdle)
        mailbox.pause()
        #expect(!mailbox.isIdle)
    }

    // MARK: Needs

    @Test("A message that needs a dependency waits, and other rows pass it")
    func needs() {
        var mailbox = Mailbox(Box(MailboxPolicy()))
        mailbox.put("needs 1", 1, isNeeding: true)
        mailbox.put("plain", 2)
        #expect(mailbox.hasNeeding)
        let passing = mailbox.begin()
        #expect(passing == ["plain"])
        // What it needs is there by now, and those of its row that came before it still wait.
        mailbox.put("needs 2", 1)
        mailbox.put("other", 3, isNeeding: true)
        let none = mailbox.begin()
        #expect(none.isEmpty)
        mailbox.release { $0.index == 1 }
        #expect(mailbox.hasNeeding)
        let released = mailbox.begin()
        #expect(released == ["needs 1", "needs 2"])
        mailbox.release { _ in true }
        #expect(!mailbox.hasNeeding)
        let last = mailbox.begin()
        #expect(last == ["other"])
    }

    @Test("A message that waits for a dependency takes room")
    func needsAreBounded() {
        var mailbox = Mailbox(Box(MailboxPolicy(running: 1, waiting: 2, whenFull: .fail)))
        mailbox.put("needs 1", 1, isNeeding: true)
        mailbox.put("needs 2", 1, isNeeding: true)
        let third = mailbox.put("needs 3", 1, isNeeding: true)
        let begins = mailbox.put("plain", 2)
        let fifth = mailbox.put("plain", 2)
        #expect([third, begins, fifth] == ["refused", "admitted", "refused"])
    }

    // MARK: Policies

    @Test("The policy wait accepts a message without room, and its sender waits")
    func wait() {
        var mailbox = Mailbox(Box(MailboxPolicy(running: 1, waiting: 1, whenFull: .wait)))
        let admissions = (0..<4).map { mailbox.put("\($0)") }
        #expect(admissions == ["admitted", "admitted", "delayed", "delayed"])
        #expect(mailbox.messageCount == 4)
    }

    @Test("The policy fail refuses a message without room")
    func fail() {
        var mailbox = Mailbox(Box(MailboxPolicy(running: 1, waiting: 2, whenFull: .fail)))
        let admissions = (0..<5).map { mailbox.put("\($0)") }
        #expect(admissions == ["admitted", "admitted", "admitted", "refused", "refused"])
        let begun = mailbox.begin()
        #expect(begun == ["0"])
        let full = mailbox.put("5")
        #expect(full == "refused")
    }

    @Test("A pause leaves room for as many messages as may wait")
    func pausedRoom() {
        var mailbox = Mailbox(Box(MailboxPolicy(running: 8, waiting: 2, whenFull: .fail)))
        mailbox.pause()
        let admissions = (0..<3).map { mailbox.put("\($0)") }
        #expect(admissions == ["admitted", "admitted", "refused"])
    }

    @Test("The policy dropNewest drops a message without room")
    func dropNewest() {
        var mailbox = Mailbox(Box(MailboxPolicy(running: 1, waiting: 1, whenFull: .dropNewest)))
        let admissions = (0..<3).map { mailbox.put("\($0)") }
        #expect(admissions == ["admitted", "admitted", "dropped"])
        let begun = mailbox.begin()
        #expect(begun == ["0"])
    }

    @Test("The policy dropOldest drops the oldest messages, including those that wait for a dependency")
    func dropOldest() {
        var mailbox = Mailbox(Box(MailboxPolicy(running: 1, waiting: 1, whenFull: .dropOldest)))
        mailbox.put("needs", 1, isNeeding: true)
        let second = mailbox.put("a")
        #expect(second == "admitted")
        let begun = mailbox.begin()
        #expect(begun == ["a"])
        // It runs, and can't be dropped; what waits for something can.
        let third = mailbox.put("b")
        #expect(third == "instead of needs")
        let fourth = mailbox.put("c")
        #expect(fourth == "instead of b")
    }

    @Test("The policy dropOldest drops until the new message fits, and no more")
    func dropOldestByBytes() {
        var mailbox = Mailbox(Box(MailboxPolicy(bytes: 4 * (640 + 100), whenFull: .dropOldest)))
        for word in ["a", "b", "c", "d"] { mailbox.put(word, bytes: 100) }
        let large = mailbox.put("large", bytes: 400)
        #expect(large == "instead of a b")
        let begun = mailbox.begin()
        #expect(begun == ["c", "d", "large"])
    }

    @Test("The policy dropOldest drops the new message where all others run already")
    func dropOldestOfRunning() {
        var mailbox = Mailbox(Box(MailboxPolicy(bytes: 2 * 640, whenFull: .dropOldest)))
        mailbox.put("a")
        mailbox.put("b")
        _ = mailbox.begin()
        let third = mailbox.put("c")
        #expect(third == "dropped")
    }

    @Test("A message that is larger than the whole limit is accepted when the mailbox is empty")
    func larger() {
        var mailbox = Mailbox(Box(MailboxPolicy(bytes: 300, whenFull: .fail)))
        let large = mailbox.put("large", bytes: 10_000)
        let small = mailbox.put("small")
        #expect([large, small] == ["admitted", "refused"])
        let begun = mailbox.begin()
        #expect(begun == ["large"])
    }

    @Test("Messages whose askers have gone free their room")
    func withdrawn() {
        var mailbox = Mailbox(Box(MailboxPolicy(running: 1, waiting: 3, whenFull: .fail)))
        let letters = (0..<4).map { Envelope.letter("\($0)") }
        for letter in letters {
            mailbox.put(letter)
        }
        letters[0].end(.failure(CancellationError()))
        letters[2].end(.failure(CancellationError()))
        let admissions = ["a", "b", "c"].map { mailbox.put($0) }
        #expect(admissions == ["admitted", "admitted", "refused"])
        #expect(mailbox.messageCount == 4)
        let begun = mailbox.begin()
        #expect(begun == ["1"])
    }

    @Test("A one-way message that was accepted isn't withdrawn by that")
    func taken() {
        var mailbox = Mailbox(Box(MailboxPolicy(running: 1, waiting: 1, whenFull: .fail)))
        let letter = Envelope.letter("sent", isOneWay: true)
        mailbox.put(letter)
        letter.complete(.success(.none))
        let admissions = [mailbox.put("second"), mailbox.put("third")]
        #expect(admissions == ["admitted", "refused"])
        let begun = mailbox.begin()
        #expect(begun == ["sent"])
    }

    // MARK: Asks in their askers' tasks

    private let low = TaskPriority.low.rawValue
    private let medium = TaskPriority.medium.rawValue
    private let high = TaskPriority.high.rawValue

    @Test("Asks in their askers' tasks count as messages, and hold back all others until the last has begun")
    func reservations() {
        var mailbox = Mailbox(Box(MailboxPolicy(running: 1, waiting: 1, whenFull: .fail)))
        let reserved = [mailbox.reserve(1, medium), mailbox.reserve(1, medium), mailbox.reserve(1, medium)]
        #expect(reserved == [true, true, false])
        let full = mailbox.put("full")
        #expect(full == "refused")
        mailbox.endReservation(1)
        let waits = mailbox.put("waits")
        #expect(waits == "admitted")
        let early = (mailbox.beginDraining(), mailbox.reserve(1, medium))
        #expect(early == (false, false))
        mailbox.endReservation(1)
        let begins = mailbox.beginDraining()
        #expect(begins)
    }

    @Test("Asks of tasks of different priorities don't overtake one another")
    func priorities() {
        var mailbox = Mailbox(Box(MailboxPolicy(waiting: 4, bytes: 100, whenFull: .wait)))
        let reserved = [mailbox.reserve(60, low), mailbox.reserve(1, high), mailbox.reserve(60, low), mailbox.reserve(40, low)]
        #expect(reserved == [true, false, false, true])
        mailbox.endReservation(60)
        mailbox.endReservation(40)
        let later = mailbox.reserve(200, high)
        #expect(later, "one may have any size")
    }

    // MARK: Running

    @Test("As many messages run as the policy says")
    func running() {
        var mailbox = Mailbox(Box(MailboxPolicy(running: 2, waiting: 2, whenFull: .wait)))
        for number in 0..<5 { mailbox.put("\(number)") }
        let batch = mailbox.takeBatch()
        #expect(batch.map(\.word) == ["0", "1"])
        _ = mailbox.begin()
        mailbox.ended(batch[1])
        let mustDrain = mailbox.beginDraining()
        #expect(mustDrain)
        let third = mailbox.takeBatch()
        #expect(third.map(\.word) == ["2"])
        #expect(mailbox.messageCount == 4)
        // Notices aren't counted.
        mailbox.post("notice")
        let notice = mailbox.begin()
        #expect(notice == ["notice"])
    }

    @Test("The bytes of running messages are bounded, and one alone may always run")
    func runningBytes() {
        var mailbox = Mailbox(Box(MailboxPolicy(bytes: 1_000, whenFull: .wait)))
        for word in ["a", "b", "huge"] { mailbox.put(word, bytes: word == "huge" ? 5_000 : 344) }
        for word in ["a", "b", "huge"] {
            let batch = mailbox.takeBatch()
            #expect(batch.map(\.word) == [word])
            let more = mailbox.begin()
            #expect(more.isEmpty)
            for item in batch { mailbox.ended(item) }
        }
        #expect(mailbox.messageCount == 0)
    }

    // MARK: One at a time

    @Test("A serial coordinator begins a message when the former has ended; bodies that don't await begin one after the other")
    func serial() {
        var mailbox = Mailbox(Box(MailboxPolicy(running: 1)))
        for (word, kind) in [("a", Kind.short), ("b", .short), ("c", .plain), ("d", .short), ("e", .plain)] { mailbox.put(word, as: kind) }
        let first = mailbox.takeBatch()
        #expect(first.map(\.word) == ["a", "b", "c"])
        mailbox.ended(first[0])
        mailbox.ended(first[1])
        let none = mailbox.begin()
        #expect(none.isEmpty)
        mailbox.ended(first[2])
        let mustDrain = mailbox.beginDraining()
        #expect(mustDrain)
        let second = mailbox.begin()
        #expect(second == ["d", "e"])
    }

    @Test("Messages of the subtree begin while a handler waits for others, and only then")
    func subtree() {
        var mailbox = Mailbox(Box(MailboxPolicy(running: 1)))
        mailbox.put("a")
        let first = mailbox.takeBatch()
        mailbox.put("from above")
        mailbox.put("from below 1", as: .below)
        mailbox.put("from below 2", as: .below)
        let none = mailbox.begin()
        #expect(none.isEmpty)
        mailbox.handlerWaits()
        let mustDrain = mailbox.beginDraining()
        #expect(mustDrain)
        let besides = mailbox.takeBatch()
        #expect(besides.map(\.word) == ["from below 1", "from below 2"])
        mailbox.handlerWaitsNoMore()
        mailbox.put("from below 3", as: .below)
        for item in first + besides.dropLast() { mailbox.ended(item) }
        // One that has begun besides takes a place too.
        let still = mailbox.begin()
        #expect(still.isEmpty)
        mailbox.ended(besides[1])
        let next = mailbox.takeBatch()
        #expect(next.map(\.word) == ["from above"])
        mailbox.ended(next[0])
        let last = mailbox.begin()
        #expect(last == ["from below 3"])
    }

    @Test("Messages of the subtree keep to the bytes, unless every handler waits for others and none will make room")
    func subtreeBytes() {
        var mailbox = Mailbox(Box(MailboxPolicy(running: 1, bytes: 2 * (640 + 1_000))))
        mailbox.put("asks", bytes: 1_000)
        let asks = mailbox.takeBatch()
        for number in 1...3 { mailbox.put("from below \(number)", bytes: 1_000, as: .below) }
        mailbox.handlerWaits()
        let besides = mailbox.takeBatch()
        #expect(besides.map(\.word) == ["from below 1"])
        // The first from below waits too: the second may be what both wait for.
        mailbox.handlerWaits()
        let beyond = mailbox.begin()
        #expect(beyond == ["from below 2"])
        mailbox.ended(besides[0])
        mailbox.handlerWaitsNoMore()
        let none = mailbox.begin()
        #expect(none.isEmpty)
        mailbox.ended(asks[0])
        mailbox.handlerWaitsNoMore()
        #expect(mailbox.messageCount == 2)
    }

    @Test("A message of the subtree that may begin is taken by a mailbox that is full")
    func subtreeAndFull() {
        var mailbox = Mailbox(Box(MailboxPolicy(running: 1, waiting: 1, whenFull: .fail)))
        mailbox.put("a")
        _ = mailbox.begin()
        let admissions = [mailbox.put("b"), mailbox.put("c"), mailbox.put("early", as: .below)]
        #expect(admissions == ["admitted", "refused", "refused"])
        mailbox.handlerWaits()
        let asksBack = mailbox.put("asks back", as: .below)
        #expect(asksBack == "admitted")
        let begun = mailbox.begin()
        #expect(begun == ["asks back"])
    }

    @Test("Messages of rows that interleave begin though others run, up to a bound of their own, and hold back no other")
    func interleaving() {
        var mailbox = Mailbox(Box(MailboxPolicy(running: 1)))
        for number in 0..<(Mailbox.interleavingLimit + 1) { mailbox.put("\(number)", as: .interleaving) }
        mailbox.put("a")
        mailbox.put("b")
        var begun: [Mailbox.Item] = []
        while case let batch = mailbox.takeBatch(), !batch.isEmpty { begun += batch }
        #expect(begun.count == Mailbox.interleavingLimit + 1)
        #expect(begun.last?.word == "a")
        mailbox.ended(begun[0])
        let next = mailbox.begin()
        #expect(next == ["\(Mailbox.interleavingLimit)"])
        mailbox.pause()
        mailbox.put("paused", as: .interleaving)
        mailbox.ended(begun[1])
        let none = mailbox.begin()
        #expect(none.isEmpty)
        let rest = mailbox.removeMessages().map(\.word)
        #expect(rest == ["b", "paused"])
    }

    @Test("Waiting messages are taken out in the order of their arrival, whatever they wait for")
    func removalInOrder() {
        var mailbox = Mailbox(Box(MailboxPolicy(running: 1)))
        mailbox.put("running")
        _ = mailbox.begin()
        mailbox.pause()
        for (word, kind) in [("a", Kind.below), ("b", .plain), ("c", .interleaving), ("d", .below)] { mailbox.put(word, as: kind) }
        let waiting = mailbox.removeMessages().map(\.word)
        #expect(waiting == ["a", "b", "c", "d"])
        #expect(mailbox.messageCount == 1)
    }

    @Test("A message for an inline row waits in the mailbox while it's paused, and while an earlier one does")
    func inline() {
        var mailbox = Mailbox(Box(MailboxPolicy()))
        #expect(mailbox.admitsInline)
        mailbox.pause()
        #expect(!mailbox.admitsInline)
        mailbox.put("a", as: .inline)
        mailbox.put("b", as: .inline)
        mailbox.resume()
        #expect(!mailbox.admitsInline)
        let batch = mailbox.takeBatch()
        #expect(batch.map(\.word) == ["a", "b"])
        mailbox.ended(batch[0])
        #expect(!mailbox.admitsInline)
        mailbox.ended(batch[1])
        #expect(mailbox.admitsInline)
        mailbox.pause()
        mailbox.put("c", as: .inline)
        _ = mailbox.removeMessages()
        mailbox.resume()
        #expect(mailbox.admitsInline)
    }

    @Test("Nothing begins after the close, and waiting messages can be taken out")
    func close() {
        var mailbox = Mailbox(Box(MailboxPolicy()))
        mailbox.put("running")
        let batch = mailbox.takeBatch()
        mailbox.put("a")
        mailbox.put("needs", 1, isNeeding: true)
        mailbox.post("notice")
        mailbox.close()
        let mustDrain = mailbox.beginDraining()
        #expect(!mustDrain)
        let begun = mailbox.begin()
        #expect(begun.isEmpty)
        let rest = mailbox.removeAll().map(\.word)
        #expect(rest == ["a", "needs", "notice"])
        #expect(mailbox.messageCount == 1)
        for item in batch { mailbox.ended(item) }
        #expect(mailbox.messageCount == 0)
    }

    @Test("Messages can be taken out without the notices")
    func removeMessages() {
        var mailbox = Mailbox(Box(MailboxPolicy()))
        mailbox.put("a")
        mailbox.post("notice")
        mailbox.put("needs", 1, isNeeding: true)
        let messages = mailbox.removeMessages().map(\.word)
        #expect(messages == ["a", "needs"])
        #expect(mailbox.messageCount == 0)
        let begun = mailbox.begin()
        #expect(begun == ["notice"])
    }

    @Test("Events beyond their limit are dropped, the oldest first, and no other notice is")
    func events() {
        let birth = NodeParameters(
            type: .of(Listener.self),
            configuration: .value(NoConfiguration()),
            path: "/a",
            incarnation: 1,
            parent: nil,
            runtime: RuntimeCore(CoordinatorRuntime.Options()),
            startTimeout: .seconds(1)
        )
        let node = Node(birth, host: nil)
        let child = AnyChild(supervisor: ChildSupervisor(node: node), key: "b", typeName: "B")
        var mailbox = Mailbox(Box(MailboxPolicy()))
        mailbox.post("notice")
        var dropped: [Int] = []
        for number in 0..<(Mailbox.eventLimit + 3) {
            for case .event(_, let answer) in mailbox.append(.event(child, .value(number))) {
                dropped.append((try? answer.decoded(as: Int.self)) ?? -1)
            }
        }
        #expect(dropped == [0, 1, 2])
        // Four of a megabyte, and as many of the small ones as there is room for.
        let large = [UInt8](repeating: 0, count: 1 << 20)
        let gone = (0..<6).reduce(0) { count, _ in count + mailbox.append(.event(child, .encoded(.opaque, large[...]))).count }
        #expect(gone >= Mailbox.eventLimit - 1 && gone < Mailbox.eventLimit + 6)
        let first = mailbox.begin()
        #expect(first.first == "notice")
    }

    private actor Listener: Coordinator {
        nonisolated let context: Context
        init(_ context: Context) { self.context = context }
    }
}

// MARK: - Words for what is put in and taken out

extension Envelope {
    fileprivate static func letter(_ name: String, bytes: Int = 0, isOneWay: Bool = false) -> Envelope {
        let body = Body.encoded(name: name, .json, Payload(Bytes(repeating: 0, count: bytes)))
        return Envelope(body, sender: "/sender", deadline: nil, isOneWay: isOneWay)
    }

    /// Several messages in one envelope.
    fileprivate static func letters(_ count: Int, bytes: Int = 0) -> Envelope {
        let payload = Payload(Bytes(repeating: 0, count: count * bytes), lengths: Array(repeating: bytes, count: count))
        return Envelope(.encoded(name: "letters", .json, payload), sender: "/sender", deadline: nil, isOneWay: true)
    }
}

/// The kind of a message, by its row and its sender.
private enum Kind {
    /// Its row awaits, and it comes from above.
    case plain
    /// Its row doesn't await.
    case short
    case below, interleaving, inline

    func row(_ index: Int) -> MessageRow {
        // Rows of an index of their own need something.
        let needs = index == 0 || index == 2 ? MessageRow.Needs() : MessageRow.Needs(\.mailboxNeed)
        let immediate: MessageRow.ImmediateBody = { _, _ in .none }
        return MessageRow(
            .prefix(""),
            needs: needs,
            interleaves: self == .interleaving || self == .inline,
            index: index,
            immediate: self == .short || self == .inline ? immediate : nil,
            inline: self == .inline ? InlineRow { _, _ in .none } : nil
        ) { _, _, _, _ in Answer.none }
    }
}

extension Mailbox {
    @discardableResult
    fileprivate mutating func put(
        _ name: String,
        _ index: Int = 0,
        bytes: Int = 0,
        as kind: Kind = .plain,
        isNeeding: Bool = false
    ) -> String {
        put(.letter(name, bytes: bytes), index, as: kind, isNeeding: isNeeding)
    }

    @discardableResult
    fileprivate mutating func put(_ envelope: Envelope, _ index: Int = 0, as kind: Kind = .plain, isNeeding: Bool = false) -> String {
        switch take(envelope, kind.row(index), isFromSubtree: kind == .below, isNeeding: isNeeding) {
        case .admitted: return "admitted"
        case .delayed: return "delayed"
        case .instead(let oldest): return "instead of " + oldest.map { $0.0.body.name }.joined(separator: " ")
        case .refused: return "refused"
        case .dropped: return "dropped"
        }
    }

    fileprivate mutating func post(_ name: String) { _ = append(.unhandled(UnhandledMessage(name: name, sender: "/sender"))) }

    /// The items that begin now, as words.
    fileprivate mutating func begin() -> [String] { takeBatch().map(\.word) }
}

extension Mailbox.Item {
    fileprivate var word: String {
        switch self {
        case .message(let envelope, _): envelope.body.name
        case .unhandled(let message): message.name
        case .lifecycle: "lifecycle"
        case .event: "event"
        case .dismissal: "dismissal"
        case .popped: "popped"
        }
    }
}

extension DependencyKeys {
    fileprivate var mailboxNeed: DependencyKey<Int> { .init() }
}
