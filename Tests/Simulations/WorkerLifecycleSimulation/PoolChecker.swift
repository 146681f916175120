import WorkerLifecycle

/// Follows a pool of spares by its events and directives alone.
struct PoolChecker: Hashable {
    typealias SpareID = SparePoolMachine.SpareID

    enum Stage: Hashable {
        case waitingForTurn, launching, idle, ending
    }

    /// The longest time after which a missing spare is replaced.
    static let longestDelay = Duration.seconds(30)

    let target: Int
    private(set) var stages: [SpareID: Stage] = [:]
    private var highest: SpareID = 0
    private var mustLaunch: SpareID?
    private var mustDiscard: Set<SpareID> = []
    /// The time before which missing spares must have been replaced; `nil`: none must be.
    private var fillDue: Duration?
    private(set) var isClosing = false
    private(set) var isClosed = false
    private(set) var wake: Duration?

    init(target: Int) {
        self.target = target
    }

    var idle: [SpareID] { stages.filter { $0.value == .idle }.keys.sorted() }

    var present: Int { stages.values.count { $0 != .ending } }

    mutating func enter(
        _ event: SparePoolMachine.Event,
        _ directives: [SparePoolMachine.Directive],
        now: Duration
    ) throws(WorkerViolation) {
        mustLaunch = nil
        mustDiscard = []
        note(event, now)
        for directive in directives { try note(directive, now) }
        try check(now)
    }

    /// Returns the same checker with all times relative to this one.
    func normalised(at now: Duration) -> PoolChecker {
        var checker = self
        checker.fillDue = fillDue.map { $0 - now }
        checker.wake = wake.map { $0 - now }
        // Only the order of numbers matters.
        let order = Dictionary(uniqueKeysWithValues: stages.keys.sorted().enumerated().map { ($1, SpareID($0)) })
        checker.stages = Dictionary(uniqueKeysWithValues: stages.map { (order[$0] ?? 0, $1) })
        checker.highest = 0
        return checker
    }

    private mutating func note(_ event: SparePoolMachine.Event, _ now: Duration) {
        switch event {
        case .fillRequested(let delay): callForFilling(now + delay)
        case .turnCame(let id): if stages[id] == .waitingForTurn { mustLaunch = id }
        case .launched(let id):
            guard stages[id] == .launching else { break }
            stages[id] = .idle
            if isClosing { mustDiscard.insert(id) }
        case .launchFailed(let id):
            guard stages[id] == .launching else { break }
            stages[id] = .ending
            callForFilling(now + Self.longestDelay)
        case .taken(let id): if stages[id] == .idle { stages[id] = nil }
        case .aged(let id):
            guard stages[id] == .idle else { break }
            mustDiscard.insert(id)
            callForFilling(now + Self.longestDelay)
        case .ended(let id):
            guard let stage = stages.removeValue(forKey: id), stage != .ending else { break }
            callForFilling(now + Self.longestDelay)
        case .closeRequested:
            isClosing = true
            fillDue = nil
            for (id, stage) in stages {
                if stage == .waitingForTurn { stages[id] = nil }
                if stage == .idle { mustDiscard.insert(id) }
            }
        case .timePassed: wake = nil
        }
    }

    private mutating func callForFilling(_ time: Duration) {
        if !isClosing, fillDue.map({ time < $0 }) ?? true { fillDue = time }
    }

    private mutating func note(_ directive: SparePoolMachine.Directive, _ now: Duration) throws(WorkerViolation) {
        if isClosed { throw WorkerViolation(.closing, "\(directive) after it was closed") }
        switch directive {
        case .takeTurn(let id):
            guard !isClosing else { throw WorkerViolation(.closing, "a spare is wanted by a pool that closes") }
            guard id > highest else { throw WorkerViolation(.directive, "spare \(id) after \(highest)") }
            highest = id
            stages[id] = .waitingForTurn
            guard present <= target else { throw WorkerViolation(.target, "\(present) of \(target) spares") }
        case .launch(let id):
            guard mustLaunch == id else { throw WorkerViolation(.directive, "spare \(id) is launched out of turn") }
            mustLaunch = nil
            stages[id] = .launching
        case .discard(let id):
            guard mustDiscard.remove(id) != nil else { throw WorkerViolation(.directive, "spare \(id) is discarded") }
            stages[id] = .ending
        case .wake(let time):
            guard time > now else { throw WorkerViolation(.wake, "a wake at \(time), which has passed") }
            wake = time
        case .closed:
            guard isClosing, stages.isEmpty else { throw WorkerViolation(.closing, "closed with \(stages.count) spares") }
            isClosed = true
        }
    }

    private mutating func check(_ now: Duration) throws(WorkerViolation) {
        if let mustLaunch { throw WorkerViolation(.recovery, "spare \(mustLaunch) isn't launched in its turn") }
        if let id = mustDiscard.first { throw WorkerViolation(.closing, "spare \(id) isn't discarded") }
        guard isClosed || !isClosing || !stages.isEmpty else { throw WorkerViolation(.closing, "nothing is left, and that isn't told") }
        if present >= target { fillDue = nil }
        guard let fillDue else { return }
        if let wake, wake <= fillDue { return }
        throw WorkerViolation(.recovery, "\(present) of \(target) spares, and the wake is at \(wake.map { "\($0)" } ?? "no time")")
    }
}
