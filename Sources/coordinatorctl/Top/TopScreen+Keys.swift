extension TopScreen.View {
    /// Follows a key.
    ///
    /// - Parameters:
    ///   - rows: the paths of the rows in their present order.
    ///   - capacity: the number of rows that the screen has room for.
    /// - Returns: false when the user wants to leave.
    mutating func follow(_ key: FullScreen.Key, rows: [String], capacity: Int) -> Bool {
        if isTyping { return type(key) }
        if showsHelp {
            showsHelp = false
            return key != .character("q")
        }
        switch key {
        case .character("q"): return false
        case .character("?"), .character("h"): showsHelp = true
        case .character("s"): next()
        case .character("r"): isReversed.toggle()
        case .character("c"): choose(.cpu)
        case .character("m"): choose(.memory)
        case .character("w"): choose(.waiting)
        case .character("t"): choose(.tree)
        case .character("/"): isTyping = true
        case .escape: filter = ""
        case .up, .character("k"): move(by: -1, rows)
        case .down, .character("j"): move(by: 1, rows)
        case .pageUp: move(by: -max(1, capacity), rows)
        case .pageDown: move(by: max(1, capacity), rows)
        case .home: move(by: -rows.count, rows)
        case .end: move(by: rows.count, rows)
        default: break
        }
        return true
    }

    /// Has the row under the cursor among those that are shown.
    mutating func keepCursorVisible(rows: [String], capacity: Int) {
        if selected == nil || !rows.contains(selected ?? "") { selected = rows.first }
        let index = rows.firstIndex { $0 == selected } ?? 0
        top = min(max(0, rows.count - capacity), max(top, index - capacity + 1))
        top = max(0, min(top, index))
    }

    private mutating func type(_ key: FullScreen.Key) -> Bool {
        switch key {
        case .enter: isTyping = false
        case .escape: (filter, isTyping) = ("", false)
        case .backspace: filter = String(filter.dropLast())
        case .character(let character) where filter.count < 100: filter.append(character)
        default: break
        }
        return true
    }

    private mutating func choose(_ order: TopOrder) { (self.order, isReversed) = (order, false) }

    private mutating func next() {
        let all = TopOrder.allCases
        let index = all.firstIndex(of: order) ?? 0
        choose(all[(index + 1) % all.count])
    }

    private mutating func move(by distance: Int, _ rows: [String]) {
        guard !rows.isEmpty else { return }
        let index = rows.firstIndex { $0 == selected } ?? 0
        selected = rows[min(rows.count - 1, max(0, index + distance))]
    }
}
