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
            case .ending(let turns, let ending):
                guard let id = turns.first else {
                    course = .ended
                    return expectedDirectives.append(.ended(ending))
                }
                guard isGone(id, elseStopThen: .stop) else { return }
                course = .ending(turns: Array(turns.dropFirst()), ending)
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
