/// The lifetime of a screen, which ends when the screen is closed.
struct ScreenLife: Sendable {
    private let life: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (life, continuation) = AsyncStream<Void>.makeStream()
    }

    /// Ends the lifetime; a second call does nothing.
    func end() { continuation.finish() }

    /// Returns when the lifetime has ended.
    func ended() async { for await _ in life {} }
}
