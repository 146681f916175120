import DequeModule
import WireProtocol

/// How much may still leave for the other side, by route, and what waits until it may.
///
/// There are no bounds until the other side has named one; then each message takes one of the link's and one of its route's, and credit
/// gives them back. A message may leave while anything is left, so that one larger than the window isn't stuck.
struct SendWindows<Waiting> {
    struct Window: Equatable {
        var messages: Int
        var bytes: Int

        var isOpen: Bool { messages > 0 && bytes > 0 }

        mutating func take(_ size: Int) {
            messages -= 1
            bytes -= size
        }

        mutating func add(_ credit: Window) {
            messages += credit.messages
            bytes += credit.bytes
        }
    }

    /// What part of the link's window each route has.
    private static var messagesShare: Int { 16 }
    private static var bytesShare: Int { 64 }

    private var link: Window?
    private var initial = Window(messages: .max, bytes: .max)
    private var routes: [String: Window] = [:]
    private var queues: [String: Deque<(size: Int, waiting: Waiting)>] = [:]

    /// How many messages wait.
    private(set) var count = 0

    /// Takes a message.
    ///
    /// - Returns: whether it may leave now; otherwise it waits.
    mutating func take(_ waiting: Waiting, route: String, size: Int) -> Bool {
        guard link != nil else { return true }
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
        guard !route.isEmpty else {
            link = credit
            initial = Window(
                messages: max(credit.messages / Self.messagesShare, 1),
                bytes: max(credit.bytes / Self.bytesShare, 1)
            )
            return []
        }
        link?.add(credit)
        routes[route]?.add(credit)
        // All is given back: the route need not be remembered.
        if let window = routes[route], window.messages >= initial.messages, window.bytes >= initial.bytes { routes[route] = nil }
        return release(where: isWanted)
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
        guard link != nil else { return }
        link?.add(Window(messages: 1, bytes: size))
        routes[route]?.add(Window(messages: 1, bytes: size))
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
        (link?.isOpen ?? true) && (routes[route] ?? initial).isOpen
    }

    private mutating func spend(_ route: String, _ size: Int) {
        link?.take(size)
        routes[route, default: initial].take(size)
    }
}

/// What was received and isn't under way any more, by route, until it's worth a frame to say so.
struct ReceiveCredits {
    /// What a process lets the other side of a link have under way.
    static let linkMessages = 16_384
    static let linkBytes = 16 << 20

    private typealias Owed = (messages: Int, bytes: Int)

    private var owed: [String: Owed] = [:]
    private var total: Owed = (0, 0)

    /// - Returns: what to give back now, by route.
    mutating func release(_ route: String, _ size: Int) -> [(route: String, messages: Int, bytes: Int)] {
        total.messages += 1
        total.bytes += size
        owed[route, default: (0, 0)].messages += 1
        owed[route, default: (0, 0)].bytes += size
        // The other side must not run dry while nothing is under way here: a quarter of the link's window is the most that is held back
        // in all, and a quarter of its window on each route.
        if total.messages >= Self.linkMessages / 4 || total.bytes >= Self.linkBytes / 4 {
            defer { (owed, total) = ([:], (0, 0)) }
            return owed.map { ($0.key, $0.value.messages, $0.value.bytes) }
        }
        guard let one = owed[route], one.messages >= Self.linkMessages / 64 || one.bytes >= Self.linkBytes / 256 else { return [] }
        owed[route] = nil
        total.messages -= one.messages
        total.bytes -= one.bytes
        return [(route, one.messages, one.bytes)]
    }
}
