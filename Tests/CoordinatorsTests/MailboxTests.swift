import ConcurrencySupport
import TestSupport
import Testing
import WireProtocol

@testable import Coordinators

@Suite("Mailbox: what waits for a coordinator and what it works on")
struct MailboxTests {
    // MARK: Order

    @Test("Messages and notices begin in the order of their arrival")
    func order() {
        let mailbox = Stage(MailboxPolicy())
        mailbox.put("a")
        mailbox.post("one")
        mailbox.put("b")
        mailbox.post("two")
        mailbox.put("c")
        #expect([mailbox.beginRun(), mailbox.beginRun()] == [true, false])
        #expect(mailbox.begin() == ["a", "one", "b", "two", "c"])
        #expect(mailbox.begin().isEmpty)
        #expect(!mailbox.isRunning)
    }

    @Test("A batch is bounded, and the next goes on where it ended")
    func batches() {
        let mailbox = Stage(MailboxPolicy())
        for number in 0..<100 { mailbox.put("\(number)") }
        #expect(mailbox.begin() == (0..<64).map(String.init))
        #expect(mailbox.begin() == (64..<100).map(String.init))
    }

    #if !SLOW_PATH_ONLY
    @Test("Messages that share an envelope are taken and counted together, or not at all")
    func together() {
        let mailbox = Stage(MailboxPolicy(running: 4, waiting: 100, bytes: 100_000))
        let row = Kind.short.row(0)
        #expect([60, 30, 20].map { mailbox.takeAll(.letters($0), row) } == [true, true, false])
        #expect(mailbox.messageCount == 90)
        #expect(Set((0..<10).map { mailbox.put("\($0)", as: .short) }) == ["admitted"])
        #expect(mailbox.put("late", as: .short) == "admitted", "four may run beyond those that wait")
        #expect(!mailbox.takeAll(.letters(2, bytes: 60_000), row))
        // The first batch ends after the second envelope, since that makes more than 64.
        let batch = mailbox.takeBatch()
        #expect(batch.map { $0.envelope?.count } == [60, 30])
        for item in batch { mailbox.ended(item) }
        #expect(mailbox.messageCount == 11)
        #expect(mailbox.removeMessages().count == 11)
        #expect(mailbox.messageCount == 0)
        #expect(mailbox.takeAll(.letters(100), row, isFromSubtree: true), "nothing is left over from the messages before")
    }
    #endif

    @Test("All that was taken begins once, with and without envelopes, and nothing is counted then", arguments: 0..<100 as Range<UInt64>)
    func mixed(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let mailbox = Stage(MailboxPolicy(running: 2, waiting: 40, bytes: 60_000))
        var (taken, begun): ([String], [String]) = ([], [])
        func begin() {
            begun += mailbox.beginAccepted()
            for item in mailbox.takeBatch() {
                begun.append(item.word)
                mailbox.ended(item)
            }
        }
        for number in 0..<400 {
            let name = "\(number)"
            switch Int.random(in: 0..<16, using: &random) {
            case 0:
                let admission = mailbox.put(name, bytes: .random(in: 0..<4_000, using: &random), as: .short)
                if ["admitted", "delayed"].contains(admission) { taken.append(name) }
            case 1:
                mailbox.post("n" + name)
                taken.append("n" + name)
            case 2: mailbox.isPaused ? mailbox.resume() : mailbox.pause()
            case 3...5: begin()
            default: if mailbox.take(number) { taken.append(name) }
            }
            #expect(mailbox.bytes <= 60_000)
            #expect(mailbox.waitingMessages.count == mailbox.messageCount)
        }
        mailbox.resume()
        while begun.count < taken.count, mailbox.beginRun() || mailbox.isRunning { begin() }
        // A pause holds up no notice, which then comes before older messages.
        let (messages, notices) = ({ (name: String) in !name.hasPrefix("n") }, { (name: String) in name.hasPrefix("n") })
        #expect(begun.filter(messages) == taken.filter(messages) && begun.filter(notices) == taken.filter(notices))
        #expect(mailbox.messageCount == 0 && mailbox.bytes == 0 && mailbox.takenCount == 0)
    }

    @Test("A message without an envelope is taken only where it overtakes nothing, and begins before what comes later")
    func withoutEnvelope() {
        let mailbox = Stage(MailboxPolicy(running: 1, waiting: 3, bytes: 10_000))
        #expect(mailbox.take(1) && mailbox.take(2))
        mailbox.put("3", as: .short)
        #expect(!mailbox.take(4), "it would overtake the third")
        mailbox.pause()
        #expect(mailbox.beginAccepted() == [] && mailbox.waitingMessages.count == 3)
        mailbox.resume()
        #expect(mailbox.beginAccepted() == ["1", "2"])
        for item in mailbox.takeBatch() { mailbox.ended(item) }
        mailbox.pause()
        #expect(!mailbox.take(4), "a pause decides about it")
        mailbox.resume()
        mailbox.post("notice")
        #expect(!mailbox.take(4), "it would overtake the notice")
        #expect(mailbox.begin() == ["notice"])
        #expect((4...7).allSatisfy(mailbox.take) && !mailbox.take(8), "three may wait, beside the one that begins")
        #expect(mailbox.removeMessages().map(\.word) == ["Number", "Number", "Number", "Number"])
        mailbox.put("awaiting")
        let item = mailbox.takeBatch()[0]
        #expect(!mailbox.take(9), "no place is free")
        mailbox.ended(item)
        #expect(mailbox.take(10))
        mailbox.close()
        #expect(mailbox.beginAccepted() == [] && mailbox.removeAll().count == 1 && mailbox.bytes == 0)
    }

    @Test("Messages without envelopes find as much room as those with them", arguments: [(1, 1), (1, 3), (4, 2), (2, 40), (1_024, 1_024)])
    func sameRoom(running: Int, waiting: Int) {
        let policy = MailboxPolicy(running: running, waiting: waiting)
        let (with, without) = (Stage(policy), Stage(policy))
        let room = (0..<3_000).prefix { with.put("\($0)", as: .short) == "admitted" }.count
        #expect(room == running + waiting)
        #expect((0..<3_000).prefix(while: without.take).count == room)
    }

    /// A mailbox that had no room for a message without an envelope, and of which two batches have gone since.
    private static func crowded(waiting: Int, whenFull: MailboxPolicy.Overflow = .wait) -> Stage {
        let mailbox = Stage(MailboxPolicy(running: 28 + waiting, waiting: 100, whenFull: whenFull))
        #expect((0..<300).prefix(while: mailbox.take).count == 128 + waiting)
        for _ in 0..<2 { #expect(mailbox.beginAccepted().count == 64) }
        return mailbox
    }

    @Test("A sender that found no room waits for its turn until half of what may wait has gone, unless nothing waits by the policy")
    func crowd() {
        #expect(Self.crowded(waiting: 51).put("late", as: .short) == "delayed")
        #expect(Self.crowded(waiting: 51).put("late", as: .below) == "delayed")
        #expect(Self.crowded(waiting: 51).put("late", as: .interleaving) == "admitted", "it overtakes the others")
        #expect(Self.crowded(waiting: 50).put("late", as: .short) == "admitted")
        for policy in [MailboxPolicy.Overflow.fail, .dropNewest, .dropOldest] {
            #expect(Self.crowded(waiting: 51, whenFull: policy).put("late", as: .short) == "admitted")
        }
        #expect(!Self.crowded(waiting: 51).take(1), "another sender waits as well")
        #expect(Self.crowded(waiting: 50).take(1))
    }

    @Test("A mailbox that is full of bytes is crowded until half of them have gone")
    func crowdOfBytes() {
        let mailbox = Stage(MailboxPolicy(running: 100_000, waiting: 100_000, bytes: 100_000))
        let count = (0..<100_000).prefix(while: mailbox.take).count
        #expect(mailbox.beginAccepted().count == 64)
        #expect(mailbox.put("late", as: .short) == "delayed")
        for _ in 0..<(count / 2 / 64) { _ = mailbox.beginAccepted() }
        #expect(mailbox.put("later", as: .short) == "admitted")
    }

    @Test("A crowded mailbox has room as any other while it's paused, or nothing could begin in it")
    func crowdAtRest() {
        let paused = Self.crowded(waiting: 51)
        paused.pause()
        #expect((0..<49).allSatisfy { paused.put("\($0)") == "admitted" } && paused.put("late") == "delayed")
        let busy = Stage(MailboxPolicy(running: 8, waiting: 8))
        #expect((0..<20).prefix(while: busy.take).count == 16)
        for number in 0..<8 { busy.put("\(number)") }
        #expect(busy.beginAccepted().count == 16 && busy.begin().count == 8)
        #expect((0..<8).allSatisfy { busy.put("\($0)") == "admitted" }, "those that run don't wait")
    }

    @Test("A crowded mailbox forgets messages whose askers have gone")
    func crowdWithoutAskers() {
        let mailbox = Self.crowded(waiting: 90)
        for _ in 0..<1_000 {
            let ask = Envelope.letter("ask")
            #expect(mailbox.put(ask) == "delayed")
            ask.end(.failure(CancellationError()))
        }
        #expect(mailbox.messageCount < 90 + 2 * 100)
    }

    @Test("A pause delays messages, and no notice")
    func pause() {
        let mailbox = Stage(MailboxPolicy())
        mailbox.put("a")
        mailbox.pause()
        #expect(mailbox.isPaused)
        #expect(!mailbox.beginRun())
        mailbox.post("one")
        mailbox.put("b")
        mailbox.post("two")
        #expect(mailbox.beginRun())
        #expect(mailbox.begin() == ["one", "two"])
        mailbox.begin()
        mailbox.resume()
        #expect(mailbox.beginRun())
        #expect(mailbox.begin() == ["a", "b"])
    }

    @Test("A mailbox is idle when nothing waits, runs or is about to")
    func idle() {
        let mailbox = Stage(MailboxPolicy())
        #expect(mailbox.isIdle)
        mailbox.put("a")
        #expect(!mailbox.isIdle)
        _ = mailbox.beginRun()
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
        let mailbox = Stage(MailboxPolicy())
        mailbox.put("needs 1", 1, isNeeding: true)
        mailbox.put("plain", 2)
        #expect(mailbox.hasNeeding)
        #expect(mailbox.begin() == ["plain"])
        // What it needs is there by now, and those of its row that came before it still wait.
        mailbox.put("needs 2", 1)
        mailbox.put("other", 3, isNeeding: true)
        #expect(mailbox.begin().isEmpty)
        #expect(mailbox.release { $0.index == 1 ? .provided : .absent }.isEmpty)
        #expect(mailbox.hasNeeding)
        #expect(mailbox.begin() == ["needs 1", "needs 2"])
        #expect(mailbox.release { _ in .provided }.isEmpty)
        #expect(!mailbox.hasNeeding)
        #expect(mailbox.begin() == ["other"])
    }

    @Test("Whatever becomes known while messages are released, each row's are released or have what they need read")
    func needsChange() {
        let mailbox = Stage(MailboxPolicy())
        for number in 1...3 { mailbox.put("needs \(number)", 1, isNeeding: true) }
        mailbox.put("other", 2, isNeeding: true)
        // A coordinator of another tree learns meanwhile that all is there.
        var questions = 0
        let unread = mailbox.release { _ in
            questions += 1
            return questions == 1 ? .unread : .provided
        }
        #expect(questions == 2 && unread.count == 1)
        #expect(mailbox.begin() == ["other"])
        #expect(mailbox.release { _ in .provided }.isEmpty)
        #expect(mailbox.begin() == ["needs 1", "needs 2", "needs 3"])
    }

    @Test("A message that waits for a dependency takes room")
    func needsAreBounded() {
        let mailbox = Stage(MailboxPolicy(running: 1, waiting: 2, whenFull: .fail))
        mailbox.put("needs 1", 1, isNeeding: true)
        mailbox.put("needs 2", 1, isNeeding: true)
        #expect(mailbox.put("needs 3", 1, isNeeding: true) == "refused")
        #expect([mailbox.put("plain", 2), mailbox.put("plain", 2)] == ["admitted", "refused"])
    }

    // MARK: Policies

    @Test(
        "A message without room waits with its sender, is refused or is dropped, as the policy says",
        arguments: [(MailboxPolicy.Overflow.wait, 1, "delayed"), (.fail, 2, "refused"), (.dropNewest, 1, "dropped")]
    )
    func whenFull(_ overflow: MailboxPolicy.Overflow, waiting: Int, outcome: String) {
        let mailbox = Stage(MailboxPolicy(running: 1, waiting: waiting, whenFull: overflow))
        let admissions = (0..<waiting + 3).map { mailbox.put("\($0)") }
        #expect(admissions == Array(repeating: "admitted", count: waiting + 1) + [outcome, outcome])
        #expect(mailbox.messageCount == (overflow == .wait ? 4 : waiting + 1))
        #expect(mailbox.begin() == ["0"])
        #expect(mailbox.put("late") == outcome)
    }

    @Test("A pause leaves room for as many messages as may wait")
    func pausedRoom() {
        let mailbox = Stage(MailboxPolicy(running: 8, waiting: 2, whenFull: .fail))
        mailbox.pause()
        #expect((0..<3).map { mailbox.put("\($0)") } == ["admitted", "admitted", "refused"])
    }

    @Test("The policy dropOldest drops the oldest messages, including those that wait for a dependency")
    func dropOldest() {
        let mailbox = Stage(MailboxPolicy(running: 1, waiting: 1, whenFull: .dropOldest))
        mailbox.put("needs", 1, isNeeding: true)
        #expect(mailbox.put("a") == "admitted")
        #expect(mailbox.begin() == ["a"])
        // It runs, and can't be dropped; what waits for something can.
        #expect(mailbox.put("b") == "instead of needs")
        #expect(mailbox.put("c") == "instead of b")
    }

    @Test("The policy dropOldest drops until the new message fits, and no more")
    func dropOldestByBytes() {
        let mailbox = Stage(MailboxPolicy(bytes: 4 * (640 + 100), whenFull: .dropOldest))
        for word in ["a", "b", "c", "d"] { mailbox.put(word, bytes: 100) }
        #expect(mailbox.put("large", bytes: 400) == "instead of a b")
        #expect(mailbox.begin() == ["c", "d", "large"])
    }

    @Test("The policy dropOldest drops the new message where all others run already")
    func dropOldestOfRunning() {
        let mailbox = Stage(MailboxPolicy(bytes: 2 * 640, whenFull: .dropOldest))
        mailbox.put("a")
        mailbox.put("b")
        mailbox.begin()
        #expect(mailbox.put("c") == "dropped")
    }

    @Test("The policy dropOldest drops nothing for a message that has no room beside those that run")
    func dropOldestInVain() {
        let mailbox = Stage(MailboxPolicy(running: 1, bytes: 2_000, whenFull: .dropOldest))
        mailbox.put("a", bytes: 500)
        let running = mailbox.takeBatch()
        #expect(mailbox.put("b", bytes: 100) == "admitted")
        #expect(mailbox.put("large", bytes: 800) == "dropped")
        for item in running { mailbox.ended(item) }
        #expect(mailbox.begin() == ["b"])
    }

    @Test("A message that is larger than the whole limit is accepted when the mailbox is empty")
    func larger() {
        let mailbox = Stage(MailboxPolicy(bytes: 300, whenFull: .fail))
        #expect([mailbox.put("large", bytes: 10_000), mailbox.put("small")] == ["admitted", "refused"])
        #expect(mailbox.begin() == ["large"])
    }

    @Test("Messages whose askers have gone free their room")
    func withdrawn() {
        let mailbox = Stage(MailboxPolicy(running: 1, waiting: 3, whenFull: .fail))
        let letters = (0..<4).map { Envelope.letter("\($0)") }
        for letter in letters { mailbox.put(letter) }
        letters[0].end(.failure(CancellationError()))
        letters[2].end(.failure(CancellationError()))
        #expect(["a", "b", "c"].map { mailbox.put($0) } == ["admitted", "admitted", "refused"])
        #expect(mailbox.messageCount == 4)
        #expect(mailbox.begin() == ["1"])
    }

    @Test("A one-way message that was accepted isn't withdrawn by that")
    func taken() {
        let mailbox = Stage(MailboxPolicy(running: 1, waiting: 1, whenFull: .fail))
        let letter = Envelope.letter("sent", isOneWay: true)
        mailbox.put(letter)
        letter.complete(.success(.none))
        #expect([mailbox.put("second"), mailbox.put("third")] == ["admitted", "refused"])
        #expect(mailbox.begin() == ["sent"])
    }

    // MARK: Asks in their askers' tasks

    private let low = TaskPriority.low.rawValue
    private let medium = TaskPriority.medium.rawValue
    private let high = TaskPriority.high.rawValue

    #if !SLOW_PATH_ONLY
    @Test("Asks in their askers' tasks count as messages, and hold back all others until the last has begun")
    func reservations() {
        let mailbox = Stage(MailboxPolicy(running: 1, waiting: 1, whenFull: .fail))
        #expect((0..<3).map { _ in mailbox.reserve(1, medium) } == [true, true, false])
        #expect(mailbox.put("full") == "refused")
        mailbox.endReservation(1)
        #expect(mailbox.put("waits") == "admitted")
        #expect((mailbox.beginRun(), mailbox.reserve(1, medium)) == (false, false))
        mailbox.endReservation(1)
        #expect(mailbox.beginRun())
    }

    @Test("Asks of tasks of different priorities don't overtake one another")
    func priorities() {
        let mailbox = Stage(MailboxPolicy(waiting: 4, bytes: 100, whenFull: .wait))
        #expect([(60, low), (1, high), (60, low), (40, low)].map { mailbox.reserve($0, $1) } == [true, false, false, true])
        mailbox.endReservation(60)
        mailbox.endReservation(40)
        #expect(mailbox.reserve(200, high), "one may have any size")
    }
    #endif

    // MARK: Running

    @Test("As many messages run as the policy says")
    func running() {
        let mailbox = Stage(MailboxPolicy(running: 2, waiting: 2, whenFull: .wait))
        for number in 0..<5 { mailbox.put("\(number)") }
        let batch = mailbox.takeBatch()
        #expect(batch.map(\.word) == ["0", "1"])
        mailbox.begin()
        mailbox.ended(batch[1])
        #expect(mailbox.beginRun())
        #expect(mailbox.takeBatch().map(\.word) == ["2"])
        #expect(mailbox.messageCount == 4)
        // Notices aren't counted.
        mailbox.post("notice")
        #expect(mailbox.begin() == ["notice"])
    }

    @Test("The bytes of running messages are bounded, and one alone may always run")
    func runningBytes() {
        let mailbox = Stage(MailboxPolicy(bytes: 1_000, whenFull: .wait))
        for word in ["a", "b", "huge"] { mailbox.put(word, bytes: word == "huge" ? 5_000 : 344) }
        for word in ["a", "b", "huge"] {
            let batch = mailbox.takeBatch()
            #expect(batch.map(\.word) == [word])
            #expect(mailbox.begin().isEmpty)
            for item in batch { mailbox.ended(item) }
        }
        #expect(mailbox.messageCount == 0)
    }

    // MARK: One at a time

    @Test("A serial coordinator begins a message when the former has ended; bodies that don't await begin one after the other")
    func serial() {
        let mailbox = Stage(MailboxPolicy(running: 1))
        for (word, kind) in [("a", Kind.short), ("b", .short), ("c", .plain), ("d", .short), ("e", .plain)] { mailbox.put(word, as: kind) }
        let first = mailbox.takeBatch()
        #expect(first.map(\.word) == ["a", "b", "c"])
        mailbox.ended(first[0])
        mailbox.ended(first[1])
        #expect(mailbox.begin().isEmpty)
        mailbox.ended(first[2])
        #expect(mailbox.beginRun())
        #expect(mailbox.begin() == ["d", "e"])
    }

    @Test("Messages of the subtree begin while a handler waits for others, and only then")
    func subtree() {
        let mailbox = Stage(MailboxPolicy(running: 1))
        mailbox.put("a")
        let first = mailbox.takeBatch()
        mailbox.put("from above")
        mailbox.put("from below 1", as: .below)
        mailbox.put("from below 2", as: .below)
        #expect(mailbox.begin().isEmpty)
        mailbox.handlerWaits()
        #expect(mailbox.beginRun())
        let besides = mailbox.takeBatch()
        #expect(besides.map(\.word) == ["from below 1", "from below 2"])
        mailbox.handlerWaitsNoMore()
        mailbox.put("from below 3", as: .below)
        for item in first + besides.dropLast() { mailbox.ended(item) }
        // One that has begun besides takes a place too.
        #expect(mailbox.begin().isEmpty)
        mailbox.ended(besides[1])
        let next = mailbox.takeBatch()
        #expect(next.map(\.word) == ["from above"])
        mailbox.ended(next[0])
        #expect(mailbox.begin() == ["from below 3"])
    }

    @Test("Messages of the subtree keep to the bytes, unless every handler waits for others and none will make room")
    func subtreeBytes() {
        let mailbox = Stage(MailboxPolicy(running: 1, bytes: 2 * (640 + 1_000)))
        mailbox.put("asks", bytes: 1_000)
        let asks = mailbox.takeBatch()
        for number in 1...3 { mailbox.put("from below \(number)", bytes: 1_000, as: .below) }
        mailbox.handlerWaits()
        let besides = mailbox.takeBatch()
        #expect(besides.map(\.word) == ["from below 1"])
        // The first from below waits too: the second may be what both wait for.
        mailbox.handlerWaits()
        #expect(mailbox.begin() == ["from below 2"])
        mailbox.ended(besides[0])
        mailbox.handlerWaitsNoMore()
        #expect(mailbox.begin().isEmpty)
        mailbox.ended(asks[0])
        mailbox.handlerWaitsNoMore()
        #expect(mailbox.messageCount == 2)
    }

    @Test(
        "A message for which handlers wait begins though they have all of the bytes, however many handlers may run",
        arguments: [1, 1_024]
    )
    func subtreeBesidesLarge(running: Int) {
        for sizes in [[4_000], Array(repeating: 62, count: 64), [1_000, 1_000, 1_500]] {
            let mailbox = Stage(MailboxPolicy(running: max(running, sizes.count), bytes: 4_000 + 640 * sizes.count))
            for size in sizes { mailbox.put("asks", bytes: size) }
            #expect(mailbox.takeBatch().count == sizes.count)
            for _ in 0..<mailbox.observedCount { mailbox.handlerWaits() }
            mailbox.put("asks back", bytes: 2_500, as: .below)
            mailbox.put("from above", bytes: 2_500)
            #expect(mailbox.begin() == ["asks back"], "\(sizes)")
            mailbox.put("interleaves", bytes: 2_500, as: .interleaving)
            #expect(mailbox.begin() == ["interleaves"], "\(sizes)")
        }
    }

    @Test("A message of the subtree that may begin is taken by a mailbox that is full")
    func subtreeAndFull() {
        let mailbox = Stage(MailboxPolicy(running: 1, waiting: 1, whenFull: .fail))
        mailbox.put("a")
        mailbox.begin()
        #expect([mailbox.put("b"), mailbox.put("c"), mailbox.put("early", as: .below)] == ["admitted", "refused", "refused"])
        mailbox.handlerWaits()
        #expect(mailbox.put("asks back", as: .below) == "admitted")
        #expect(mailbox.begin() == ["asks back"])
    }

    @Test("Messages of rows that interleave begin though others run, up to a bound of their own, and hold back no other")
    func interleaving() {
        let mailbox = Stage(MailboxPolicy(running: 1))
        for number in 0..<(Mailbox.interleavingLimit + 1) { mailbox.put("\(number)", as: .interleaving) }
        mailbox.put("a")
        mailbox.put("b")
        var begun: [Mailbox.Item] = []
        while case let batch = mailbox.takeBatch(), !batch.isEmpty { begun += batch }
        #expect(begun.count == Mailbox.interleavingLimit + 1)
        #expect(begun.last?.word == "a")
        mailbox.ended(begun[0])
        #expect(mailbox.begin() == ["\(Mailbox.interleavingLimit)"])
        mailbox.pause()
        mailbox.put("paused", as: .interleaving)
        mailbox.ended(begun[1])
        #expect(mailbox.begin().isEmpty)
        #expect(mailbox.removeMessages().map(\.word) == ["b", "paused"])
    }

    @Test("Waiting messages are taken out in the order of their arrival, whatever they wait for")
    func removalInOrder() {
        let mailbox = Stage(MailboxPolicy(running: 1))
        mailbox.put("running")
        mailbox.begin()
        mailbox.pause()
        for (word, kind) in [("a", Kind.below), ("b", .plain), ("c", .interleaving), ("d", .below)] { mailbox.put(word, as: kind) }
        #expect(mailbox.removeMessages().map(\.word) == ["a", "b", "c", "d"])
        #expect(mailbox.messageCount == 1)
    }

    @Test("A message for an inline row waits in the mailbox while it's paused, and while an earlier one does")
    func inline() {
        let mailbox = Stage(MailboxPolicy())
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
        let mailbox = Stage(MailboxPolicy())
        mailbox.put("running")
        let batch = mailbox.takeBatch()
        mailbox.put("a")
        mailbox.put("needs", 1, isNeeding: true)
        mailbox.post("notice")
        mailbox.close()
        #expect(!mailbox.beginRun())
        #expect(mailbox.begin().isEmpty)
        #expect(mailbox.removeAll().map(\.word) == ["a", "needs", "notice"])
        #expect(mailbox.messageCount == 1)
        for item in batch { mailbox.ended(item) }
        #expect(mailbox.messageCount == 0)
    }

    @Test("Messages can be taken out without the notices")
    func removeMessages() {
        let mailbox = Stage(MailboxPolicy())
        mailbox.put("a")
        mailbox.post("notice")
        mailbox.put("needs", 1, isNeeding: true)
        #expect(mailbox.removeMessages().map(\.word) == ["a", "needs"])
        #expect(mailbox.messageCount == 0)
        #expect(mailbox.begin() == ["notice"])
    }

    @Test("Events beyond their limit are dropped, the oldest first, and no other notice is")
    func events() {
        let cell = CoordinatorCell(
            type: .of(Listener.self),
            configuration: .none,
            path: "/a",
            incarnation: 1,
            parent: nil,
            runtime: RuntimeCore(CoordinatorRuntime.Options()),
            startTimeout: .seconds(1)
        )
        let child = AnyChild(supervisor: ChildSupervisor(cell: cell), key: "b", typeName: "B")
        let mailbox = Stage(MailboxPolicy())
        #expect(mailbox.append(.lifecycle(child, .paused)).isEmpty)
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
        #expect(mailbox.begin().first == "lifecycle")
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

/// A mailbox whose changes may be part of an expectation.
@dynamicMemberLookup
private final class Stage {
    private var mailbox: Mailbox
    /// The messages whose handlers say when they wait, and those whose handlers don't.
    private var observed: Set<ObjectIdentifier> = []
    private var unobserved: Set<ObjectIdentifier> = []

    init(_ policy: MailboxPolicy) { mailbox = Mailbox(Box(policy)) }

    var observedCount: Int { observed.count }

    subscript<Value>(dynamicMember property: KeyPath<Mailbox, Value>) -> Value { mailbox[keyPath: property] }

    @discardableResult
    func put(_ name: String, _ index: Int = 0, bytes: Int = 0, as kind: Kind = .plain, isNeeding: Bool = false) -> String {
        put(.letter(name, bytes: bytes), index, as: kind, isNeeding: isNeeding)
    }

    @discardableResult
    func put(_ envelope: Envelope, _ index: Int = 0, as kind: Kind = .plain, isNeeding: Bool = false) -> String {
        switch mailbox.enqueue(envelope, kind.row(index), isFromSubtree: kind == .below, isNeeding: isNeeding) {
        case .admitted: return "admitted"
        case .delayed: return "delayed"
        case .instead(let oldest): return "instead of " + oldest.map { $0.0.body.name }.joined(separator: " ")
        case .refused: return "refused"
        case .dropped: return "dropped"
        }
    }

    func post(_ name: String) { _ = append(.unhandled(UnhandledMessage(name: name, sender: "/sender"))) }

    /// Takes the items that begin now, as words.
    @discardableResult
    func begin() -> [String] { takeBatch().map(\.word) }

    func append(_ item: Mailbox.Item) -> [Mailbox.Item] { mailbox.append(item) }
    #if !SLOW_PATH_ONLY
    func takeAll(_ envelope: Envelope, _ row: MessageRow, isFromSubtree: Bool = false) -> Bool {
        mailbox.takeAll(envelope, row, isFromSubtree: isFromSubtree)
    }
    #endif
    /// Takes the items that begin now; those that await become handlers.
    func takeBatch() -> [Mailbox.Item] {
        let batch = mailbox.takeBatch()
        for item in batch {
            guard case .message(let envelope, let row) = item, row.immediate == nil else { continue }
            let id = ObjectIdentifier(envelope)
            if mailbox.observesHandler(of: item) { observed.insert(id) } else { unobserved.insert(id) }
        }
        return batch
    }

    private struct Number: ResponderMessage {
        static let name = "Number"
        var number: Int
    }

    private static let row = Kind.short.row(0)

    func take(_ number: Int) -> Bool {
        let size = Envelope.size(of: Number.self)
        return mailbox.take(AcceptedMessage(body: Number(number: number), sender: "/sender", size: size, row: Self.row), of: size)
    }

    /// Begins and ends the messages without envelopes.
    func beginAccepted() -> [String] {
        var messages: AcceptedMessages.Batch = []
        mailbox.takeAccepted(into: &messages)
        var tally = Mailbox.Tally()
        for message in messages { tally.add(message.size) }
        mailbox.forget(tally)
        return messages.map { "\(($0.body as? Number)?.number ?? -1)" }
    }
    func ended(_ item: Mailbox.Item) {
        mailbox.ended(item, wasUnobserved: item.envelope.map { unobserved.remove(ObjectIdentifier($0)) != nil } ?? false)
    }
    func beginRun() -> Bool { mailbox.beginRun() }
    #if !SLOW_PATH_ONLY
    func reserve(_ size: Int, _ priority: UInt8) -> Bool { mailbox.reserve(size, priority) }
    func endReservation(_ size: Int) { mailbox.endReservation(size) }
    #endif
    func release(by standing: (MessageRow) -> MessageRow.Needs.Standing) -> [MessageRow.Needs] { mailbox.release(by: standing) }
    func removeMessages() -> [Mailbox.Item] { mailbox.removeMessages() }
    func removeAll() -> [Mailbox.Item] { mailbox.removeAll() }
    func handlerWaits() { mailbox.handlerWaits() }
    func handlerWaitsNoMore() { mailbox.handlerWaitsNoMore() }
    func pause() { mailbox.pause() }
    func resume() { mailbox.resume() }
    func close() { mailbox.close() }
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
