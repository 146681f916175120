extension TopScreen.View {
    /// Follows a key.
    ///
    /// - Parameters:
    ///   - rows: the paths of the rows in their present order.
    ///   - capacity: the number of rows that the screen has room for.
    /// - Returns: false when the user wants to leave.
    mutating func follow(_ key: FullScreen.Key, rows: [String], capacity: Int) -> Bool {
        if let asked = question {
            question = nil
            if key == .character("y") || key == .character("Y") { wish = asked }
            return true
        }
        switch mode {
        case .filter:
            type(key)
        case .help:
            mode = .rows
            return key != .character("q")
        case .log(let path, let back):
            followInLog(key, path, back, capacity)
        case .rows:
            if key == .character("q") { return false }
            followInRows(key, rows, capacity)
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

    /// Has the log not scrolled beyond its first line.
    mutating func keepLogVisible(lines: Int, capacity: Int) {
        if case .log(let path, let back) = mode { mode = .log(path: path, back: min(back, max(0, lines - capacity))) }
    }

    private mutating func followInRows(_ key: FullScreen.Key, _ rows: [String], _ capacity: Int) {
        if let selected, act(key, on: selected) { return }
        switch key {
        case .character("?"), .character("h"): mode = .help
        case .character("l"), .enter: if let selected { mode = .log(path: selected, back: 0) }
        case .character("s"): next()
        case .character("r"): isReversed.toggle()
        case .character("c"): choose(.cpu)
        case .character("m"): choose(.memory)
        case .character("w"): choose(.waiting)
        case .character("t"): choose(.tree)
        case .character("/"): mode = .filter
        case .escape: filter = ""
        case .up, .character("k"): move(by: -1, rows)
        case .down, .character("j"): move(by: 1, rows)
        case .pageUp: move(by: -max(1, capacity), rows)
        case .pageDown: move(by: max(1, capacity), rows)
        case .home: move(by: -rows.count, rows)
        case .end: move(by: rows.count, rows)
        default: break
        }
    }

    private mutating func followInLog(_ key: FullScreen.Key, _ path: String, _ back: Int, _ capacity: Int) {
        if act(key, on: path) { return }
        // The number of lines isn't known here: the screen limits how far back the log goes.
        func scrolled(by distance: Int) -> TopScreen.View.Mode { .log(path: path, back: max(0, min(back, .max / 2) + distance)) }
        switch key {
        case .up, .character("k"): mode = scrolled(by: 1)
        case .down, .character("j"): mode = scrolled(by: -1)
        case .pageUp: mode = scrolled(by: max(1, capacity))
        case .pageDown: mode = scrolled(by: -max(1, capacity))
        case .home: mode = .log(path: path, back: .max / 2)
        case .end: mode = .log(path: path, back: 0)
        case .character("q"), .character("l"), .escape, .enter, .backspace: mode = .rows
        default: break
        }
    }

    /// Asks for an action, or has the user asked before what ends processes.
    ///
    /// - Returns: Whether the key is that of an action.
    private mutating func act(_ key: FullScreen.Key, on path: String) -> Bool {
        guard let action = TopAction.allCases.first(where: { key == .character($0.key) }) else { return false }
        let request = TopRequest(action: action, path: path)
        if action.endsProcesses { question = request } else { wish = request }
        return true
    }

    private mutating func type(_ key: FullScreen.Key) {
        switch key {
        case .enter: mode = .rows
        case .escape: (filter, mode) = ("", .rows)
        case .backspace: filter = String(filter.dropLast())
        case .character(let character) where filter.count < 100: filter.append(character)
        default: break
        }
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
