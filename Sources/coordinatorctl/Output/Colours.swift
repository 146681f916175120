import Control
import Glibc
import WireProtocol

/// The colours of states on a terminal: 16 colours only, so that the theme decides which they are.
struct Colours {
    /// No colours: texts stay as they are.
    static let off = Colours(areOn: false)
    /// The colours of standard output.
    static var ofOutput: Colours { on(STDOUT_FILENO) }

    /// Whether escapes are written.
    let areOn: Bool

    /// Returns colours when the descriptor is a terminal that has them, and the user hasn't set `NO_COLOR`; see https://no-color.org.
    static func on(_ descriptor: Int32) -> Colours {
        let isWanted = getenv("NO_COLOR").map { $0.pointee == 0 } ?? true
        let terminal = getenv("TERM").map { String(cString: $0) } ?? ""
        return Colours(areOn: isWanted && isatty(descriptor) == 1 && terminal != "dumb" && !terminal.isEmpty)
    }

    /// Returns the text in the colour of a state; what is well has none.
    func text(_ text: String, in state: String) -> String {
        guard areOn, let code = Self.code(of: state) else { return text }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }

    /// Returns the text in one of the colours that tell origins apart; after ten of them the first comes again.
    func text(_ text: String, ofOrigin number: Int) -> String {
        areOn ? "\u{1B}[\(Self.origins[number % Self.origins.count])m\(text)\u{1B}[0m" : text
    }

    /// The parameters of the escapes: no red, which is that of failures.
    private static let origins = [36, 33, 32, 35, 34, 96, 93, 92, 95, 94]

    /// The parameter of the escape; nil for `active`.
    private static func code(of state: String) -> String? {
        switch ShownState(rawValue: state) {
        case .active: nil
        case .failed, .failing, .unresponsive, .unhealthy: "1;31"
        case .restarting, .paused: "33"
        case .waiting, .starting, .stopping: "36"
        case .inactive: "2"
        case nil: "35"
        }
    }
}

extension String {
    /// The number of columns that a terminal needs: without the escapes of colours, and two for each wide character.
    var shownCount: Int {
        if utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return utf8.count }
        var (count, isInEscape) = (0, false)
        for character in self {
            if character == "\u{1B}" {
                isInEscape = true
            } else if !isInEscape {
                count += character.columns
            } else if character == "m" {
                isInEscape = false
            }
        }
        return count
    }

    /// Returns the beginning of a line that fits into some columns, with all of its escapes; what is cut off leaves an ellipsis.
    func cut(to columns: Int) -> String {
        guard shownCount > columns else { return self }
        var (result, count, isInEscape, isFull) = ("", 0, false, false)
        for character in self {
            if character == "\u{1B}" { isInEscape = true }
            if isInEscape {
                result.append(character)
                if character == "m" { isInEscape = false }
            } else if !isFull {
                isFull = count + character.columns > columns - 1
                if isFull, columns > 0 { result.append("…") }
                if !isFull { result.append(character) }
                count += character.columns
            }
        }
        return result
    }
}

extension Character {
    /// The number of columns in which a terminal shows the character: 2 of ideographs, syllables of Korean, full forms and emoji.
    ///
    /// https://www.unicode.org/reports/tr11/
    var columns: Int {
        // The sign that asks for an emoji: digits and © are such with it.
        if unicodeScalars.contains("\u{FE0F}") { return 2 }
        guard let scalar = unicodeScalars.first, scalar.value >= 0x300 else { return 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: if scalar.properties.isEmojiPresentation { return 2 }
        }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19,
            0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F265, 0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }
}
