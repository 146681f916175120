import Acknowledgement
import SimulationSupport
import Supervision

/// Senders and receivers with a process between them, whose links are lost and whose processes die.
///
/// What each process keeps, and in which order it sends, is this world's; the identities, the numbers and the memory of receivers are real.
package final class AcknowledgementWorld: SimulatedWorld {
    package static let flag = "--acknowledgements"

    /// The end of a message, as its sender learns it.
    enum End: Hashable {
        case handled
        case failed(maybeHandled: Bool)
    }

    struct Message {
        let sender: Int
        let receiver: Int
        var end: End?
        /// The life of the receiver that has handled the message.
        var handledBy: Int?
        /// Whether a transmission was refused on its way.
        var wasRefused = false
    }

    /// A message that the process between keeps until it's answered.
    struct Copy {
        let message: Int
        var delivery: Delivery
        /// The link by which the message has come.
        let link: Int
    }

    struct Sender {
        var numbers = SequenceFloor()
        var deliveries: [Int: Delivery] = [:]
        var way = Way()
    }

    /// What waits for a link, and what has left on it and isn't answered.
    struct Way {
        var kept: [Int] = []
        var left: [Int] = []
        /// The number of the link, which none before or after it has; `nil` while there is none.
        var link: Int?
        /// The time of the latest arrival in each direction: nothing overtakes on a link.
        var latest = (down: 0, up: 0)

        mutating func remove(_ item: Int) {
            kept.removeAll { $0 == item }
            left.removeAll { $0 == item }
        }
    }

    final class Taken {
        var arrivals: [(link: Int, copy: Int)] = []
        var end: End?
    }

    /// A life of a receiver, in a process of its own, and what the process between knows of it.
    struct Life {
        let receiver: Int
        var taken: TakenMessages<Taken>
        var isAlive = true
        /// The message of each sender that has begun last.
        var began: [Int: Int] = [:]
        /// The link that the life reads: what has left on it arrives even when the process between is dead.
        var reads: Int?

        // Of the process between.
        /// The link on which messages leave; `nil` while there is none.
        var link: Int?
        /// The messages that have left and aren't answered.
        var left: [Int] = []
        var latest = (down: 0, up: 0)
        /// The time at which the life took its predecessor's place; `nil`: it hasn't.
        var place: Duration?
        var record = Record.none
    }

    /// What a next process between finds of a life.
    enum Record: Equatable {
        /// Nothing: the life is ended.
        case none
        /// It's the life to go on with, beside a former one.
        case beside
        /// It's the receiver's only life, and has had the place since then.
        case alone(since: Duration)
    }

    /// What the process between knows of a receiver.
    struct Seat {
        /// The life that gets messages; `nil`: the next one hasn't begun.
        var present: Int?
        /// The life that has begun beside the present one.
        var successor: Int?
        /// The life that finishes what it has taken beside the present one.
        var former: Int?
        var kept: [Int] = []
    }

    /// What is going to happen.
    enum Event {
        case connectSender(Int)
        case connect(life: Int)
        case reachRoot(sender: Int, link: Int, message: Int, DeliveryLabel)
        case reachLife(Int, link: Int, copy: Int, message: Int, DeliveryLabel)
        case endHandler(life: Int, DeliveryLabel, Taken)
        case answerRoot(life: Int, link: Int, copy: Int, End)
        case answerSender(Int, link: Int, message: Int, End)
        case beginLife(receiver: Int)
        case record(successor: Int)
        case takePlace(successor: Int)
        case endLife(Int)
    }

    private let scenario: AcknowledgementScenario
    private let fault: AcknowledgementFault?
    private let recordsTrace: Bool
    package private(set) var trace: [String] = []
    package private(set) var events = 0
    private var chance: SplitMix64
    private var agenda = Agenda<Event>()
    private var time = 1

    private var messages: [Message] = []
    private var senders = (0..<AcknowledgementScenario.senders).map { _ in Sender() }
    private var lives: [Life] = []
    private var links = 0
    /// Whether receivers refuse messages now and then.
    private var refuses = true

    // The process between.
    private var copies: [Int: Copy] = [:]
    private var copyCount = 0
    private var seats = (0..<AcknowledgementScenario.receivers).map { _ in Seat() }

    /// Creates the world of a scenario, with a fault planted in it or none.
    package init(_ scenario: AcknowledgementScenario, _ fault: AcknowledgementFault?, recordsTrace: Bool) {
        self.scenario = scenario
        self.fault = fault
        self.recordsTrace = recordsTrace
        chance = SplitMix64(seed: scenario.seed ^ 0xAC)
        for receiver in seats.indices { beginLife(receiver) }
        for sender in senders.indices { connectSender(sender) }
    }

    private var now: Duration { .milliseconds(time) }

    private func note(_ text: @autoclosure () -> String) {
        if recordsTrace { trace.append("\(time): \(AcknowledgementViolation.plain(text()))") }
    }

    // MARK: - The course

    package func run() throws(AcknowledgementViolation) {
        for step in scenario.steps {
            note("step \(step.number): \(step.action)")
            perform(step.action)
            try goOn(until: time + chance.one(of: [0, 2, 5, 20]))
        }
        try goOn(until: nil)
        if let open = messages.indices.first(where: { messages[$0].end == nil }) {
            throw AcknowledgementViolation(.ends, "message \(open) has no end")
        }
        // The next message of each sender tells how far the ends have come.
        refuses = false
        for sender in senders.indices { for receiver in seats.indices { send(sender, receiver) } }
        try goOn(until: nil)
        for life in lives where life.isAlive && life.taken.remembered > senders.count {
            throw AcknowledgementViolation(.forgotten, "receiver \(life.receiver) remembers \(life.taken.remembered) messages")
        }
    }

    private func perform(_ action: AcknowledgementScenario.Action) {
        switch action {
        case .send(let sender, let receiver, let count): for _ in 0..<count { send(sender, receiver) }
        case .giveUp(let sender):
            if let message = messages.indices.first(where: { messages[$0].sender == sender && messages[$0].end == nil }) {
                end(message, .failed(maybeHandled: true))
            }
        case .loseSender(let sender): if senders[sender].way.link != nil { loseSender(sender) }
        case .loseReceiver(let receiver): if let life = seats[receiver].present, lives[life].link != nil { loseLink(of: life) }
        case .killReceiver(let receiver): if let life = seats[receiver].present { kill(life) }
        case .loseFormer(let receiver): if let life = seats[receiver].former, lives[life].link != nil { loseLink(of: life) }
        case .killFormer(let receiver): if let life = seats[receiver].former { kill(life) }
        case .replace(let receiver): replace(receiver)
        case .killRoot: killRoot()
        case .goOn: break
        }
    }

    /// Lets happen what is going to happen, until a time or until nothing is left.
    private func goOn(until end: Int?) throws(AcknowledgementViolation) {
        while let (moment, event) = agenda.next(until: end ?? .max) {
            time = max(time, moment)
            events += 1
            switch event {
            case .connectSender(let sender): if senders[sender].way.link == nil { connectSender(sender) }
            case .connect(let life): if lives[life].link == nil, lives[life].isAlive { connect(life) }
            case .reachRoot(let sender, let link, let message, let label): reachRoot(sender, link, message, label)
            case .reachLife(let life, let link, let copy, let message, let label): try reach(life, link, copy, message, label)
            case .endHandler(let life, let label, let taken): endHandler(life, label, taken)
            case .answerRoot(let life, let link, let copy, let end): if lives[life].link == link { answer(copy, end) }
            case .answerSender(let sender, let link, let message, let end):
                if senders[sender].way.link == link { try hear(message, end) }
            case .beginLife(let receiver): if seats[receiver].present == nil { beginLife(receiver) }
            case .record(let life):
                guard seats[lives[life].receiver].successor == life else { break }
                lives[life].record = .beside
                later(.takePlace(successor: life))
            case .takePlace(let life): if seats[lives[life].receiver].successor == life { takePlace(life) }
            case .endLife(let life): lives[life].isAlive = false
            }
            if events == scenario.rootDeath { killRoot() }
        }
        time = max(time, end ?? time) + 1
    }

    private func later(_ event: Event) { agenda.add(event, at: time + Int.random(in: 1...chance.one(of: [2, 10, 40]), using: &chance)) }

    /// Sends something on a link, on which nothing overtakes.
    private func pass(_ event: Event, after latest: inout Int) {
        latest = max(latest, time + Int.random(in: 1...4, using: &chance))
        agenda.add(event, at: latest)
    }

    // MARK: - A sender's process

    private func send(_ sender: Int, _ receiver: Int) {
        messages.append(Message(sender: sender, receiver: receiver))
        let message = messages.count - 1
        note("  \(sender) sends message \(message) to \(receiver)")
        senders[sender].deliveries[message] = Delivery()
        senders[sender].way.kept.append(message)
        sendKept(sender)
    }

    private func connectSender(_ sender: Int) {
        links += 1
        senders[sender].way.link = links
        sendKept(sender)
    }

    private func sendKept(_ sender: Int) {
        guard let link = senders[sender].way.link else { return }
        let kept = senders[sender].way.kept
        for message in fault == .sendsBackwards ? kept.reversed() : kept {
            guard var delivery = senders[sender].deliveries[message] else { continue }
            let label = delivery.depart(at: now, from: UInt64(sender) + 1, &senders[sender].numbers)
            senders[sender].deliveries[message] = delivery
            senders[sender].way.left.append(message)
            pass(.reachRoot(sender: sender, link: link, message: message, label), after: &senders[sender].way.latest.down)
        }
        senders[sender].way.kept = []
    }

    private func loseSender(_ sender: Int) {
        note("  the link of sender \(sender) is lost")
        let left = senders[sender].way.left
        for message in left where fault != .hidesTransmissions { senders[sender].deliveries[message]?.linkBelowWasLost() }
        senders[sender].way.kept = returned(left) + senders[sender].way.kept
        senders[sender].way.left = []
        // The process between goes on with what has come.
        if let link = senders[sender].way.link {
            for (number, copy) in copies where copy.link == link { copies[number]?.delivery.linkAboveWasLost(after: now) }
        }
        senders[sender].way.link = nil
        later(.connectSender(sender))
    }

    /// What a lost link gives back.
    private func returned(_ left: [Int]) -> [Int] { fault == .forgetsMessages ? [] : left }

    private func hear(_ message: Int, _ told: End) throws(AcknowledgementViolation) {
        guard messages[message].end == nil else { return }
        var told = told
        let doubts = fault != .promisesTooMuch && senders[messages[message].sender].deliveries[message]?.mayBeHandled == true
        if case .failed = told, doubts { told = .failed(maybeHandled: true) }
        end(message, told)
        switch told {
        case .handled:
            if messages[message].handledBy == nil {
                throw AcknowledgementViolation(.acknowledged, "message \(message) was acknowledged, and not handled")
            }
        case .failed(maybeHandled: false):
            if messages[message].handledBy != nil {
                throw AcknowledgementViolation(.notHandled, "message \(message) was handled, and its sender was told that it wasn't")
            }
        case .failed(maybeHandled: true): break
        }
    }

    private func end(_ message: Int, _ end: End) {
        note("  message \(message) ends: \(end)")
        messages[message].end = end
        let sender = messages[message].sender
        let sequence = senders[sender].deliveries.removeValue(forKey: message)?.label.sequence ?? 0
        if sequence != 0, fault != .neverSettles { senders[sender].numbers.settle(sequence) }
        senders[sender].way.remove(message)
    }

    // MARK: - The process between

    private func reachRoot(_ sender: Int, _ link: Int, _ message: Int, _ label: DeliveryLabel) {
        guard senders[sender].way.link == link else { return }
        copyCount += 1
        copies[copyCount] = Copy(message: message, delivery: Delivery(label), link: link)
        seats[messages[message].receiver].kept.append(copyCount)
        if fault == .acknowledgesEarly { tell(sender, link, message, .handled) }
        // Where there is no room, a message is refused on its way; should the refusal be lost, a later transmission may come out of order.
        if refuses, chance.oneIn(32) {
            messages[message].wasRefused = true
            return answer(copyCount, .failed(maybeHandled: false))
        }
        relayKept(messages[message].receiver)
    }

    private func connect(_ life: Int) {
        links += 1
        (lives[life].link, lives[life].reads) = (links, links)
        relayKept(lives[life].receiver)
    }

    private func relayKept(_ receiver: Int) {
        guard let life = seats[receiver].present, let link = lives[life].link else { return }
        for number in seats[receiver].kept {
            guard var copy = copies[number] else { continue }
            var label = copy.delivery.depart(at: now)
            if let place = lives[life].place, fault != .countsFromBirth { label.goesToLife(since: place) }
            copies[number] = copy
            lives[life].left.append(number)
            let event = Event.reachLife(life, link: link, copy: number, message: copy.message, label)
            pass(event, after: &lives[life].latest.down)
        }
        seats[receiver].kept = []
    }

    private func loseLink(of life: Int) {
        note("  the link of life \(life) is lost")
        let left = lives[life].left
        for copy in left where fault != .hidesTransmissions { copies[copy]?.delivery.linkBelowWasLost() }
        let receiver = lives[life].receiver
        seats[receiver].kept = returned(left) + seats[receiver].kept
        (lives[life].left, lives[life].link, lives[life].reads) = ([], nil, nil)
        later(.connect(life: life))
        relayKept(receiver)
        endFormer(of: receiver)
    }

    private func answer(_ number: Int, _ told: End) {
        guard let copy = copies.removeValue(forKey: number) else { return }
        let message = messages[copy.message]
        seats[message.receiver].kept.removeAll { $0 == number }
        for life in lives.indices where lives[life].receiver == message.receiver { lives[life].left.removeAll { $0 == number } }
        var told = told
        if case .failed = told, copy.delivery.mayBeHandled, fault != .promisesTooMuch { told = .failed(maybeHandled: true) }
        if senders[message.sender].way.link == copy.link { tell(message.sender, copy.link, copy.message, told) }
        endFormer(of: message.receiver)
    }

    private func tell(_ sender: Int, _ link: Int, _ message: Int, _ end: End) {
        pass(.answerSender(sender, link: link, message: message, end), after: &senders[sender].way.latest.up)
    }

    // MARK: - Lives

    private func newLife(of receiver: Int) -> Int {
        lives.append(Life(receiver: receiver, taken: TakenMessages(since: now)))
        connect(lives.count - 1)
        return lives.count - 1
    }

    private func beginLife(_ receiver: Int) {
        let life = newLife(of: receiver)
        (lives[life].place, lives[life].record) = (now, .alone(since: now))
        seats[receiver].present = life
        relayKept(receiver)
    }

    /// Begins the next life beside the present one, which gets the messages until the next one takes its place.
    private func replace(_ receiver: Int) {
        guard seats[receiver].present != nil, seats[receiver].successor == nil, seats[receiver].former == nil else { return }
        let life = newLife(of: receiver)
        note("  life \(life) of receiver \(receiver) begins beside the present one")
        seats[receiver].successor = life
        later(.record(successor: life))
    }

    private func takePlace(_ life: Int) {
        let receiver = lives[life].receiver
        note("  life \(life) takes its place")
        lives[life].place = now
        seats[receiver].former = seats[receiver].present
        (seats[receiver].present, seats[receiver].successor) = (life, nil)
        if seats[receiver].former == nil { lives[life].record = .alone(since: now) }
        relayKept(receiver)
        endFormer(of: receiver)
    }

    /// Ends a former life that has finished what it has taken; its successor is the only one then.
    private func endFormer(of receiver: Int) {
        guard let former = seats[receiver].former, lives[former].left.isEmpty, let present = seats[receiver].present else { return }
        note("  life \(former) has finished")
        seats[receiver].former = nil
        later(.endLife(former))
        if let place = lives[present].place { lives[present].record = .alone(since: place) }
    }

    private func kill(_ life: Int) {
        let receiver = lives[life].receiver
        note("  receiver \(receiver) is killed in life \(life)")
        // What has left may have been handled; the rest waits for the next life.
        let left = lives[life].left
        (lives[life].isAlive, lives[life].left, lives[life].link) = (false, [], nil)
        for copy in left { answer(copy, .failed(maybeHandled: true)) }
        guard seats[receiver].present == life else { return endFormer(of: receiver) }
        seats[receiver].present = nil
        guard let successor = seats[receiver].successor else { return later(.beginLife(receiver: receiver)) }
        later(.takePlace(successor: successor))
    }

    /// Has the process between die, and the next one adopt what the former one has recorded.
    private func killRoot() {
        note("  the process between is killed")
        copies = [:]
        for receiver in seats.indices {
            let seat = seats[receiver]
            seats[receiver] = Seat()
            for life in [seat.present, seat.successor, seat.former].compactMap(\.self) {
                (lives[life].link, lives[life].left) = (nil, [])
                // What isn't adopted still handles what it has read.
                guard lives[life].isAlive, life == adopted(of: seat) else { later(.endLife(life)); continue }
                seats[receiver].present = life
                // The place may have been taken at any time before, if it was at all.
                let place = if case .alone(let since) = lives[life].record { since } else { now }
                lives[life].place = fault == .forgetsPlaces ? nil : place
                lives[life].record = .alone(since: place)
                later(.connect(life: life))
            }
            if seats[receiver].present == nil { later(.beginLife(receiver: receiver)) }
        }
        for sender in senders.indices where senders[sender].way.link != nil { loseSender(sender) }
    }

    /// The life that the next process between goes on with.
    private func adopted(of seat: Seat) -> Int? {
        let recorded = [seat.successor, seat.present].compactMap(\.self).filter { lives[$0].isAlive && lives[$0].record != .none }
        return recorded.first { lives[$0].record == .beside } ?? recorded.first
    }

    // MARK: - A receiver's process

    private func reach(_ life: Int, _ link: Int, _ copy: Int, _ message: Int, _ label: DeliveryLabel) throws(AcknowledgementViolation) {
        guard lives[life].isAlive, lives[life].reads == link else { return }
        let new = Taken()
        switch lives[life].taken.admit(label, now: now, make: { new }) {
        case .new:
            new.arrivals = [(link, copy)]
            // A refusal is remembered as any other end: a message that comes again must not overtake those that came after it.
            if refuses, chance.oneIn(16) { return endHandler(life, label, new, .failed(maybeHandled: false)) }
            try begin(life, message)
            later(.endHandler(life: life, label, new))
        case .known(let taken):
            if fault == .handlesTwice { try begin(life, message) }
            if let end = taken.end { reply(life, link, copy, end) } else { taken.arrivals.append((link, copy)) }
        case .uncertain:
            reply(life, link, copy, .failed(maybeHandled: true))
        }
    }

    private func begin(_ life: Int, _ message: Int) throws(AcknowledgementViolation) {
        note("  message \(message) is handled by life \(life)")
        if let other = messages[message].handledBy {
            throw AcknowledgementViolation(.once, "message \(message) is handled by lives \(other) and \(life)")
        }
        if messages[message].end == .failed(maybeHandled: false) {
            throw AcknowledgementViolation(.notHandled, "message \(message) is handled after its sender was told that it wasn't")
        }
        messages[message].handledBy = life
        let sender = messages[message].sender
        if messages[message].wasRefused { return }
        if let latest = lives[life].began[sender], latest > message {
            throw AcknowledgementViolation(.order, "message \(message) of sender \(sender) is handled after message \(latest)")
        }
        lives[life].began[sender] = message
    }

    private func endHandler(_ life: Int, _ label: DeliveryLabel, _ taken: Taken, _ end: End = .handled) {
        guard lives[life].isAlive else { return }
        taken.end = end
        lives[life].taken.ended(label, now: now)
        if fault == .forgetsEnds { lives[life].taken = TakenMessages(since: .zero) }
        for (link, copy) in taken.arrivals { reply(life, link, copy, end) }
    }

    private func reply(_ life: Int, _ link: Int, _ copy: Int, _ end: End) {
        guard lives[life].link == link else { return }
        pass(.answerRoot(life: life, link: link, copy: copy, end), after: &lives[life].latest.up)
    }
}
