import Testing

@testable import coordinatorctl

@Suite("The last column of a terminal")
struct LastColumnTests {
    /// A terminal as xterm and the Linux console are: behind a character in the last column the cursor stays there until the next one comes,
    /// and erasing takes the character.
    private struct XTerm {
        private var cells: [[Character]]
        private let width: Int
        private var (row, column, isPending) = (0, 0, false)

        init(_ width: Int, _ height: Int) {
            self.width = width
            cells = Array(repeating: Array(repeating: " ", count: width), count: height)
        }

        var lines: [String] { cells.map { String($0) } }

        mutating func write(_ text: String) {
            var rest = text[...]
            while let character = rest.popFirst() {
                switch character {
                case "\u{1B}":
                    _ = rest.popFirst()
                    let parameters = rest.prefix { $0.isNumber || $0 == ";" }
                    rest = rest.dropFirst(parameters.count)
                    obey(rest.popFirst() ?? "?", parameters.split(separator: ";").compactMap { Int($0) })
                case "\r": (column, isPending) = (0, false)
                default: put(character)
                }
            }
        }

        private mutating func put(_ character: Character) {
            if isPending { (row, column, isPending) = (min(row + 1, cells.count - 1), 0, false) }
            cells[row][column] = character
            isPending = column == width - 1
            if !isPending { column += 1 }
        }

        private mutating func obey(_ command: Character, _ parameters: [Int]) {
            switch command {
            case "H": (row, column, isPending) = (parameters[0] - 1, parameters[1] - 1, false)
            case "K": erase(row, from: column)
            case "J": for line in row..<cells.count { erase(line, from: line == row ? column : 0) }
            default: break
            }
        }

        private mutating func erase(_ line: Int, from first: Int) {
            for index in first..<width { cells[line][index] = " " }
            isPending = false
        }
    }

    @Test("The screen of `top` shows lines that fill it to their last columns, in place of any others")
    func screen() {
        var terminal = XTerm(8, 3)
        var shown: [String] = []
        for lines in [["12:34:56", "abcdefgh", ""], ["12:34:57", "a", "ABCDEFGH"], ["\u{1B}[1;31m12:34:58\u{1B}[0m", "abcdefgh"]] {
            terminal.write(FullScreen.change(from: shown, to: lines))
            shown = lines
            let plain = lines.map { $0.replacing("\u{1B}[1;31m", with: "").replacing("\u{1B}[0m", with: "") }
            #expect(terminal.lines == (plain + ["", ""]).prefix(3).map { $0 + String(repeating: " ", count: 8 - $0.count) })
        }
    }

    @Test("A line of standard error that is replaced has its last column, too", arguments: [7, 8, 9, 30])
    func line(length: Int) {
        var terminal = XTerm(8, 1)
        for text in ["abcdefgh", String("1234567890ABCDEFGHIJ1234567890".prefix(length)), "x"] {
            terminal.write(Terminal.replacingLine(by: text, width: 8))
            let shown = text.cut(to: 8)
            #expect(terminal.lines == [shown + String(repeating: " ", count: 8 - shown.count)])
        }
    }
}
