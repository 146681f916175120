import Coordinators

extension LifecycleChange {
    /// The change in a word, without its reason.
    var label: String {
        switch self {
        case .started: "started"
        case .stopped: "stopped"
        case .crashed: "crashed"
        case .restarted: "restarted"
        case .paused: "paused"
        case .resumed: "resumed"
        case .startFailed: "start_failed"
        case .gaveUp: "gave_up"
        }
    }
}

extension DeadLetter.Reason {
    /// The reason in a word.
    var label: String {
        switch self {
        case .handlerFailed: "handler_failed"
        case .mailboxFull: "mailbox_full"
        case .observerTooSlow: "observer_too_slow"
        case .poisoned: "poisoned"
        case .stopped: "stopped"
        case .undeliverable: "undeliverable"
        }
    }
}
