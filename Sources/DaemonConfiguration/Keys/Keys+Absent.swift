/// The keys of a program that other children don't have.
extension Keys {
    /// What follows "is for" of each key of a program that a mapping doesn't have, by the mapping.
    static let absent: [String: [String: String]] = [
        "oneshot": [
            "recycle": "what goes on: a oneshot ends by itself", "start_seconds": "what goes on: a oneshot may end at once",
            "ready": "what goes on: a oneshot is done when it has ended",
            "watchdog": "what goes on; `start_timeout` limits the time of a oneshot",
            "health": "what goes on; others wait for the end of a oneshot", "sockets": "what goes on, and serves connections",
            "memory_max": "what is started again; `limits` of a oneshot have `memory`",
            "on_daemon_loss": "what goes on: the next daemon runs a oneshot again",
        ],
        "worker": [
            "start_seconds": "programs: a worker is ready when its coordinator's `start` has returned",
            "start_timeout": "programs: a worker has 30 s to become ready",
            "ready": "programs: a worker is ready when its coordinator's `start` has returned",
            "watchdog": "programs: a worker's link shows that it lives, and `hang` says what follows when its coordinator doesn't",
            "health": "programs: a worker's link shows that it lives, and `hang` says what follows when its coordinator doesn't",
            "sockets": "programs: a coordinator opens the sockets that it needs",
            "hooks": "programs: a coordinator has code of its own for these moments, `start` and `stopped`",
            "stop_signal": "programs: a worker is asked to stop by a message",
            "exit_codes": "programs: a worker tells its parent why it ends",
            "stdin": "programs: a worker reads nothing there",
            "stop_group": "programs: a worker is asked to stop by a message",
            "final_exit_codes": "programs: a worker isn't started again after 78 and 125",
            "on_daemon_loss": "programs: `orphan_grace` says how long workers wait for the next daemon",
        ],
    ]

    /// Returns the key of a program that a word means, and why a mapping doesn't have it.
    ///
    /// - Parameter mapping: The name of the mapping in messages.
    static func reason(why word: String, isNotIn mapping: String) -> (key: String, reason: String)? {
        guard let reasons = absent[String(mapping.drop { $0 == "`" }.prefix { $0 != "`" })],
            let key = program.keys.first(where: { $0.description.isMeant(by: word) })?.description.name
        else { return nil }
        return reasons[key].map { (key, $0) }
    }
}
