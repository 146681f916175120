/// The changes of a store after a revision.
///
///     let listing = try await store.list(.folder(.owners), until: .now + .seconds(5))
///     for await event in store.watch(.folder(.owners), after: listing.revision) {
///         switch event {
///         case .changed(let changes): …
///         case .interrupted(let error): …  // the watch goes on by itself
///         case .outdated: …                // list again, and begin another watch
///         }
///     }
///
/// Nothing is kept for a watch while it waits for the next call: a reader that is slow reads late, and one that is much too slow gets
/// ``StoreEvent/outdated``. The watch ends after that event, and with the cancellation of its task.
public struct StoreWatch: AsyncSequence, Sendable {
    private let begin: @Sendable () -> any WatchReader

    package init(_ begin: @escaping @Sendable () -> any WatchReader) { self.begin = begin }

    /// Begins the watch.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: begin()) }

    /// The events of one watch.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let reader: any WatchReader

        /// Waits for the next event; `nil` after the end of the watch.
        public mutating func next() async -> StoreEvent? { await reader.next() }

        /// Waits for the next event; `nil` after the end of the watch.
        ///
        /// - Parameter actor: The actor of the caller.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> StoreEvent? { await reader.next() }
    }
}

/// What a watch has to tell.
public enum StoreEvent: Sendable {
    /// Keys were changed, in this order; at least one.
    case changed([StoreChange])
    /// The watch has lost its connection, or gets none, and goes on trying: no change is lost by that. It's told once until there is a
    /// connection again.
    case interrupted(StoreError)
    /// The store doesn't keep the next changes any more, or to look for them would cost it more than a listing: list again, and begin another
    /// watch. Nothing follows.
    case outdated
}

/// What delivers the events of one watch, to one reader.
package protocol WatchReader {
    func next() async -> StoreEvent?
}
