import Coordinators

/// The messages to the details screen.
enum Details {
    /// Asks for the text on the screen.
    struct Text: ResponderMessage {
        typealias Reply = String
        static let isIdempotent = true
    }

    /// Presses the back button.
    struct GoBack: ResponderMessage {}
}
