import Coordinators

/// The messages to the home screen.
enum Home {
    /// Presses the button of an item.
    struct ShowDetails: ResponderMessage {
        var item: Int
        /// Whether the details get a process of their own.
        var inWorker = false
    }

    /// Asks how many children there are.
    struct ChildCount: ResponderMessage {
        typealias Reply = Int
        static let isIdempotent = true
    }
}
