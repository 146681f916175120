import Supervision

/// The transitions that concern several children, one after the other.
extension Model {
    mutating func restartTogether(_ affected: [String]) {
        var members = affected
        switch course {
        case .stoppingSiblings(_, let others, _, _): members += others
        case .startingSiblings(let turns, _): members += turns.filter { id in index(id).map { children[$0].isWaiting } ?? false }
        case .steady, .ending, .ended: break
        }
        let inOrder = children.map(\.id).filter(members.contains)
        var at = now
        for child in children where inOrder.contains(child.id) {
            if case .waiting(let time, _) = child.state { at = max(at, time) }
        }
        for id in inOrder {
            guard let index = index(id) else { continue }
            let isTemporary = children[index].specification.restart == .temporary
            switch children[index].state {
            case .waiting, .stopped:
                if isTemporary {
                    forget(index)
                } else if children[index].isWaiting || !children[index].hasGivenUp {
                    guard children[index].isWaiting || affected.contains(id) else { continue }
                    if !children[index].isWaiting { children[index].attempts = 0 }
                    children[index].state = .waiting(until: at, appointment: nil)
                }
            case .stopping(.stop):
                if !isTemporary, affected.contains(id) { children[index].state = .stopping(.siblings) }
            case .starting, .ready, .stopping:
                break
            }
        }
        let joined = inOrder.filter { index($0) != nil }
        course = .stoppingSiblings(turns: joined.reversed(), members: joined, inOrder: joined, at: at)
    }

    mutating func proceed() throws(Violation) {
        while true {
            switch course {
            case .steady, .ended:
                return
            case .ending(let turns, let isChain, let ending):
                tellNext(turns.sorted(), isChain: isChain)
                guard !turns.contains(where: isAlive) else { return }
                course = .ended
                return expectedDirectives.append(.ended(ending))
            case .stoppingSiblings(let turns, let members, let inOrder, let at):
                guard let id = turns.first else {
                    course = .startingSiblings(turns: inOrder, at: at)
                    continue
                }
                let isTemporary = index(id).map { children[$0].specification.restart == .temporary } ?? false
                guard !members.contains(id) || isGone(id, elseStopThen: isTemporary ? .remove : .siblings) else { return }
                course = .stoppingSiblings(turns: Array(turns.dropFirst()), members: members, inOrder: inOrder, at: at)
            case .startingSiblings(let turns, let at):
                guard at <= now else { return }
                guard let id = turns.first else { return course = .steady }
                if let index = index(id) {
                    if children[index].isWaiting { return begin(index, .restart) }
                    if children[index].state == .starting { return }
                }
                course = .startingSiblings(turns: Array(turns.dropFirst()), at: at)
            }
        }
    }

    /// Tells the children to stop, in this order, that no other child has to end before.
    mutating func tellNext(_ ids: [String], isChain: Bool, breaksCircles: Bool = true) {
        let alive = children.filter(\.isAlive)
        func others(_ child: Child) -> [String]? {
            if !isChain, case .outside(let others) = child.specification.stopPlace { others } else { nil }
        }
        let outside = alive.filter { others($0) != nil }
        var next = outside.filter { child in !outside.contains { $0.id != child.id && others($0)?.contains(child.id) == true } }.map(\.id)
        // Those that wait for one another wait for nothing else.
        if breaksCircles, !alive.contains(where: \.isStopping), !next.contains(where: isReady) { next = outside.map(\.id) }
        if outside.isEmpty { next = alive.suffix(1).map(\.id) }
        for id in ids where next.contains(id) && isReady(id) { if let index = index(id) { tellToStop(index, .stop) } }
    }

    private func isAlive(_ id: String) -> Bool { index(id).map { children[$0].isAlive } ?? false }

    private func isReady(_ id: String) -> Bool {
        guard let index = index(id), case .ready = children[index].state else { return false }
        return true
    }

    private mutating func isGone(_ id: String, elseStopThen follow: Follow) -> Bool {
        guard let index = index(id) else { return true }
        switch children[index].state {
        case .starting, .ready:
            tellToStop(index, follow)
            return false
        case .stopping:
            return false
        case .waiting, .stopped:
            return true
        }
    }
}
