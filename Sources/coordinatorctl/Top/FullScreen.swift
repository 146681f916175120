import Glibc
import Synchronization

/// A terminal that a command has for itself: the alternate screen, keys without Return, no cursor.
///
/// The terminal gets its former state back with ``end()``, and while the command is suspended.
final class FullScreen {
    /// What happened while the command waited for a key.
    enum Event: Equatable {
        case key(Key)
        /// The time is over, or another thread has ended the wait.
        case timeout
        /// The terminal has another size, or was given back after a suspension: everything must be drawn again.
        case redraw
        /// A signal ends the command, or the terminal is gone.
        case end
    }

    enum Key: Equatable {
        case character(Character)
        case up, down, pageUp, pageDown, home, end, escape, enter, backspace
    }

    private static let pending = Atomic<UInt64>(0)
    /// A pipe whose end that is written to ends the wait for a key: so a signal is seen also when it comes just before the wait.
    private static let alarm: (reading: Int32, writing: Int32) = {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return (-1, -1) }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        return (ends[0], ends[1])
    }()
    private static let signals = [SIGWINCH, SIGTSTP, SIGINT, SIGTERM, SIGHUP, SIGQUIT]

    private var former = termios()
    private var shown: [String] = []
    /// The keys that were typed and not followed yet.
    private var keys: [Key] = []
    /// The signal that ends the command, to be raised again when the terminal is restored.
    private(set) var endingSignal: Int32?

    /// Takes the terminal; nil when standard input or output is none.
    init?() {
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1, tcgetattr(STDIN_FILENO, &former) == 0 else { return nil }
        Self.pending.store(0, ordering: .relaxed)
        // The pipe is made before a signal's handler needs it.
        guard Self.alarm.writing >= 0 else { return nil }
        for number in Self.signals {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { number in
                let error = errno
                FullScreen.pending.bitwiseOr(1 << UInt64(number), ordering: .relaxed)
                FullScreen.wake()
                errno = error
            }
            sigaction(number, &action, nil)
        }
        enterScreen()
    }

    /// The size of the terminal in characters.
    var size: (width: Int, height: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Shows the lines, of which only those are written that have changed.
    ///
    /// - Returns: whether the terminal has taken them.
    func show(_ lines: [String]) -> Bool {
        let text = Self.change(from: shown, to: lines)
        shown = lines
        return text.isEmpty || Self.write(text)
    }

    /// Returns what is written to put lines in place of those that are shown.
    static func change(from shown: [String], to lines: [String]) -> String {
        var text = ""
        for (index, line) in lines.enumerated() where index >= shown.count || shown[index] != line {
            // Erased before: behind a line that fills the row the cursor stays on the last column, which would be erased with what follows.
            text += "\u{1B}[\(index + 1);1H\u{1B}[0m\u{1B}[K\(line)\u{1B}[0m"
        }
        // Nothing of a longer screen stays below.
        if lines.count < shown.count { text += "\u{1B}[\(lines.count + 1);1H\u{1B}[J" }
        return text
    }

    /// Ends the wait for a key, from any thread.
    static func wake() {
        var byte: UInt8 = 0
        // A pipe that is full has ended the wait already.
        _ = Glibc.write(alarm.writing, &byte, 1)
    }

    /// Waits for a key, a signal or ``wake()``.
    func next(within duration: Duration) -> Event {
        if let event = takeSignal() { return event }
        if !keys.isEmpty { return .key(keys.removeFirst()) }
        var polls = [STDIN_FILENO, Self.alarm.reading].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        let ready = poll(&polls, 2, max(0, Int32(duration / .milliseconds(1))))
        if ready > 0, polls[1].revents != 0 {
            var rung = [UInt8](repeating: 0, count: 64)
            while read(Self.alarm.reading, &rung, rung.count) == rung.count {}
        }
        if let event = takeSignal() { return event }
        guard ready > 0, polls[0].revents != 0 else { return .timeout }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = read(STDIN_FILENO, &bytes, bytes.count)
        // A terminal that is gone is readable for ever.
        guard count > 0 else { return count < 0 && errno == EINTR ? .timeout : .end }
        keys = Self.keys(bytes[..<count])
        return keys.isEmpty ? .timeout : .key(keys.removeFirst())
    }

    /// Gives the terminal its former state back.
    func end() {
        _ = Self.write("\u{1B}[?25h\u{1B}[?1049l")
        tcsetattr(STDIN_FILENO, TCSADRAIN, &former)
    }

    private func enterScreen() {
        var raw = former
        raw.c_lflag &= ~tcflag_t(ICANON | ECHO)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw)
        _ = Self.write("\u{1B}[?1049h\u{1B}[?25l\u{1B}[H\u{1B}[2J")
        shown = []
    }

    private func takeSignal() -> Event? {
        let pending = Self.pending.exchange(0, ordering: .relaxed)
        let has = { (number: Int32) in pending & (1 << UInt64(number)) != 0 }
        if let number = [SIGINT, SIGTERM, SIGHUP, SIGQUIT].first(where: has) {
            endingSignal = number
            return .end
        }
        if has(SIGTSTP) {
            end()
            raise(SIGSTOP)
            enterScreen()
            return .redraw
        }
        guard has(SIGWINCH) else { return nil }
        _ = Self.write("\u{1B}[2J")
        shown = []
        return .redraw
    }

    /// Reads what was typed; an unknown sequence of a key is skipped.
    static func keys(_ bytes: ArraySlice<UInt8>) -> [Key] {
        var keys: [Key] = []
        var rest = bytes
        while let first = rest.first {
            if first == 0x1B, let second = rest.dropFirst().first, second == 0x5B || second == 0x4F {
                // A sequence ends with a letter or a tilde.
                let length = 3 + rest.dropFirst(2).prefix { !(0x40...0x7E).contains($0) }.count
                if let key = sequences[Array(rest.prefix(length).dropFirst(2))] { keys.append(key) }
                rest = rest.dropFirst(length)
            } else {
                let length = max(1, first.leadingZeroBitCount == 0 ? (~first).leadingZeroBitCount : 1)
                switch first {
                case 0x1B: keys.append(.escape)
                case 0x0A, 0x0D: keys.append(.enter)
                case 0x08, 0x7F: keys.append(.backspace)
                case ..<0x20: break
                default: keys += String(decoding: rest.prefix(length), as: UTF8.self).prefix(1).map(Key.character)
                }
                rest = rest.dropFirst(length)
            }
        }
        return keys
    }

    /// The sequences of keys after their first two bytes.
    private static let sequences: [[UInt8]: Key] = [
        Array("A".utf8): .up, Array("B".utf8): .down, Array("5~".utf8): .pageUp, Array("6~".utf8): .pageDown,
        Array("H".utf8): .home, Array("1~".utf8): .home, Array("F".utf8): .end, Array("4~".utf8): .end,
    ]

    private static func write(_ text: String) -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
