import ConcurrencySupport
import DequeModule
import WireProtocol

/// A number of messages and of bytes that may be under way.
struct CreditWindow: Equatable {
    /// The number of bytes of a message that count against the windows of its link and its route; those beyond count against ``large``.
    static let largestSize = 1 << 20
    /// The number of bytes beyond ``largestSize`` that the messages on a link may have under way, all together.
    static let large = 64 << 20
    /// The name of the route by which these bytes are given back.
    static let largeRoute = ReservedName.prefix + "large"

    /// The window that a process names to the other side of a link, and the largest that it uses itself.
    static let link = CreditWindow(messages: 16_384, bytes: 16 << 20)

    var messages: Int
    var bytes: Int

    /// The part of a link's window that each route has.
    var share: CreditWindow { CreditWindow(messages: max(messages / 16, 1), bytes: max(bytes / 64, 1)) }

    /// Whether a message may leave: any message and any byte is enough, so that a message larger than the window isn't stuck.
    var isOpen: Bool { messages > 0 && bytes > 0 }

    /// Whether a message may leave after others have taken their room.
    func isOpen(after others: CreditWindow) -> Bool { messages > others.messages && bytes > others.bytes }

    mutating func spend(_ size: Int, count: Int = 1) {
        messages -= count
        bytes -= size
    }

    /// Adds credit that was given back; the other side may send any number, so that the sum is limited.
    mutating func add(_ credit: CreditWindow, atMost limit: CreditWindow) {
        messages = min(messages.addingSaturating(credit.messages), limit.messages)
        bytes = min(bytes.addingSaturating(credit.bytes), limit.bytes)
    }
}

/// The windows for messages to the other side, of the link and of each route, and the messages that wait for room.
///
/// Each message takes from the link's window and from its route's, and credit gives it back. A route is a target with its own order: what waits
/// in one is passed by nothing of the same route, and holds up no other. Any message and any byte of
/// room is enough for a message to leave, so that one larger than its window isn't stuck.
struct SendWindows<Waiting> {
    typealias Window = CreditWindow

    /// A route whose window isn't whole, or for which messages wait.
    private struct Route {
        var window: Window
        var queue: Deque<(size: Int, waiting: Waiting)> = []
    }

    /// Whether messages wait until the other side has named its window; otherwise they leave without bounds until then.
    private let waitsForWindow: Bool
    /// The window that the other side has named, and the rest of it.
    private var whole: Window?
    private var link: Window?
    private var initial = Window(messages: .max, bytes: .max)
    /// The rest of the window for the bytes of large messages.
    private var large = Window.large
    private var routes = RecentlyUsed<Route>()

    /// The number of messages that wait.
    private(set) var count = 0

    init(waitsForWindow: Bool = false) { self.waitsForWindow = waitsForWindow }

    /// Takes room for a message, or has the message wait.
    ///
    /// - Returns: Whether the message may leave now.
    mutating func enqueue(_ waiting: Waiting, route: String, size: Int) -> Bool {
        if takeOpen(route: route, size: size) { return true }
        with(route) { $0.queue.append((size, waiting)) }
        count += 1
        return false
    }

    /// Takes room for a message, if it need not wait.
    mutating func takeOpen(route: String, size: Int) -> Bool {
        guard link != nil || waitsForWindow else { return true }
        guard isOpen else { return false }
        if size > Window.largestSize { return takeLarge(route, size) }
        let mayLeave = with(route) { route in
            guard route.queue.isEmpty, route.window.isOpen else { return false }
            route.window.spend(size)
            return true
        }
        if mayLeave { link?.spend(size) }
        return mayLeave
    }

    private mutating func takeLarge(_ route: String, _ size: Int) -> Bool {
        guard large > 0, takeOpen(route: route, size: Window.largestSize) else { return false }
        large -= size - Window.largestSize
        return true
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
            // The routes whose windows were counted without bounds begin anew.
            if whole == nil { routes.forEach { $0.window = named.share } }
            (whole, link, initial) = (named, named, named.share)
        } else if route == Window.largeRoute {
            large = min(large.addingSaturating(credit.bytes), Window.large)
        } else {
            give(credit, to: route)
        }
        return count == 0 ? [] : release(where: isWanted)
    }

    private mutating func give(_ credit: Window, to name: String) {
        guard let whole else { return }
        link?.add(credit, atMost: whole)
        let initial = initial
        routes.change(name) { $0.window.add(credit, atMost: initial) }
        forgetIfWhole(name)
    }

    /// Forgets messages that wait and aren't wanted any more.
    mutating func removeAll(where isUnwanted: (Waiting) -> Bool) {
        count = 0
        for name in routes.names {
            routes.change(name) { route in
                route.queue.removeAll { isUnwanted($0.waiting) }
                count += route.queue.count
            }
            forgetIfWhole(name)
        }
    }

    /// Returns the room that was taken for a message that has not left.
    mutating func takeBack(_ size: Int, route: String) {
        give(Window(messages: 1, bytes: min(size, Window.largestSize)), to: route)
        large = min(large.addingSaturating(max(size - Window.largestSize, 0)), Window.large)
    }

    /// Takes out the messages that may leave now, in order for each route; those that aren't wanted any more take no room.
    mutating func release(where isWanted: (Waiting) -> Bool) -> [Waiting] {
        var free: [Waiting] = []
        for name in routes.names {
            guard var route = routes[name], !route.queue.isEmpty else { continue }
            while let (size, waiting) = route.queue.first {
                if !isWanted(waiting) {
                    count -= 1
                    route.queue.removeFirst()
                    continue
                }
                guard isOpen, route.window.isOpen, size <= Window.largestSize || large > 0 else { break }
                count -= 1
                route.queue.removeFirst()
                let base = min(size, Window.largestSize)
                route.window.spend(base)
                link?.spend(base)
                large -= size - base
                free.append(waiting)
            }
            routes.change(name) { $0 = route }
            forgetIfWhole(name)
        }
        return free
    }

    /// Takes out all messages that wait.
    mutating func removeAll() -> [Waiting] {
        defer { (routes, count) = (RecentlyUsed(), 0) }
        return routes.names.flatMap { routes[$0]?.queue.map(\.waiting) ?? [] }
    }

    /// Whether the link's window has room.
    private var isOpen: Bool { link?.isOpen ?? !waitsForWindow }

    private mutating func with<Result>(_ name: String, _ body: (inout Route) -> Result) -> Result {
        routes.with(name, default: Route(window: initial), body)
    }

    /// A route that has all its credit, and no message that waits, need not be remembered.
    private mutating func forgetIfWhole(_ name: String) {
        if let route = routes[name], route.window == initial, route.queue.isEmpty { routes.remove(name) }
    }
}

/// The messages that the other side has under way here, by route, and the credit that is due but not worth a frame yet.
struct ReceiveCredits {
    /// A route on which messages are under way, or credit is due.
    private struct Route {
        /// The window that the other side still has, according to the credit that was sent.
        var window = CreditWindow.link.share
        /// The credit that is due.
        var owed = CreditWindow(messages: 0, bytes: 0)

        /// Takes out the credit that is due.
        mutating func takeOwed() -> CreditWindow {
            defer { owed = CreditWindow(messages: 0, bytes: 0) }
            window.add(owed, atMost: CreditWindow.link.share)
            return owed
        }

        /// Whether nothing is under way, and no credit due.
        var isIdle: Bool { window == CreditWindow.link.share }
    }

    private var routes = RecentlyUsed<Route>()
    /// The credit that is due on all routes.
    private var owed = CreditWindow(messages: 0, bytes: 0)
    /// The window that the other side still has, according to the credit that was sent.
    private var link = CreditWindow.link
    /// The bytes of large messages that the other side may still have under way.
    private var large = CreditWindow.large

    /// Charges the other side for messages that have arrived, all in one batch.
    ///
    /// - Parameters:
    ///   - count: The number of messages.
    ///   - size: The size of all.
    ///   - last: The size of the last; any credit is enough for it.
    /// - Returns: False when the other side had no credit left for one of the messages.
    mutating func spend(_ name: String, _ size: Int, count: Int = 1, last: Int? = nil) -> Bool {
        if size > CreditWindow.largestSize, count == 1 {
            guard large > 0, spend(name, CreditWindow.largestSize) else { return false }
            large -= size - CreditWindow.largestSize
            return true
        }
        let rest = CreditWindow(messages: count - 1, bytes: size - (last ?? size))
        guard link.isOpen(after: rest) else { return false }
        let hasCredit = with(name) { route in
            guard route.window.isOpen(after: rest) else { return false }
            route.window.spend(size, count: count)
            return true
        }
        if hasCredit { link.spend(size, count: count) }
        return hasCredit
    }

    /// Notes that messages aren't under way any more.
    ///
    /// - Returns: The credit to give back now, by route.
    mutating func release(_ name: String, _ size: Int, count: Int = 1) -> [(route: String, messages: Int, bytes: Int)] {
        if size > CreditWindow.largestSize, count == 1 {
            let excess = size - CreditWindow.largestSize
            large = min(large.addingSaturating(excess), CreditWindow.large)
            return release(name, CreditWindow.largestSize) + [(CreditWindow.largeRoute, 0, excess)]
        }
        owed.messages += count
        owed.bytes += size
        let whole = CreditWindow.link
        // The other side must not run out of credit while nothing is under way here: at most a quarter of the link's window is held back in
        // all, and a quarter of each route's window.
        let isMuch = owed.messages >= whole.messages / 4 || owed.bytes >= whole.bytes / 4
        let isMuchOfRoute = with(name) { route in
            route.owed.messages += count
            route.owed.bytes += size
            return route.owed.messages >= whole.messages / 64 || route.owed.bytes >= whole.bytes / 256
        }
        if isMuch { return routes.names.map { takeOwed($0) }.filter { $0.messages > 0 } }
        return isMuchOfRoute ? [takeOwed(name)] : []
    }

    private mutating func takeOwed(_ name: String) -> (route: String, messages: Int, bytes: Int) {
        let (credit, isIdle) = with(name) { ($0.takeOwed(), $0.isIdle) }
        if isIdle { routes.remove(name) }
        owed.messages -= credit.messages
        owed.bytes -= credit.bytes
        link.add(credit, atMost: .link)
        return (name, credit.messages, credit.bytes)
    }

    private mutating func with<Result>(_ name: String, _ body: (inout Route) -> Result) -> Result {
        routes.with(name, default: Route(), body)
    }
}

// MARK: - Values by name

/// Values by name, of which the one that was used last is found without hashing.
///
/// Most messages of a sender take the way of the one before.
struct RecentlyUsed<Value> {
    private var places: [String: Int] = [:]
    private var values: [Value?] = []
    private var free: [Int] = []
    /// The name that was used last, and its place.
    private var last: (name: String, place: Int)?

    /// All names, in no order.
    var names: [String] { Array(places.keys) }

    subscript(name: String) -> Value? {
        mutating get { place(of: name).flatMap { values[$0] } }
    }

    /// Changes the value of a name, which is the default if it has none.
    mutating func with<Result>(_ name: String, default value: @autoclosure () -> Value, _ body: (inout Value) -> Result) -> Result {
        let place = place(of: name) ?? add(name)
        if var former = values[place].take() {
            defer { values[place] = former }
            return body(&former)
        }
        var new = value()
        defer { values[place] = new }
        return body(&new)
    }

    /// Changes the value of a name, if it has one.
    mutating func change(_ name: String, _ body: (inout Value) -> Void) {
        guard let place = place(of: name), var value = values[place].take() else { return }
        body(&value)
        values[place] = value
    }

    /// Changes all values.
    mutating func forEach(_ body: (inout Value) -> Void) {
        for name in names { change(name, body) }
    }

    mutating func remove(_ name: String) {
        guard let place = places.removeValue(forKey: name) else { return }
        values[place] = nil
        free.append(place)
        last = nil
    }

    private mutating func place(of name: String) -> Int? {
        if let last, last.name == name { return last.place }
        guard let place = places[name] else { return nil }
        last = (name, place)
        return place
    }

    private mutating func add(_ name: String) -> Int {
        let place = free.popLast() ?? values.count
        if place == values.count { values.append(nil) }
        places[name] = place
        last = (name, place)
        return place
    }
}

extension RecentlyUsed: Sendable where Value: Sendable {}
