import ConcurrencySupport
import Control
import Coordinators
import WireProtocol

extension EventLog {
    /// Sends the events that a query asks for, and returns where the next query goes on.
    func send(_ query: EventQuery, to items: ItemWriter) async throws(ControlError) -> JSONValue {
        let path = try query.path.map { text throws(ControlError) in try CoordinatorPath(operand: text) }
        let since = query.sinceMilliseconds.map { Timestamp.text(milliseconds: $0) }
        var last = query.after ?? beginning
        // A number that this daemon hasn't reached is another's too.
        if query.boot.map({ $0 != boot }) ?? (last > latest) {
            let reason = "another daemon runs by now"
            let gap = ControlEvent(boot: boot, time: Timestamp.now, kind: .gap, reason: reason)
            try await items.send([try ControlJSON.value(of: gap)])
            last = beginning
        }
        while true {
            let page = page(after: last)
            last = page.last
            let wanted = page.events.filter { $0.isWanted(below: path, since: since) }
            if !wanted.isEmpty { try await items.send(try wanted.map { event throws(ControlError) in try ControlJSON.value(of: event) }) }
            guard let more = page.more else { continue }
            guard query.follows else { return ["last": .integer(Int64(clamping: last)), "boot": .string(boot)] }
            if await more.valueUnlessCancelled() == nil { throw ControlError(.cancelled, "the request was cancelled") }
        }
    }
}

extension ControlEvent {
    fileprivate func isWanted(below path: CoordinatorPath?, since: String?) -> Bool {
        if kind == .gap { return true }
        if let since, time < since { return false }
        guard let path else { return true }
        return self.path.flatMap { CoordinatorPath($0) }?.isWithin(path) ?? false
    }
}

extension CoordinatorPath {
    /// Reads a path that an operator has given.
    init(operand text: String) throws(ControlError) {
        guard let path = CoordinatorPath(text) else {
            throw ControlError(.invalidRequest, "'\(text)' isn't a path; a path begins with a slash, such as /shop/cart")
        }
        self = path
    }
}
