import Foundation

/// Tells on standard error what is being measured: on one line of a terminal, or a line for each experiment elsewhere.
final class Progress {
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let start = ContinuousClock.now
    private var experiment = ""

    func begin(_ name: String, _ number: Int, of count: Int) {
        experiment = "[\(number)/\(count)] \(name)"
        if !isTerminal { write("\(time) \(experiment)\n") }
    }

    func show(_ run: String) {
        if isTerminal { write("\r\u{1B}[K\(time) \(experiment): \(run)") }
    }

    func finish() {
        if isTerminal { write("\r\u{1B}[K") }
    }

    private var time: String {
        let seconds = (ContinuousClock.now - start).components.seconds
        return String(format: "%d:%02d", Int(seconds / 60), Int(seconds % 60))
    }

    private func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
