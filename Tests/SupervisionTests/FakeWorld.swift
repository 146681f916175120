import Supervision

/// A tiny world that does what a supervisor says and complains when it says what it must not.
///
/// It keeps its own books of what lives and what is wanted, by rules of its own, and compares.
struct FakeWorld {
    struct Life {
        let incarnation: Incarnation
        var isReady = false
        var isToldToStop = false
    }

    var supervisor: Supervisor
    var now: Duration = .seconds(1_000)
    let policy: SupervisionPolicy

    private(set) var lives: [String: Life] = [:]
    var complaints: [String] { book.complaints }
    private(set) var isOver = false
    private(set) var wake: Duration?
    /// Whether the time of a wake has passed and wasn't reported yet.
    private var isWakeLate = false
    /// The number of events of each kind, to see that a run was worth its time.
    private(set) var tally: [String: Int] = [:]

    /// A class, so that a complaint may quote the world while it is written down.
    private final class Book {
        var complaints: [String] = []
    }

    private let book = Book()
    private var known: Set<String> = []
    /// Ids that shall be forgotten.
    private var leaving: Set<String> = []
    /// Ids that were to be forgotten and are requested again: they come back as the last, and take part in no restart of siblings.
    private var returning: Set<String> = []
    /// Ids that failed for good.
    private var givenUp: Set<String> = []
    /// Ids that are to be started again together.
    private var together: Set<String> = []
    /// The ids in `together`, and their siblings that have failed for good: requested again, they take part again.
    private var siblings: Set<String> = []
    /// Whether an end has come that may end the supervisor.
    private var hasEndThatCounts = false
    private var mustEnd = false
    private var highest: [String: Incarnation] = [:]
    /// Ids whose start was not withdrawn: nothing else may be started.
    private var wanted: Set<String> = []
    /// Starts that have been ordered and not yet been answered to those who watch.
    private var unanswered: [String: Incarnation] = [:]
    private var restarts: [Duration] = []
    /// The earliest time at which a failed child may be started again, unless a request comes sooner.
    private var notBefore: [String: Duration] = [:]
    /// The children in start order when the end began, and what has been stopped since.
    private var orderAtEnd: [String]?
    private var stopsAtEnd: [String] = []
    private var specifications: [String: Child] = [:]

    init(_ policy: SupervisionPolicy, seed: UInt64 = 0) {
        self.policy = policy
        supervisor = Supervisor(policy: policy, seed: seed)
    }

    private func expect(_ condition: Bool, _ text: @autoclosure () -> String) {
        if !condition { book.complaints.append("at \(now): \(text())") }
    }

    // MARK: - What happens

    mutating func send(_ event: Event) {
        let wasOver = isOver
        let wasEnding = supervisor.isEnding
        mustEnd = false
        isWakeLate = wake.map { $0 <= now } ?? false
        note(event, wasEnding: wasEnding)
        let directives = supervisor.handle(event, now: now)
        if supervisor.isEnding, orderAtEnd == nil { orderAtEnd = supervisor.ids + lives.keys.filter { supervisor.state(of: $0) == nil } }
        if wasOver {
            expect(directives.isEmpty, "after its end the supervisor answered \(event) with \(directives)")
        }
        for (index, directive) in directives.enumerated() {
            expect(!isOver, "\(directive) came after the end")
            carryOut(directive, isLast: index == directives.count - 1)
        }
        expect(!mustEnd || supervisor.isEnding, "a significant child has ended, and the supervisor lives on")
        compare()
    }

    /// Updates the world's own knowledge from the event, before the supervisor decides.
    private mutating func note(_ event: Event, wasEnding: Bool) {
        switch event {
        case .startRequested(let specification):
            guard !wasEnding, (try? specification.validate(under: policy.autoShutdown)) != nil else { return }
            let id = specification.id
            known.insert(id)
            if leaving.remove(id) != nil { returning.insert(id) }
            // A child that lives or waits keeps its specification.
            switch supervisor.state(of: id) {
            case nil, .stopped, .stopping: specifications[id] = specification
            case .starting, .running, .waiting: break
            }
            want(id)
        case .restartRequested(let id):
            guard !wasEnding, known.contains(id) else { return }
            if supervisor.state(of: id).map({ if case .stopping(_, .remove) = $0 { false } else { true } }) ?? false { want(id) }
        case .stopRequested(let id):
            wanted.remove(id)
            returning.remove(id)
        case .removeRequested(let id):
            wanted.remove(id)
            returning.remove(id)
            leaving.insert(id)
        case .finished(let id, let incarnation):
            guard !wasEnding, let life = lives[id], life.incarnation == incarnation else { return }
            wanted.remove(id)
            returning.remove(id)
            leaving.insert(id)
            // It may become significant until it has ended.
            if !life.isToldToStop { hasEndThatCounts = true }
        case .specificationChanged(let specification):
            let id = specification.id
            guard !wasEnding, known.contains(id), (try? specification.validate(under: policy.autoShutdown)) != nil else { return }
            specifications[id] = specification
        case .started(let id, let incarnation):
            if lives[id]?.incarnation == incarnation { lives[id]?.isReady = true }
        case .startFailed(let id, let incarnation, let reason), .exited(let id, let incarnation, let reason):
            guard let life = lives[id], life.incarnation == incarnation else { return }
            lives[id] = nil
            let type = specifications[id]?.restart
            if !life.isToldToStop {
                if reason.isPermanentFailure || type == .temporary { wanted.remove(id) }
                if life.isReady, type == .transient, reason.isNormal, !together.contains(id) { wanted.remove(id) }
                let isForGood = type == .temporary || reason.isNormal || reason.isPermanentFailure
                if specifications[id]?.isSignificant == true, isForGood {
                    hasEndThatCounts = true
                    mustEnd = policy.autoShutdown == .anySignificant && life.isReady && together.isEmpty
                }
            }
        case .shutdownRequested:
            wanted = []
        case .timePassed:
            wake = nil
            isWakeLate = false
        case .policyChanged:
            break
        }
    }

    private mutating func want(_ id: String) {
        wanted.insert(id)
        if siblings.contains(id) { together.insert(id) }
    }

    private mutating func carryOut(_ directive: Directive, isLast: Bool) {
        switch directive {
        case .start(let id, let incarnation, let attempt):
            tally["start", default: 0] += 1
            expect(known.contains(id), "start of unknown \(id)")
            expect(lives[id] == nil, "\(id) \(incarnation) is started while \(lives[id]?.incarnation ?? 0) lives")
            expect(incarnation > highest[id, default: 0], "\(id) \(incarnation) was used before")
            expect(wanted.contains(id), "\(id) is started although nobody wants it")
            expect(orderAtEnd == nil, "\(id) is started at the end")
            if attempt > 0 { expect(now >= notBefore[id] ?? now, "\(id) is started before its time") }
            expect(unanswered[id] == nil, "the start of \(id) \(unanswered[id] ?? 0) was never answered")
            if returning.remove(id) != nil { leaveSiblings(id) }
            highest[id] = incarnation
            lives[id] = Life(incarnation: incarnation)
            unanswered[id] = incarnation
            givenUp.remove(id)
        case .stop(let id, let incarnation, let shutdown):
            tally["stop", default: 0] += 1
            expect(lives[id]?.incarnation == incarnation, "stop of \(id) \(incarnation), which doesn't live")
            expect(lives[id]?.isToldToStop == false, "\(id) \(incarnation) is stopped twice")
            expect(shutdown == .timeout(.seconds(5)), "\(id) is stopped with \(shutdown)")
            // No order is owed to what was never ready.
            if let orderAtEnd, lives[id]?.isReady == true {
                let later = orderAtEnd.reversed().prefix { $0 != id }.filter { lives[$0] != nil }
                expect(later.isEmpty, "\(id) is stopped at the end while \(later) are alive")
                stopsAtEnd.append(id)
            }
            lives[id]?.isToldToStop = true
        case .report(let id, let incarnation, let change):
            expect(known.contains(id), "report \(change) about unknown \(id)")
            expect(highest[id] == incarnation, "report \(change) about \(id) \(incarnation), not the latest")
            note(id, change)
        case .removed(let id):
            tally["removed", default: 0] += 1
            expect(known.contains(id), "unknown \(id) removed")
            expect(lives[id] == nil, "\(id) removed while it lives")
            expect(supervisor.state(of: id) == nil, "\(id) removed and still there")
            known.remove(id)
            leaving.remove(id)
            givenUp.remove(id)
            leaveSiblings(id)
            wanted.remove(id)
        case .wake(let time):
            // The time of the wake before was not reported as passed.
            expect(time > now || isWakeLate, "a wake at \(time), which has passed")
            expect(time != wake, "the same wake twice")
            wake = time
        case .escalate:
            tally["escalate", default: 0] += 1
            end(isLast)
        case .terminated:
            tally["terminated", default: 0] += 1
            end(isLast)
        case .autoShutdown:
            tally["autoShutdown", default: 0] += 1
            expect(hasEndThatCounts && policy.autoShutdown != .never, "an end of itself without a cause")
            end(isLast)
        case .refused:
            tally["refused", default: 0] += 1
        }
    }

    private mutating func note(_ id: String, _ change: Change) {
        switch change {
        case .started, .restarted:
            tally["ready", default: 0] += 1
            expect(lives[id]?.isReady == true, "\(id) reported \(change) and isn't ready")
            expect(lives[id]?.isToldToStop == false, "\(id) reported \(change) while it is stopping")
            unanswered[id] = nil
            if together.allSatisfy({ lives[$0]?.isReady == true && lives[$0]?.isToldToStop == false }) {
                together = []
                siblings = []
            }
        case .stopped, .startFailed, .crashed:
            expect(lives[id] == nil, "\(id) reported \(change) while it lives")
            unanswered[id] = nil
        case .restarting(let attempt, let at):
            tally["restarting", default: 0] += 1
            expect(attempt >= 1, "attempt \(attempt)")
            expect(at >= now, "restart in the past")
            let full = policy.backoff.delay(attempt: attempt, random: 0)
            expect(at - now <= full && at - now >= full * (1 - policy.backoff.jitter), "delay \(at - now) at attempt \(attempt)")
            notBefore[id] = at
            bringBack(with: id)
            restarts.append(now)
            restarts.removeAll { $0 < now - policy.period }
            expect(restarts.count <= policy.intensity, "\(restarts.count) restarts within \(policy.period)")
        case .gaveUp(let reason):
            tally["gaveUp", default: 0] += 1
            wanted.remove(id)
            together.remove(id)
            givenUp.insert(id)
            if !reason.isPermanentFailure {
                restarts.removeAll { $0 < now - policy.period }
                expect(restarts.count == policy.intensity, "gave up after \(restarts.count) restarts")
            }
        }
    }

    /// With a child that failed its siblings are started, also those that were stopped before.
    private mutating func bringBack(with id: String) {
        let ids = supervisor.ids
        let affected: ArraySlice<String> =
            switch policy.strategy {
            case .oneForOne: []
            case .oneForAll: ids[...]
            case .restForOne: ids[(ids.firstIndex(of: id) ?? 0)...]
            }
        guard affected.count > 1 else { return }
        for id in affected {
            siblings.insert(id)
            if givenUp.contains(id) { continue }
            together.insert(id)
            // One that leaves is waited for. A temporary one may be made another until it's told to stop.
            if !leaving.contains(id), specifications[id]?.restart != .temporary { wanted.insert(id) }
        }
    }

    private mutating func leaveSiblings(_ id: String) {
        together.remove(id)
        siblings.remove(id)
    }

    private mutating func end(_ isLast: Bool) {
        expect(isLast, "directives after the end")
        expect(lives.isEmpty, "at the end still alive: \(lives.keys.sorted())")
        expect(unanswered.isEmpty, "starts never answered: \(unanswered.keys.sorted())")
        let order = orderAtEnd ?? []
        let positions = stopsAtEnd.map { order.firstIndex(of: $0) ?? -1 }
        expect(positions == positions.sorted(by: >), "stopped in the order \(stopsAtEnd) of \(order)")
        isOver = true
    }

    /// The supervisor's picture of the world must be the world.
    private mutating func compare() {
        let children = supervisor.children
        expect(Set(children.map(\.specification.id)) == known, "knows \(children.map(\.specification.id)), not \(known.sorted())")
        for (specification, state) in children {
            let id = specification.id
            let life = lives[id]
            expect(state.incarnation == life?.incarnation, "\(id) is \(state), but \(life?.incarnation ?? 0) lives")
            expect(specification.restart == specifications[id]?.restart, "\(id) has another specification")
            switch state {
            case .starting:
                expect(life?.isReady == false && life?.isToldToStop == false, "\(id) isn't starting")
                expect(orderAtEnd == nil, "\(id) goes on starting at the end")
            case .running: expect(life?.isReady == true && life?.isToldToStop == false, "\(id) isn't running")
            case .stopping: expect(life?.isToldToStop == true, "\(id) isn't stopping")
            case .waiting(let time, _):
                expect(wanted.contains(id), "\(id) waits although nobody wants it")
                if policy.strategy == .oneForOne {
                    expect(
                        wake.map { $0 <= time } ?? false,
                        "\(id) waits until \(time) and nobody will wake it: \(wake.map(String.init(describing:)) ?? "never")"
                    )
                }
            case .stopped:
                expect(life == nil, "\(id) isn't stopped")
                if orderAtEnd == nil {
                    expect(!wanted.contains(id) || specifications[id]?.restart != .permanent || unanswered[id] == nil, "\(id) was lost")
                }
            }
        }
        for kind in ChildState.Kind.allCases {
            let count = children.count { $0.state.kind == kind }
            expect(supervisor.count(in: kind) == count, "\(count) are \(kind), not \(supervisor.count(in: kind))")
        }
    }
}
