/// The daemon's end, asked for by signals and operators alike: whoever asks can wait for it.
final class Shutdowns: Sendable {
    private let asked = OneTimeSignal()
    private let completion = OneTimeSignal()

    /// Asks for the end; the second time does nothing.
    func request() { asked.send() }

    /// Waits until somebody asks, or the waiting task is cancelled.
    func requested() async { await asked.wait() }

    /// The tree has ended.
    func complete() { completion.send() }

    /// Waits until the tree has ended.
    func completed() async { await completion.wait() }
}
