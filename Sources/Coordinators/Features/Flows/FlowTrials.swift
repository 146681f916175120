/// The trials of the flows that had work under way when the process before ended without closing the store: some of that work may have ended it, and
/// does so again.
///
/// They are tried some at a time, and nothing else is worked on meanwhile, so that whoever ends this process is among few: one, if they were few. A
/// trial that is under way is noted in the store. It lasts until its work has ended, or a moment after that has begun: what ends a process does so
/// soon, and what waits for a service would hold up all others.
struct FlowTrials {
    /// The number of trials; of more suspects several are tried together.
    private static let count = 8
    /// The time that the work of a trial may take.
    static let slot = Duration.milliseconds(100)
    /// The time for which a trial waits for its work to begin.
    static let patience = Duration.milliseconds(250)

    /// The number of the trial that is under way.
    private(set) var number = 0
    /// Whether the time of the trial runs, and whether that is the time of its work.
    private var isTimed = false
    private var hasBegun = false
    /// The flows that may be worked on, as soon as that is noted.
    private(set) var tried: Set<String> = []
    private var rest: [ArraySlice<String>]
    /// What has to be worked on later, by the keys of the flows.
    private var held: [String: @Sendable () -> Void] = [:]

    /// - Parameter suspects: The flows, at least one.
    init(of suspects: [String]) {
        let size = (suspects.count + Self.count - 1) / Self.count
        rest = stride(from: 0, to: suspects.count, by: size).map { suspects[$0..<min($0 + size, suspects.count)] }
    }

    /// Returns whether a flow may be worked on now; if not, a function is kept that is called when it may.
    mutating func admits(_ key: String, otherwise later: @escaping @Sendable () -> Void) -> Bool {
        if tried.contains(key) { return true }
        held[key] = later
        return false
    }

    /// Returns the time after which the trial is over, the first time after it has begun, or its work has.
    mutating func timeToSet(begins key: String) -> Duration? {
        if tried.contains(key), !hasBegun {
            (hasBegun, isTimed) = (true, true)
            return Self.slot
        }
        defer { isTimed = true }
        return isTimed ? nil : Self.patience
    }

    /// - Returns: Whether that was the last work of the trial.
    mutating func hasEnded(_ key: String) -> Bool { tried.remove(key) != nil && tried.isEmpty }

    /// Goes on to the next trial, whose flows may be worked on once they are noted.
    ///
    /// - Returns: The flows; none if there is no other trial.
    mutating func next() -> [String] {
        (number, isTimed, hasBegun, tried) = (number + 1, false, false, [])
        return rest.isEmpty ? [] : Array(rest.removeFirst())
    }

    /// Lets flows be worked on.
    ///
    /// - Returns: What was kept for them.
    mutating func release(_ keys: [String]) -> [@Sendable () -> Void] {
        tried = Set(keys)
        return keys.compactMap { held.removeValue(forKey: $0) }
    }

    /// What is kept for flows that may be worked on after all trials.
    var all: [@Sendable () -> Void] { Array(held.values) }
}
