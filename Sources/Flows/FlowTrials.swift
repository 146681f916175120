/// The trials of the flows that had work when the process before ended without closing the store: some of that work may have ended it, and does so again.
///
/// First nothing is worked on for a while, so that an end by something else is no flow's. Then the suspects are tried, in up to eight groups in the
/// order in which they come, and nothing else is worked on or sent meanwhile. A trial is over when its work has ended, or its time has passed. What is
/// under way is noted before it begins: if the process ends, it was one of that; and that one, if it was alone. An end that narrows nothing doubles the
/// times, so that work which ends the process late is alone in the end, too.
///
/// The owner calls the methods one at a time, and carries out what they return.
package struct FlowTrials {
    /// What the process after this one is to know.
    package struct Note: Codable, Sendable, Hashable {
        /// The number of ends in a row that came soon after a beginning, and narrowed nothing.
        package var round = 0
        /// The number of suspects in the beginning.
        package var count = 0
        /// The number of ends in a row that were those of the only suspect.
        package var ends = 0
        /// The flows that haven't been tried.
        package var suspects: [String] = []
        /// The flows that are worked on while nothing else is.
        package var underWay: [String] = []

        /// Whether an end during that has told something: it was one of few, or something else while nothing was worked on.
        fileprivate var narrows: Bool { underWay.isEmpty ? !suspects.isEmpty : underWay.count < max(count, 2) }
    }

    /// A flow that had work.
    package struct Work {
        package let key: String
        /// Whether it was no attempt that waited for its time.
        package let isFirst: Bool

        package init(key: String, isFirst: Bool) { (self.key, self.isFirst) = (key, isFirst) }
    }

    package typealias GoOn = @Sendable () -> Void

    /// What follows a call.
    package struct Effects {
        /// What is to be noted, after which `noted` is called.
        package var note: Note?
        /// The time after which `passed` is called, with the number.
        package var timer: (time: Duration, number: Int)?
        /// What is to be called, outside of locks.
        package var goOn: [GoOn] = []
        package var isOver = false
    }

    private enum Stage {
        /// Nothing has been wanted yet. Can transition to: control.
        case waiting
        /// Nothing is worked on. Can transition to: trying.
        case control
        /// Can transition to: ending.
        case trying
        /// The end of all trials is being noted.
        case ending
    }

    /// The number of groups.
    private static let groups = 8
    /// The number of doublings of all times, at most.
    private static let doublings = 8

    /// The ends of a flow's process, with it alone, after which it's parked.
    package static let endsOfCulprit = 3

    /// The flow whose work has ended the process before: it was alone.
    package let culprit: String?
    private let round: Int
    private let ends: Int
    /// The number of suspects in the beginning, and in a group.
    private let count: Int
    private let size: Int
    private var stage = Stage.waiting
    private var suspects: Set<String>
    /// Those of which an attempt is under way, or is about to be.
    private var underWay: Set<String> = []
    /// Those of them that are tried now, and the number that may come yet.
    private var trial: Set<String> = []
    private var room = 0
    private var hasBegun = false
    /// Those that may begin, since that is noted.
    private var admitted: Set<String> = []
    /// Those that wait for a note: that which is under way, and the next.
    private var noting: [String]?
    private var pending: [String] = []
    /// Whether what was noted last isn't true any more.
    private var isStale = false
    /// What is wanted by others, by the keys of the flows.
    private var held: [String: GoOn] = [:]
    private var timer = 0

    /// - Parameters:
    ///   - former: What the process before has noted; `nil`: nothing.
    ///   - works: The flows that have work now.
    /// - Returns: `nil` when there are none.
    package init?(after former: Note?, _ works: [Work]) {
        guard !works.isEmpty else { return nil }
        let keys = Set(works.map(\.key))
        let wereAlone = former.map { $0.underWay.isEmpty ? $0.suspects : $0.underWay } ?? []
        let rest = keys.intersection(wereAlone)
        suspects = rest.isEmpty ? keys : rest
        count = suspects.count
        size = (count + Self.groups - 1) / Self.groups
        if let former, former.underWay.count == 1 {
            culprit = rest.first
            ends = former.count == 1 ? min(former.ends + 1, Self.endsOfCulprit) : 1
        } else {
            // One that waited for its next attempt has done the process no harm, as far as is known.
            culprit = former == nil && works.count == 1 && works[0].isFirst ? works[0].key : nil
            ends = former.map { $0.narrows && $0.count == 1 ? $0.ends : 0 } ?? (culprit == nil ? 0 : 1)
        }
        // A culprit that is parked by now ends nothing any more.
        let isParked = max(ends, former?.ends ?? 0) >= Self.endsOfCulprit
        round = isParked ? 0 : former.map { $0.narrows ? $0.round : $0.round + 1 } ?? 0
    }

    package var note: Note { Note(round: round, count: count, ends: ends, suspects: suspects.sorted(), underWay: underWay.sorted()) }

    /// Returns whether a flow may be worked on, or send; if not, it's called when it may.
    package mutating func admits(_ key: String, works: Bool, otherwise later: @escaping GoOn) -> (isAdmitted: Bool, Effects) {
        var effects = Effects()
        if stage == .waiting {
            stage = .control
            // Longer than until the latest end, which may have been something else's.
            effects.timer = wait(.milliseconds(100), doublings: ends < Self.endsOfCulprit ? 2 * ends : 0)
        }
        if admitted.contains(key) {
            if works, !hasBegun {
                hasBegun = true
                effects.timer = wait(.milliseconds(100))
            }
            return (true, effects)
        }
        held[key] = later
        if works, stage == .trying, room > 0, suspects.remove(key) != nil {
            room -= 1
            trial.insert(key)
            underWay.insert(key)
            pending.append(key)
            isStale = true
            effects.note = noteToBegin()
        }
        return (false, effects)
    }

    /// The attempt at a page of a flow has ended.
    package mutating func hasEnded(_ key: String) -> Effects {
        guard underWay.remove(key) != nil else { return Effects() }
        trial.remove(key)
        admitted.remove(key)
        return stage == .trying && trial.isEmpty && (room == 0 || suspects.isEmpty) ? next() : Effects()
    }

    /// A time has passed.
    package mutating func hasPassed(_ number: Int) -> Effects {
        guard number == timer else { return Effects() }
        switch stage {
        case .control:
            stage = .trying
            return beginTrial()
        case .trying: return next()
        case .waiting, .ending: return Effects()
        }
    }

    /// What was to be noted is.
    package mutating func hasNoted() -> Effects {
        var effects = Effects()
        admitted.formUnion(noting ?? [])
        effects.goOn = (noting ?? []).compactMap { held.removeValue(forKey: $0) }
        noting = nil
        effects.note = noteToBegin()
        if stage == .ending, effects.note == nil {
            effects.goOn += held.values
            effects.isOver = true
        }
        return effects
    }

    private mutating func next() -> Effects {
        // Those that haven't come may have no parent that resumes them.
        if !suspects.isEmpty, room < size { return beginTrial() }
        (stage, suspects, underWay, isStale) = (.ending, [], [], true)
        var effects = Effects()
        effects.note = noteToBegin()
        return effects
    }

    private mutating func beginTrial() -> Effects {
        (room, trial, hasBegun) = (size, [], false)
        var effects = Effects()
        effects.timer = wait(.milliseconds(250))
        effects.goOn = suspects.compactMap { held[$0] }
        return effects
    }

    /// Returns what is to be noted for those that wait for it, unless a note is under way.
    private mutating func noteToBegin() -> Note? {
        guard noting == nil, isStale else { return nil }
        (noting, pending, isStale) = (pending, [], false)
        return note
    }

    private mutating func wait(_ time: Duration, doublings: Int = 0) -> (time: Duration, number: Int) {
        timer += 1
        return (time * (1 << min(round + doublings, Self.doublings)), timer)
    }
}
