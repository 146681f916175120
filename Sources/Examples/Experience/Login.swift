import Coordinators

/// The actions of a person on the login's screen.
enum Login {
    /// Enters the password and presses the button; the delegates get the result.
    struct Submit: ResponderMessage {
        var password: String
    }

    /// Presses the other button; the reply is whether the screen goes away.
    struct Cancel: ResponderMessage {
        typealias Reply = Bool
    }
}
