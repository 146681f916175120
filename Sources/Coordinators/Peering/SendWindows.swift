import DequeModule

/// A number of messages and of bytes that may be under way.
struct CreditWindow: Equatable {
    /// The window that a process names to the other side of a link, and the largest that it uses itself.
    static let link = CreditWindow(messages: 16_384, bytes: 16 << 20)

    var messages: Int
    var bytes: Int

    /// The part of a link's window that each route has.
    var share: CreditWindow { CreditWindow(messages: max(messages / 16, 1), bytes: max(bytes / 64, 1)) }

    /// Whether a message may leave: any message and any byte is enough, so that a message larger than the window isn't stuck.
    var isOpen: Bool { messages > 0 && bytes > 0 }

    mutating func take(_ size: Int) {
        messages -= 1
        bytes -= size
    }

    /// Adds credit that was given back; the other side may send any number, so that the sum is limited.
    mutating func add(_ credit: CreditWindow, atMost limit: CreditWindow) {
        messages = min(messages.addingSaturating(credit.messages), limit.messages)
        bytes = min(bytes.addingSaturating(credit.bytes), limit.bytes)
    }
}

extension FixedWidthInteger {
    func addingSaturating(_ other: Self) -> Self {
        let (sum, isOverflow) = addingReportingOverflow(other)
        return isOverflow ? (other < 0 ? .min : .max) : sum
    }
}

/// The windows for messages to the other side, of the link and of each route, and the messages that wait for room.
///
/// Each message takes from the link's window and from its route's, and credit gives it back.
struct SendWindows<Waiting> {
    typealias Window = CreditWindow

    /// Whether messages wait until the other side has named its window; otherwise they leave without bounds until then.
    private let waitsForWindow: Bool
    /// The window that the other side has named, and the rest of it.
    private var whole: Window?
    private var link: Window?
    private var initial = Window(messages: .max, bytes: .max)
    private var routes: [String: Window] = [:]
    private var queues: [String: Deque<(size: Int, waiting: Waiting)>] = [:]

    /// The number of messages that wait.
    private(set) var count = 0

    init(waitsForWindow: Bool = false) { self.waitsForWindow = waitsForWindow }

    /// Takes room for a message, or has the message wait.
    ///
    /// - Returns: Whether the message may leave now.
    mutating func take(_ waiting: Waiting, route: String, size: Int) -> Bool {
        guard link != nil || waitsForWindow else { return true }
        if queues[route] == nil, isOpen(route) {
            spend(route, size)
            return true
        }
        queues[route, default: []].append((size, waiting))
        count += 1
        return false
    }

    /// Adds credit that the other side gives.
    ///
    /// - Parameters:
    ///   - route: The route that the credit is for; empty when the other side names the link's window.
    ///   - isWanted: Whether a message that waits is still wanted; the others take no room.
    /// - Returns: The messages that may leave now, in order for each route.
    mutating func add(_ credit: Window, route: String, where isWanted: (Waiting) -> Bool = { _ in true }) -> [Waiting] {
        if route.isEmpty {
            let named = Window(messages: min(credit.messages, Window.link.messages), bytes: min(credit.bytes, Window.link.bytes))
            (whole, link, initial) = (named, named, named.share)
        } else {
            give(credit, to: route)
        }
        return release(where: isWanted)
    }

    private mutating func give(_ credit: Window, to route: String) {
        guard let whole else { return }
        link?.add(credit, atMost: whole)
        routes[route]?.add(credit, atMost: initial)
        // The route has all its credit again, and need not be remembered.
        if routes[route] == initial { routes[route] = nil }
    }

    /// Forgets messages that wait and aren't wanted any more.
    mutating func removeAll(where isUnwanted: (Waiting) -> Bool) {
        for route in queues.keys {
            queues[route]?.removeAll { isUnwanted($0.waiting) }
            if queues[route]?.isEmpty == true { queues[route] = nil }
        }
        count = queues.values.reduce(0) { $0 + $1.count }
    }

    /// Returns the room that was taken for a message that has not left.
    mutating func takeBack(_ size: Int, route: String) {
        give(Window(messages: 1, bytes: size), to: route)
    }

    /// Takes out the messages that may leave now, in order for each route; those that aren't wanted any more take no room.
    mutating func release(where isWanted: (Waiting) -> Bool) -> [Waiting] {
        var free: [Waiting] = []
        for route in queues.keys {
            while isOpen(route), let (size, waiting) = queues[route]?.popFirst() {
                count -= 1
                guard isWanted(waiting) else { continue }
                spend(route, size)
                free.append(waiting)
            }
            if queues[route]?.isEmpty == true { queues[route] = nil }
        }
        return free
    }

    /// Takes out all messages that wait.
    mutating func removeAll() -> [Waiting] {
        defer { (queues, count) = ([:], 0) }
        return queues.values.flatMap { $0.map(\.waiting) }
    }

    private func isOpen(_ route: String) -> Bool {
        (link?.isOpen ?? !waitsForWindow) && (routes[route] ?? initial).isOpen
    }

    private mutating func spend(_ route: String, _ size: Int) {
        link?.take(size)
        routes[route, default: initial].take(size)
    }
}

/// The messages that the other side has under way here, by route, and the credit that is due but not worth a frame yet.
struct ReceiveCredits {
    private typealias Owed = (messages: Int, bytes: Int)

    private var owed: [String: Owed] = [:]
    private var total: Owed = (0, 0)
    /// The windows that the other side still has, according to the credit that was sent.
    private var link = CreditWindow.link
    private var routes: [String: CreditWindow] = [:]

    /// Charges the other side for a message that has arrived.
    ///
    /// - Returns: False when the other side had no credit left for the message.
    mutating func take(_ route: String, _ size: Int) -> Bool {
        let window = routes[route] ?? CreditWindow.link.share
        guard link.isOpen, window.isOpen else { return false }
        link.take(size)
        routes[route] = window
        routes[route]?.take(size)
        return true
    }

    /// Notes that a message isn't under way any more.
    ///
    /// - Returns: The credit to give back now, by route.
    mutating func release(_ route: String, _ size: Int) -> [(route: String, messages: Int, bytes: Int)] {
        total.messages += 1
        total.bytes += size
        owed[route, default: (0, 0)].messages += 1
        owed[route, default: (0, 0)].bytes += size
        let credits = takeOwed(route)
        for credit in credits { give(credit) }
        return credits
    }

    private mutating func takeOwed(_ route: String) -> [(route: String, messages: Int, bytes: Int)] {
        let whole = CreditWindow.link
        // The other side must not run out of credit while nothing is under way here: at most a quarter of the link's window is held back in
        // all, and a quarter of each route's window.
        if total.messages >= whole.messages / 4 || total.bytes >= whole.bytes / 4 {
            defer { (owed, total) = ([:], (0, 0)) }
            return owed.map { ($0.key, $0.value.messages, $0.value.bytes) }
        }
        guard let one = owed[route], one.messages >= whole.messages / 64 || one.bytes >= whole.bytes / 256 else { return [] }
        owed[route] = nil
        total.messages -= one.messages
        total.bytes -= one.bytes
        return [(route, one.messages, one.bytes)]
    }

    private mutating func give(_ credit: (route: String, messages: Int, bytes: Int)) {
        let window = CreditWindow(messages: credit.messages, bytes: credit.bytes)
        link.add(window, atMost: .link)
        routes[credit.route]?.add(window, atMost: CreditWindow.link.share)
        if routes[credit.route] == CreditWindow.link.share { routes[credit.route] = nil }
    }
}
