import Coordinators

/// What can be asked of the details screen.
enum Details {
    /// Asks for what is written there.
    struct Text: ResponderMessage {
        typealias Reply = String
        static let isIdempotent = true
    }

    /// Presses the back button.
    struct GoBack: ResponderMessage {}
}
