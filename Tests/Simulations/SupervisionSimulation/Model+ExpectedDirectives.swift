import Supervision

/// The steps from which every transition is made.
extension Model {
    mutating func begin(_ index: Int, _ launch: Launch) {
        children[index].launch = launch
        children[index].hasGivenUp = false
        children[index].isFinishing = false
        children[index].incarnation += 1
        children[index].state = .starting
        expectedDirectives.append(.start(children[index].id, children[index].incarnation, attempt: children[index].attempts))
    }

    mutating func tellToStop(_ index: Int, _ follow: Follow) {
        children[index].state = .stopping(follow)
        expectedDirectives.append(.stop(children[index].id, children[index].incarnation))
    }

    mutating func retire(_ index: Int) {
        if children[index].specification.restart == .temporary {
            forget(index)
        } else {
            children[index].state = .stopped
        }
    }

    mutating func forget(_ index: Int) {
        let child = children.remove(at: index)
        last[child.id] = child.incarnation
        ownRestarts[child.id] = nil
        expectedDirectives.append(.removed(child.id))
        leaveSiblings(child.id)
    }

    /// Takes a forgotten child out of the restart of its siblings, in which it has no part even if its id comes again.
    mutating func leaveSiblings(_ id: String) {
        guard case .stoppingSiblings(let turns, let members, let inOrder, let at) = course else { return }
        course = .stoppingSiblings(turns: turns, members: members.filter { $0 != id }, inOrder: inOrder, at: at)
    }
}
