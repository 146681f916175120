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
    var count: Int { queues.values.reduce(0) { $0 + $1.count } }

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
        return false
    }

    /// Gives back.
    ///
    /// - Parameter route: empty the first time, when the other side names the link's window.
    /// - Returns: what may leave now, in order for each route.
    mutating func add(_ credit: Window, route: String) -> [Waiting] {
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
        return release()
    }

    private mutating func release() -> [Waiting] {
        var free: [Waiting] = []
        for route in queues.keys {
            while isOpen(route), let (size, waiting) = queues[route]?.popFirst() {
                spend(route, size)
                free.append(waiting)
            }
            if queues[route]?.isEmpty == true { queues[route] = nil }
        }
        return free
    }

    /// Everything that waits, taken out.
    mutating func removeAll() -> [Waiting] {
        defer { queues = [:] }
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

    private var owed: [String: (messages: Int, bytes: Int)] = [:]

    /// - Returns: what to give back now.
    mutating func release(_ route: String, _ size: Int) -> (messages: Int, bytes: Int)? {
        var credit = owed[route] ?? (0, 0)
        credit.messages += 1
        credit.bytes += size
        // A quarter of the smallest window, so that the other side never runs dry while nothing waits here.
        if credit.messages >= Self.linkMessages / 64 || credit.bytes >= Self.linkBytes / 256 {
            owed[route] = nil
            return credit
        }
        owed[route] = credit
        return nil
    }
}
