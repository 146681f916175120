/// How long a screen is there: until somebody closes it.
struct ScreenLife: Sendable {
    private let life: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (life, continuation) = AsyncStream<Void>.makeStream()
    }

    /// Ends it; for the second time it does nothing.
    func end() { continuation.finish() }

    /// Returns when it has ended.
    func ended() async { for await _ in life {} }
}
