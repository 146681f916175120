import DequeModule

/// How much may be under way.
struct CreditWindow: Equatable {
    /// What a process lets the other side of a link have under way, and the most that it has itself.
    static let link = CreditWindow(messages: 16_384, bytes: 16 << 20)

    var messages: Int
    var bytes: Int

    /// The part of a link's window that each route has.
    var share: CreditWindow { CreditWindow(messages: max(messages / 16, 1), bytes: max(bytes / 64, 1)) }

    /// A message may leave while anything is left, so that one larger than the window isn't stuck.
    var isOpen: Bool { messages > 0 && bytes > 0 }

    mutating func take(_ size: Int) {
        messages -= 1
        bytes -= size
    }

    /// Takes what was given back; the other side of the link says how much, which may be anything.
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

/// How much may still leave for the other side, by route, and what waits until it may.
///
/// Each message takes one of the link's window and one of its route's, and credit gives them back.
struct SendWindows<Waiting> {
    typealias Window = CreditWindow

    /// Whether everything waits until the other side has named its window; otherwise there are no bounds until then.
    private let waitsForWindow: Bool
    /// What the other side has named, and what is left of it.
    private var whole: Window?
    private var link: Window?
    private var initial = Window(messages: .max, bytes: .max)
    private var routes: [String: Window] = [:]
    private var queues: [String: Deque<(size: Int, waiting: Waiting)>] = [:]

    /// How many messages wait.
    private(set) var count = 0

    init(waitsForWindow: Bool = false) { self.waitsForWindow = waitsForWindow }

    /// Takes a message.
    ///
    /// - Returns: whether it may leave now; otherwise it waits.
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

    /// Gives back.
    ///
    /// - Parameters:
    ///   - route: empty the first time, when the other side names the link's window.
    ///   - isWanted: what waits and isn't wanted any more takes nothing.
    /// - Returns: what may leave now, in order for each route.
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
        // All is given back: the route need not be remembered.
        if routes[route] == initial { routes[route] = nil }
    }

    /// Forgets what waits and isn't wanted any more.
    mutating func removeAll(where isUnwanted: (Waiting) -> Bool) {
        for route in queues.keys {
            queues[route]?.removeAll { isUnwanted($0.waiting) }
            if queues[route]?.isEmpty == true { queues[route] = nil }
        }
        count = queues.values.reduce(0) { $0 + $1.count }
    }

    /// Takes back what a message took that has not left.
    mutating func takeBack(_ size: Int, route: String) {
        give(Window(messages: 1, bytes: size), to: route)
    }

    /// What may leave now, in order for each route; what isn't wanted any more takes nothing.
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

    /// Everything that waits, taken out.
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

/// What the other side has under way here, by route, and what isn't any more, until it's worth a frame to say so.
struct ReceiveCredits {
    private typealias Owed = (messages: Int, bytes: Int)

    private var owed: [String: Owed] = [:]
    private var total: Owed = (0, 0)
    /// What the other side may still send, as far as it was told.
    private var link = CreditWindow.link
    private var routes: [String: CreditWindow] = [:]

    /// A message has come.
    ///
    /// - Returns: false when the other side had no room left for it, and knew.
    mutating func take(_ route: String, _ size: Int) -> Bool {
        let window = routes[route] ?? CreditWindow.link.share
        guard link.isOpen, window.isOpen else { return false }
        link.take(size)
        routes[route] = window
        routes[route]?.take(size)
        return true
    }

    /// A message isn't under way any more.
    ///
    /// - Returns: what to give back now, by route.
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
        // The other side must not run dry while nothing is under way here: a quarter of the link's window is the most that is held back
        // in all, and a quarter of its window on each route.
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
