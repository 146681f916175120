/// The spares of one child as a value: how many processes wait for a life, and when new ones are started.
///
/// The owner answers ``Directive/takeTurn(_:)`` with `turnCame`, ``Directive/launch(_:)`` with `launched` or `launchFailed`, and says `ended`
/// once for every spare that was launched, when nothing is left of it, and for one that could not be.
///
/// - Guarantees: as long as the pool hasn't been closed, it has `target` spares that wait, are being launched, or will be when the time of
///   its latest wake comes, but for those that have been taken since it was last to be filled; it never has more. When
///   it has been closed, ``Directive/closed`` follows once, when nothing is left of any spare that hasn't been taken.
public struct SparePoolMachine: Sendable {
    /// A spare, numbered by the machine; a number is used once.
    public typealias SpareID = UInt64

    /// An event of the pool or of one of its spares.
    public enum Event: Sendable, Hashable {
        /// The owner wants the pool full, after a new life has had the processors for itself for this long.
        case fillRequested(after: Duration)
        /// The turn to spawn has come.
        case turnCame(SpareID)
        /// The spare's process is there.
        case launched(SpareID)
        /// The spare's process can't be had; `ended` follows.
        case launchFailed(SpareID)
        /// A spare has been given a life.
        case taken(SpareID)
        /// A spare has waited as long as a life may last.
        case aged(SpareID)
        /// Nothing is left of a spare, or it has lived its life.
        case ended(SpareID)
        /// The pool is of no use any more.
        case closeRequested
        /// The time of the latest ``Directive/wake(at:)`` has come.
        case timePassed
    }

    /// A step that the owner has to carry out.
    public enum Directive: Sendable, Hashable {
        /// Wait for a turn to spawn, and say `turnCame`.
        case takeTurn(SpareID)
        /// Spawn a process that waits for a life.
        case launch(SpareID)
        /// End a spare that has no life.
        case discard(SpareID)
        /// Say `timePassed` at this time, and forget earlier wakes.
        case wake(at: Duration)
        /// The pool has been closed, and nothing is left of its spares. Given once, as the last directive of all.
        case closed
    }

    /// The progress of a spare.
    public enum Stage: Sendable, Hashable {
        /// The spare waits for its turn to be spawned. Can transition to: launching, nothing.
        case waitingForTurn
        /// The spare's process is being spawned. Can transition to: idle, ending.
        case launching
        /// The spare waits for a life. Can transition to: ending, taken (and forgotten).
        case idle
        /// The spare has been discarded. Can transition to: nothing.
        case ending
    }

    /// The number of spares that are to wait for a life.
    public let target: Int
    package private(set) var stages: [SpareID: Stage] = [:]
    private var lastID: SpareID = 0
    /// The number of spares in a row that have ended while they waited, or could not be launched.
    package private(set) var deaths = 0
    package private(set) var fillTime: Duration?
    private var isClosing = false
    private var hasClosed = false

    /// Creates an empty pool.
    public init(target: Int) {
        self.target = target
    }

    /// Whether the pool takes no more spares.
    public var isOver: Bool { isClosing }

    /// The spares that wait for a life, the one that has waited longest first.
    public var idle: [SpareID] { stages.filter { $0.value == .idle }.keys.sorted() }

    /// Takes note of an event and returns the directives to carry out, in order.
    ///
    /// - Parameter now: the monotonic time since any fixed origin.
    public mutating func handle(_ event: Event, now: Duration) -> [Directive] {
        var directives: [Directive] = []
        switch event {
        case .fillRequested(let delay):
            scheduleFill(at: now + delay, now, &directives)
        case .timePassed:
            guard let fillTime else { break }
            // A wake that comes too early is used up as well.
            if now >= fillTime { fill(&directives) } else { directives.append(.wake(at: fillTime)) }
        case .turnCame(let id):
            guard stages[id] == .waitingForTurn else { break }
            if isClosing {
                stages[id] = nil
            } else {
                stages[id] = .launching
                directives.append(.launch(id))
            }
        case .launched(let id):
            guard stages[id] == .launching else { break }
            stages[id] = .idle
            if isClosing { discard(id, &directives) }
        case .launchFailed(let id):
            guard stages[id] == .launching else { break }
            stages[id] = .ending
            replace(now, &directives)
        case .taken(let id):
            deaths = 0
            if stages[id] == .idle { stages[id] = nil }
        case .aged(let id):
            guard stages[id] == .idle else { break }
            discard(id, &directives)
            scheduleFill(at: now, now, &directives)
        case .ended(let id):
            // Its end may be told before its launch.
            switch stages.removeValue(forKey: id) {
            case .idle, .launching: replace(now, &directives)
            case .waitingForTurn, .ending, nil: break
            }
        case .closeRequested:
            close(&directives)
        }
        if isClosing, !hasClosed, stages.isEmpty {
            hasClosed = true
            directives.append(.closed)
        }
        return directives
    }

    /// Replaces a spare that has ended while it waited, or could not be launched.
    ///
    /// The first is replaced at once; a program that can't wait mustn't take the restarts of others.
    private mutating func replace(_ now: Duration, _ directives: inout [Directive]) {
        deaths += 1
        let delay = deaths == 1 ? Duration.zero : min(.milliseconds(100) * (1 << min(deaths, 9)), .seconds(30))
        scheduleFill(at: now + delay, now, &directives)
    }

    private mutating func scheduleFill(at time: Duration, _ now: Duration, _ directives: inout [Directive]) {
        guard !isClosing, fillTime.map({ time < $0 }) ?? true else { return }
        if time <= now { return fill(&directives) }
        fillTime = time
        directives.append(.wake(at: time))
    }

    private mutating func fill(_ directives: inout [Directive]) {
        fillTime = nil
        guard !isClosing else { return }
        let present = stages.values.count { $0 != .ending }
        for _ in 0..<max(target - present, 0) {
            lastID += 1
            stages[lastID] = .waitingForTurn
            directives.append(.takeTurn(lastID))
        }
    }

    private mutating func close(_ directives: inout [Directive]) {
        isClosing = true
        fillTime = nil
        for (id, stage) in stages.sorted(by: { $0.key < $1.key }) {
            switch stage {
            case .waitingForTurn: stages[id] = nil
            case .idle: discard(id, &directives)
            case .launching, .ending: break
            }
        }
    }

    private mutating func discard(_ id: SpareID, _ directives: inout [Directive]) {
        stages[id] = .ending
        directives.append(.discard(id))
    }
}
