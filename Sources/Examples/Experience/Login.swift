import Coordinators

/// What a person can do on the login's screen.
enum Login {
    /// Enters the password and presses the button; what comes of it, the delegates hear.
    struct Submit: ResponderMessage {
        var password: String
    }

    /// Presses the other button; the reply is whether the screen goes away.
    struct Cancel: ResponderMessage {
        typealias Reply = Bool
    }
}
