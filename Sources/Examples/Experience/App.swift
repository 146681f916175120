import Coordinators

/// The messages to the app as a whole.
enum App {
    /// The app leaves the screen; the reply lists the coordinators that have throttled their work, by path.
    struct EnterBackground: ResponderMessage {
        typealias Reply = [CoordinatorPath]
    }

    /// The app is on the screen again; the reply lists the coordinators that still rest, because they rested before.
    struct EnterForeground: ResponderMessage {
        typealias Reply = [CoordinatorPath]
    }

    /// Says that the sender has throttled its work, or has taken it up again.
    struct Throttled: ResponderMessage {
        static let isIdempotent = true
        var isResting: Bool
    }

    /// Asks for the keys of the app's children.
    struct Children: ResponderMessage {
        typealias Reply = [String]
        static let isIdempotent = true
    }

    /// Asks for what the log has of the logins.
    struct Log: ResponderMessage {
        typealias Reply = [String]
        static let isIdempotent = true
    }
}
