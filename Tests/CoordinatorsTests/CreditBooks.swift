@testable import Coordinators

/// Both ends of a link as far as credit goes, and a record of what must hold.
///
/// The books know by addition alone how much room there is: what the sender's side lets go or keeps waiting must agree with them.
struct CreditBooks {
    typealias Windows = SendWindows<Message>

    struct Message {
        let number: Int
        let route: String
        let size: Int
    }

    private(set) var windows = Windows()
    private var credits = ReceiveCredits()

    /// The messages that have left; those that aren't handled begin at `oldest`.
    private var left: [Message] = []
    private var oldest = 0
    /// The number of messages in `left` that have arrived.
    private var charged = 0
    private(set) var arrived: [Message] = []
    private(set) var complaints: [String] = []
    private(set) var sent = 0
    /// Waits at the sender's side, oldest first, those that were given up included.
    private(set) var waiting: [String: [Message]] = [:]
    private(set) var givenUp: Set<Int> = []
    private var link = Windows.Window(messages: CreditWindow.link.messages, bytes: CreditWindow.link.bytes)
    private var routes: [String: Windows.Window] = [:]
    /// Handled, and not given back yet.
    private var heldBack: [String: Windows.Window] = [:]

    static let routeWindow = Windows.Window(messages: CreditWindow.link.messages / 16, bytes: CreditWindow.link.bytes / 64)

    init() {
        let free = windows.add(.init(messages: CreditWindow.link.messages, bytes: CreditWindow.link.bytes), route: "")
        if !free.isEmpty { complaints.append("the first credit let something go") }
    }

    var underWay: Int { left.count - oldest }

    /// - Returns: whether it has left.
    @discardableResult
    mutating func send(_ route: String, size: Int) -> Bool {
        sent += 1
        let message = Message(number: sent, route: route, size: size)
        let mayLeave = windows.enqueue(message, route: route, size: size)
        if mayLeave != (waiting[route] == nil && isOpen(route)) { complaints.append("\(sent) on \(route): \(mayLeave) is wrong") }
        if mayLeave {
            leave(message)
        } else {
            waiting[route, default: []].append(message)
        }
        return mayLeave
    }

    /// Sends what proves too large when it should leave: it's taken back, and leaves its room to others.
    mutating func sendTooLarge(_ route: String, size: Int) {
        guard send(route, size: size), let message = left.popLast() else { return }
        windows.takeBack(message.size, route: route)
        link.add(.init(messages: 1, bytes: size))
        routes[route]?.add(.init(messages: 1, bytes: size))
        let givenUp = givenUp
        take(windows.release { !givenUp.contains($0.number) })
    }

    mutating func giveUp(_ number: Int) { givenUp.insert(number) }

    mutating func forgetGivenUp() {
        let givenUp = givenUp
        windows.removeAll { givenUp.contains($0.number) }
        for route in waiting.keys {
            waiting[route]?.removeAll { givenUp.contains($0.number) }
            if waiting[route]?.isEmpty == true { waiting[route] = nil }
        }
    }

    /// The receiver's side has begun to handle one of those that are under way; by default the oldest.
    mutating func handle(_ index: Int = 0) {
        arrive()
        left.swapAt(oldest, oldest + index)
        let message = left[oldest]
        oldest += 1
        if oldest == 4_096 {
            left.removeFirst(oldest)
            charged -= oldest
            oldest = 0
        }
        arrived.append(message)
        heldBack[message.route, default: .init(messages: 0, bytes: 0)].add(.init(messages: 1, bytes: message.size))
        let givenUp = givenUp
        for credit in credits.release(message.route, message.size) {
            let window = Windows.Window(messages: credit.messages, bytes: credit.bytes)
            heldBack[credit.route, default: .init(messages: 0, bytes: 0)].add(.init(messages: -credit.messages, bytes: -credit.bytes))
            link.add(window)
            routes[credit.route, default: Self.routeWindow].add(window)
            take(windows.add(window, route: credit.route) { !givenUp.contains($0.number) })
        }
        if arrived.count % 64 == 0 { lookAtHeldBack() }
    }

    /// Handles whatever is under way, and what that lets go, until nothing is.
    mutating func comeToRest() {
        while underWay > 0 { handle() }
        lookAtHeldBack()
    }

    /// Fills every route until it's full: there must be exactly as much room as the books say.
    mutating func fill(_ routes: [String]) {
        for route in routes { while send(route, size: 1) {} }
    }

    private func isOpen(_ route: String) -> Bool { link.isOpen && (routes[route] ?? Self.routeWindow).isOpen }

    private mutating func leave(_ message: Message) {
        link.spend(message.size)
        routes[message.route, default: Self.routeWindow].spend(message.size)
        left.append(message)
    }

    /// The receiver knows by itself what it has let the other side have.
    private mutating func arrive() {
        while charged < left.count {
            let message = left[charged]
            charged += 1
            if !credits.spend(message.route, message.size) { complaints.append("\(message.number) came without credit") }
        }
    }

    /// Checks that the released message is the oldest waiting one of its route, and that there was room for it.
    private mutating func take(_ free: [Message]) {
        for message in free {
            if !isOpen(message.route) { complaints.append("\(message.number) was let go without room") }
            if givenUp.contains(message.number) { complaints.append("\(message.number) was let go though given up") }
            var queue = (waiting[message.route] ?? [])[...]
            while let first = queue.first, first.number != message.number, givenUp.contains(first.number) { queue.removeFirst() }
            if queue.first?.number != message.number { complaints.append("\(message.number) was let go out of turn") }
            waiting[message.route] = queue.count > 1 ? Array(queue.dropFirst()) : nil
            leave(message)
        }
        for (route, queue) in waiting where isOpen(route) {
            if let stuck = queue.first(where: { !givenUp.contains($0.number) }) {
                complaints.append("\(stuck.number) waits though there is room")
            }
            waiting[route] = nil
        }
    }

    /// Little enough is held back for the other side never to run dry.
    private mutating func lookAtHeldBack() {
        var total = Windows.Window(messages: 0, bytes: 0)
        for (route, window) in heldBack {
            total.add(window)
            if window.messages < 0 || window.bytes < 0 { complaints.append("more was given back on \(route) than was handled") }
            if window.messages >= Self.routeWindow.messages { complaints.append("\(route) ran dry of messages") }
            if window.bytes >= Self.routeWindow.bytes { complaints.append("\(route) ran dry of bytes") }
        }
        if total.messages >= CreditWindow.link.messages || total.bytes >= CreditWindow.link.bytes {
            complaints.append("the link ran dry")
        }
    }
}

extension CreditWindow {
    /// By addition alone.
    fileprivate mutating func add(_ other: CreditWindow) {
        messages += other.messages
        bytes += other.bytes
    }
}
