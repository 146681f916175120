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
    /// The number of characters that a terminal shows: without the escapes of colours.
    var shownCount: Int {
        guard utf8.contains(0x1B) else { return count }
        var (count, isInEscape) = (0, false)
        for character in self {
            if character == "\u{1B}" {
                isInEscape = true
            } else if !isInEscape {
                count += 1
            } else if character == "m" {
                isInEscape = false
            }
        }
        return count
    }
}
