import Acknowledgement
import SimulationSupport
import Supervision

/// Senders and receivers with a process between them, whose links are lost and whose processes die.
///
/// What each process keeps, and in which order it sends, is this world's; the identities, the numbers and the memory of receivers are real.
final class AcknowledgementWorld: SimulatedWorld {
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

    struct Receiver {
        var life: Int
        var isAlive = true
        var taken: TakenMessages<Taken>
        /// The message of each sender that has begun last.
        var latest: [Int: Int] = [:]
    }

    /// What is going to happen.
    enum Event {
        case connectSender(Int)
        case connectReceiver(Int)
        case reachRoot(sender: Int, link: Int, message: Int, DeliveryLabel)
        case reachReceiver(Int, link: Int, copy: Int, message: Int, DeliveryLabel)
        case endHandler(Int, life: Int, DeliveryLabel, Taken)
        case answerRoot(receiver: Int, link: Int, copy: Int, End)
        case answerSender(Int, link: Int, message: Int, End)
        case beginLife(Int)
    }

    private let scenario: AcknowledgementScenario
    private let fault: AcknowledgementFault?
    private let recordsTrace: Bool
    private(set) var trace: [String] = []
    private(set) var events = 0
    private var chance: SplitMix64
    private var agenda = Agenda<Event>()
    private var time = 1

    private var messages: [Message] = []
    private var senders = (0..<AcknowledgementScenario.senders).map { _ in Sender() }
    private var receivers: [Receiver] = []
    private var links = 0
    private var lives = 0
    /// Whether receivers refuse messages now and then.
    private var refuses = true

    // The process between.
    private var copies: [Int: Copy] = [:]
    private var copyCount = 0
    private var ways = (0..<AcknowledgementScenario.receivers).map { _ in Way() }

    init(_ scenario: AcknowledgementScenario, _ fault: AcknowledgementFault?, recordsTrace: Bool) {
        self.scenario = scenario
        self.fault = fault
        self.recordsTrace = recordsTrace
        chance = SplitMix64(seed: scenario.seed ^ 0xAC)
        for receiver in 0..<AcknowledgementScenario.receivers {
            receivers.append(newReceiver())
            connectReceiver(receiver)
        }
        for sender in senders.indices { connectSender(sender) }
    }

    private var now: Duration { .milliseconds(time) }

    private func note(_ text: @autoclosure () -> String) {
        if recordsTrace { trace.append("\(time): \(AcknowledgementViolation.plain(text()))") }
    }

    // MARK: - The course

    func run() throws(AcknowledgementViolation) {
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
        for sender in senders.indices { for receiver in receivers.indices { send(sender, receiver) } }
        try goOn(until: nil)
        for (index, receiver) in receivers.enumerated() where receiver.taken.remembered > senders.count {
            throw AcknowledgementViolation(.forgotten, "receiver \(index) remembers \(receiver.taken.remembered) messages")
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
        case .loseReceiver(let receiver): if ways[receiver].link != nil { loseReceiver(receiver) }
        case .killReceiver(let receiver): kill(receiver)
        case .killRoot:
            copies = [:]
            for receiver in receivers.indices {
                ways[receiver] = Way()
                if receivers[receiver].isAlive { later(.connectReceiver(receiver)) }
            }
            for sender in senders.indices where senders[sender].way.link != nil { loseSender(sender) }
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
            case .connectReceiver(let receiver): if ways[receiver].link == nil, receivers[receiver].isAlive { connectReceiver(receiver) }
            case .reachRoot(let sender, let link, let message, let label): reachRoot(sender, link, message, label)
            case .reachReceiver(let receiver, let link, let copy, let message, let label):
                try reach(receiver, link, copy, message, label)
            case .endHandler(let receiver, let life, let label, let taken): endHandler(receiver, life, label, taken)
            case .answerRoot(let receiver, let link, let copy, let end): if ways[receiver].link == link { answer(copy, end) }
            case .answerSender(let sender, let link, let message, let end):
                if senders[sender].way.link == link { try hear(message, end) }
            case .beginLife(let receiver): beginLife(receiver)
            }
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
        takeBack(left, &senders[sender].way)
        // The process between goes on with what has come.
        if let link = senders[sender].way.link {
            for (number, copy) in copies where copy.link == link { copies[number]?.delivery.linkAboveWasLost(after: now) }
        }
        senders[sender].way.link = nil
        later(.connectSender(sender))
    }

    private func takeBack(_ left: [Int], _ way: inout Way) {
        way.left = []
        switch fault {
        case .forgetsMessages: break
        default: way.kept = left + way.kept
        }
    }

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
        ways[messages[message].receiver].kept.append(copyCount)
        if fault == .acknowledgesEarly { tell(sender, link, message, .handled) }
        // Where there is no room, a message is refused on its way; should the refusal be lost, a later transmission may come out of order.
        if refuses, chance.oneIn(32) {
            messages[message].wasRefused = true
            return answer(copyCount, .failed(maybeHandled: false))
        }
        relayKept(messages[message].receiver)
    }

    private func connectReceiver(_ receiver: Int) {
        links += 1
        ways[receiver].link = links
        relayKept(receiver)
    }

    private func relayKept(_ receiver: Int) {
        guard let link = ways[receiver].link else { return }
        for number in ways[receiver].kept {
            guard var copy = copies[number] else { continue }
            let label = copy.delivery.depart(at: now)
            copies[number] = copy
            ways[receiver].left.append(number)
            let event = Event.reachReceiver(receiver, link: link, copy: number, message: copy.message, label)
            pass(event, after: &ways[receiver].latest.down)
        }
        ways[receiver].kept = []
    }

    private func loseReceiver(_ receiver: Int) {
        note("  the link of receiver \(receiver) is lost")
        let left = ways[receiver].left
        for copy in left where fault != .hidesTransmissions { copies[copy]?.delivery.linkBelowWasLost() }
        takeBack(left, &ways[receiver])
        ways[receiver].link = nil
        later(.connectReceiver(receiver))
    }

    private func answer(_ number: Int, _ told: End) {
        guard let copy = copies.removeValue(forKey: number) else { return }
        let message = messages[copy.message]
        ways[message.receiver].remove(number)
        var told = told
        if case .failed = told, copy.delivery.mayBeHandled, fault != .promisesTooMuch { told = .failed(maybeHandled: true) }
        if senders[message.sender].way.link == copy.link { tell(message.sender, copy.link, copy.message, told) }
    }

    private func tell(_ sender: Int, _ link: Int, _ message: Int, _ end: End) {
        pass(.answerSender(sender, link: link, message: message, end), after: &senders[sender].way.latest.up)
    }

    // MARK: - A receiver's process

    private func newReceiver() -> Receiver {
        lives += 1
        return Receiver(life: lives, taken: TakenMessages(since: now))
    }

    private func reach(_ receiver: Int, _ link: Int, _ copy: Int, _ message: Int, _ label: DeliveryLabel)
        throws(AcknowledgementViolation)
    {
        guard ways[receiver].link == link else { return }
        let new = Taken()
        switch receivers[receiver].taken.admit(label, now: now, make: { new }) {
        case .new:
            new.arrivals = [(link, copy)]
            // A refusal is remembered as any other end: a message that comes again must not overtake those that came after it.
            if refuses, chance.oneIn(16) { return endHandler(receiver, receivers[receiver].life, label, new, .failed(maybeHandled: false)) }
            try begin(receiver, message)
            later(.endHandler(receiver, life: receivers[receiver].life, label, new))
        case .known(let taken):
            if fault == .handlesTwice { try begin(receiver, message) }
            if let end = taken.end { reply(receiver, link, copy, end) } else { taken.arrivals.append((link, copy)) }
        case .uncertain:
            reply(receiver, link, copy, .failed(maybeHandled: true))
        }
    }

    private func begin(_ receiver: Int, _ message: Int) throws(AcknowledgementViolation) {
        let life = receivers[receiver].life
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
        if let latest = receivers[receiver].latest[sender], latest > message {
            throw AcknowledgementViolation(.order, "message \(message) of sender \(sender) is handled after message \(latest)")
        }
        receivers[receiver].latest[sender] = message
    }

    private func endHandler(_ receiver: Int, _ life: Int, _ label: DeliveryLabel, _ taken: Taken, _ end: End = .handled) {
        guard receivers[receiver].life == life, receivers[receiver].isAlive else { return }
        taken.end = end
        receivers[receiver].taken.ended(label, now: now)
        if fault == .forgetsEnds { receivers[receiver].taken = TakenMessages(since: .zero) }
        for (link, copy) in taken.arrivals { reply(receiver, link, copy, end) }
    }

    private func reply(_ receiver: Int, _ link: Int, _ copy: Int, _ end: End) {
        guard ways[receiver].link == link else { return }
        pass(.answerRoot(receiver: receiver, link: link, copy: copy, end), after: &ways[receiver].latest.up)
    }

    private func kill(_ receiver: Int) {
        guard receivers[receiver].isAlive else { return }
        note("  receiver \(receiver) is killed in life \(receivers[receiver].life)")
        receivers[receiver].isAlive = false
        // What has left may have been handled; the rest waits for the next life.
        let left = ways[receiver].left
        ways[receiver].left = []
        ways[receiver].link = nil
        for copy in left { answer(copy, .failed(maybeHandled: true)) }
        later(.beginLife(receiver))
    }

    private func beginLife(_ receiver: Int) {
        receivers[receiver] = newReceiver()
        if ways[receiver].link == nil { connectReceiver(receiver) }
    }
}
