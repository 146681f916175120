import Supervision
import SupervisionSimulation

/// A supervisor under observation by the invariants of the simulations, with a clock that is moved by hand.
struct Observed {
    private var watched: Watched
    var now: Duration = .seconds(1_000)
    /// The first invariant that was broken, and the event.
    private(set) var complaint: String?
    /// The directives so far, by their names, to see that a run was worth its time.
    private(set) var kinds: Set<String> = []

    init(_ policy: SupervisionPolicy, seed: UInt64 = 0) { watched = Watched(policy, seed: seed) }

    var supervisor: Supervisor { watched.supervisor }
    var isOver: Bool { watched.isOver }
    var wake: Duration? { watched.wake }

    func incarnation(_ id: String) -> Incarnation { watched.life(id)?.incarnation ?? 1 }

    mutating func send(_ event: Event) {
        guard complaint == nil else { return }
        var answer: [Directive] = []
        do throws(Violation) { try watched.handle(event, now: now, answer: &answer) } catch { complaint = "\(event): \(error)" }
        for directive in answer {
            guard case .report(_, _, let change) = directive else {
                kinds.insert(String("\(directive)".prefix { $0 != "(" }))
                continue
            }
            kinds.insert(String("\(change)".prefix { $0 != "(" }))
        }
    }

    /// Lets something that was ordered be done: a stop, or a start in one of two ways.
    mutating func answer(at place: Int, _ reason: ExitReason, succeeds: Bool) {
        let lives = Place.ids.compactMap { id in watched.life(id).map { (id, $0) } }
        guard !lives.isEmpty else { return }
        let (id, life) = lives[place % lives.count]
        if life.isToldToStop {
            send(.exited(id, life.incarnation, reason))
        } else if !life.isReady {
            send(succeeds ? .started(id, life.incarnation) : .startFailed(id, life.incarnation, reason))
        }
    }

    /// Asks for the end and lets everything that lives stop when it is told to.
    mutating func bringToAnEnd() {
        send(.shutdownRequested(.shutdown))
        while !isOver, complaint == nil {
            for id in Place.ids { if let life = watched.life(id), life.isToldToStop { send(.exited(id, life.incarnation, .shutdown)) } }
        }
        for event: Event in [
            .startRequested(Child(id: "new")), .timePassed, .restartRequested("a"), .shutdownRequested(.normal), .started("a", 1),
        ] {
            send(event)
        }
    }
}
