extension Checker {
    /// What the history tells of one message.
    private struct Message {
        let sent: Int64
        let kind: Record.MessageKind
        let target: String
        var settled: (time: Int64, outcome: Record.Outcome)?
        /// The first incarnation that has handled it; nearly all messages have one.
        var executor: ProcessLife?
        var laterExecutors: [ProcessLife] = []
    }

    /// Two ends of a way whose messages keep their order.
    private struct Way: Hashable {
        let sender: ProcessLife
        let receiver: ProcessLife
    }

    /// The two ends of a route, by path.
    private struct Route: Hashable {
        let sender: String
        let target: String
    }

    /// Checks what became of each message.
    mutating func checkMessages() {
        var messages: [MessageID: Message] = [:]
        var latest: [Way: Int] = [:]
        for record in records {
            switch record.event {
            case .sent(let number, let kind, let target):
                messages[MessageID(sender: record.process, number: number)] = Message(sent: record.time, kind: kind, target: target)
            case .settled(let number, let outcome):
                messages[MessageID(sender: record.process, number: number)]?.settled = (record.time, outcome)
            case .executed(let id, let kind):
                verdict.messages.executions += 1
                guard kind != .repeated else {
                    messages[id]?.executor = record.process
                    continue
                }
                if note(record.process, of: id, in: &messages), let message = messages[id] {
                    checkOrder(of: message, id, in: record.process, at: record.time, &latest)
                }
            default: break
            }
        }
        check(messages)
    }

    /// Notes who has handled a message.
    ///
    /// - Returns: Whether that is the first time in this incarnation.
    private mutating func note(_ executor: ProcessLife, of id: MessageID, in messages: inout [MessageID: Message]) -> Bool {
        guard let message = messages[id] else {
            verdict.add(.executedAgain, "\(id) was executed by \(executor) and never sent")
            return false
        }
        guard let first = message.executor else {
            messages[id]?.executor = executor
            return true
        }
        messages[id]?.laterExecutors.append(executor)
        if first == executor || message.laterExecutors.contains(executor) {
            verdict.add(.executedTwice, "\(message.kind.rawValue) \(id) to \(message.target) was executed twice by \(executor)")
            return false
        }
        verdict.add(.executedAgain, "\(message.kind.rawValue) \(id) to \(message.target) was executed by \(first) and by \(executor)")
        return true
    }

    private mutating func checkOrder(
        of message: Message,
        _ id: MessageID,
        in receiver: ProcessLife,
        at time: Int64,
        _ latest: inout [Way: Int]
    ) {
        let way = Way(sender: id.sender, receiver: receiver)
        if let before = latest[way], before > id.number, !mayHaveMoved(message, to: receiver, by: time) {
            verdict.add(.outOfOrder, "\(receiver) executed \(id) after number \(before) of the same sender")
        }
        latest[way] = max(latest[way] ?? 0, id.number)
    }

    /// Returns whether a pool may have given a message to another member first, which has then come to harm: what waited there goes to the rest.
    private func mayHaveMoved(_ message: Message, to receiver: ProcessLife, by time: Int64) -> Bool {
        let members = message.target + "/"
        guard lives[receiver]?.path.hasPrefix(members) == true else { return false }
        return lives.all.contains { life in
            guard life.process != receiver, life.path.hasPrefix(members) else { return false }
            return (life.faults.map(\.time) + [life.down]).contains { (message.sent...time).contains($0) }
        }
    }

    private mutating func check(_ messages: [MessageID: Message]) {
        var routes: [Route: [Range<Int64>]] = [:]
        // In the order of their times, so that the first violations are those that are shown.
        for (id, message) in messages.sorted(by: { $0.value.sent < $1.value.sent }) {
            verdict.messages.sent += 1
            count(message, id)
            checkOverlap(of: message, id)
            checkResolution(of: message, id, &routes)
        }
    }

    private mutating func count(_ message: Message, _ id: MessageID) {
        switch message.settled?.outcome {
        case .acknowledged:
            verdict.messages.acknowledged += 1
            if message.executor == nil {
                verdict.add(.acknowledgedLost, "\(message.kind.rawValue) \(id) to \(message.target) was acknowledged and never executed")
            }
        case .accepted: if message.executor == nil { verdict.messages.plainLost += 1 }
        case .refused: verdict.messages.failures["unhandled", default: 0] += 1
        case .failed(let code, let maybeExecuted):
            verdict.messages.failures[code, default: 0] += 1
            if !maybeExecuted, message.executor != nil {
                verdict.add(.executedAgain, "\(id) to \(message.target) was executed, and its sender was told by \(code) that it was not")
            }
        case nil: break
        }
    }

    /// Checks that a life that gives way to one beside it got nothing that was sent after that was ready.
    private mutating func checkOverlap(of message: Message, _ id: MessageID) {
        guard let executor = message.executor, let life = lives[executor], let next = lives.successor(of: life), next.overlaps,
            let ready = next.ready, message.sent > ready + limits.handover.nanoseconds
        else { return }
        let time = (message.sent - ready) / 1_000_000
        verdict.add(.livedTwice, "\(id) was sent \(time) ms after \(next.process) was ready, and executed by \(executor), its predecessor")
    }

    /// Checks that the call ended within the limit in which its route was there without a break.
    private mutating func checkResolution(of message: Message, _ id: MessageID, _ routes: inout [Route: [Range<Int64>]]) {
        guard let sender = lives[id.sender] else { return }
        if message.settled == nil {
            guard sender.down == .max else {
                verdict.messages.abandoned += 1
                return
            }
            verdict.add(.unresolved, "\(message.kind.rawValue) \(id) from \(sender.path) to \(message.target) never ended")
            return
        }
        let limit = limits.resolution.nanoseconds
        guard let settled = message.settled?.time, settled - message.sent > limit else { return }
        let route = Route(sender: sender.path, target: message.target)
        let upTimes = routes[route] ?? upTimes(of: route)
        routes[route] = upTimes
        let open = message.sent..<settled
        guard let longest = upTimes.map({ $0.clamped(to: open) }).map({ $0.upperBound - $0.lowerBound }).max(), longest > limit else {
            return
        }
        verdict.add(
            .unresolved,
            "\(message.kind.rawValue) \(id) from \(sender.path) to \(message.target) took \((settled - message.sent) / 1_000_000) ms, "
                + "\(longest / 1_000_000) ms of them with the whole route there"
        )
    }

    private func upTimes(of route: Route) -> [Range<Int64>] {
        // Of a pool any member may be the target: it has no times of its own.
        let ends = [route.sender, route.target].filter { !lives.lives(of: $0).isEmpty }
        let paths = Set(lives.ancestors(of: route.sender) + lives.ancestors(of: route.target) + ends)
        return lives.upTimes(ofAll: paths.sorted())
    }
}

extension Duration {
    /// The duration in nanoseconds.
    var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
