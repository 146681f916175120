import Supervision

/// What a supervisor does, said a second time and as plainly as possible: lists that are searched, nothing remembered to save time.
///
/// It tells beforehand what a supervisor starts, stops, forgets and ends with. What it can't know is the length of a backoff, which it
/// takes from the answer. It is hashable, so that states that have been seen can be recognised.
struct Model: Hashable {
    enum Launch { case first, again, restart }
    enum Follow { case stop, remove, start, siblings }

    enum State: Hashable {
        case starting, ready(since: Duration), stopping(Follow), stopped
        /// The number is that of the appointment; without one the child waits for its turn among its siblings.
        case waiting(until: Duration, appointment: Int?)
    }

    struct Child: Hashable {
        var specification: ChildSpecification<String>
        var state: State
        var incarnation: Incarnation
        var launch = Launch.first
        var hasGivenUp = false
        var isFinishing = false
        var attempts = 0

        var id: String { specification.id }
        var isWaiting: Bool { if case .waiting = state { true } else { false } }
        var isAlive: Bool {
            switch state {
            case .starting, .ready, .stopping: true
            case .stopped, .waiting: false
            }
        }
        var isActive: Bool {
            switch state {
            case .starting, .ready, .waiting, .stopping(.start), .stopping(.siblings): true
            case .stopping(.stop), .stopping(.remove), .stopped: false
            }
        }
    }

    enum Ending: Hashable { case escalated, terminated(ExitReason), automatic }

    enum Course: Hashable {
        case steady
        case stoppingSiblings(turns: [String], members: [String], inOrder: [String], at: Duration)
        case startingSiblings(turns: [String], at: Duration)
        case ending(turns: [String], Ending)
        case ended
    }

    /// What is predicted; reports and wakes are the books' business.
    enum Deed: Hashable {
        case start(String, Incarnation, attempt: Int)
        case stop(String, Incarnation)
        case removed(String)
        case refused(String?)
        case ended(Ending)
    }

    var children: [Child] = []
    var course = Course.steady
    var policy: SupervisionPolicy
    let isolatesFailures: Bool
    var restarts: [Duration] = []
    var last: [String: Incarnation] = [:]
    var appointments = 0

    // Used while an event is handled, and empty between two.
    var now = Duration.zero
    var deeds: [Deed] = []
    var answer: [Machine.Directive] = []

    init(_ policy: SupervisionPolicy, isolatesFailures: Bool) {
        self.policy = policy
        self.isolatesFailures = isolatesFailures
    }

    /// The next time at which the supervisor has something to do.
    var nextDeadline: Duration? {
        if isEnding { return nil }
        var next: Duration?
        for case .waiting(let time, .some) in children.lazy.map(\.state) { next = min(next ?? time, time) }
        if case .startingSiblings(_, let at) = course, at > now { next = min(next ?? at, at) }
        return next
    }

    var isEnding: Bool {
        switch course {
        case .ending, .ended: true
        case .steady, .stoppingSiblings, .startingSiblings: false
        }
    }

    /// Handles an event and compares what should be done with what was answered.
    mutating func follow(_ event: Machine.Event, _ answer: [Machine.Directive], now: Duration) throws(Violation) {
        self.now = now
        self.answer = answer
        deeds.removeAll(keepingCapacity: true)
        if course != .ended {
            try handle(event)
            try proceed()
        }
        self.answer = []
        try compare(with: answer, event)
        deeds.removeAll(keepingCapacity: true)
    }

    private func compare(with answer: [Machine.Directive], _ event: Machine.Event) throws(Violation) {
        var index = 0
        for directive in answer {
            guard let deed = Self.deed(directive) else { continue }
            guard index < deeds.count, deeds[index] == deed else {
                let expected = Array(deeds.dropFirst(index))
                throw Violation(invariant(for: deed), "after \(event): \(deed) was not to be expected, but \(expected)")
            }
            index += 1
        }
        guard index == deeds.count else {
            throw Violation(invariant(for: deeds[index]), "after \(event) these are missing: \(Array(deeds.dropFirst(index)))")
        }
    }

    private func invariant(for deed: Deed) -> Invariant {
        if case .ended(.automatic) = deed { return .autoShutdown }
        if case .ending(_, .automatic) = course { return .autoShutdown }
        return .model
    }

    private static func deed(_ directive: Machine.Directive) -> Deed? {
        switch directive {
        case .start(let id, let incarnation, let attempt): .start(id, incarnation, attempt: attempt)
        case .stop(let id, let incarnation, _): .stop(id, incarnation)
        case .removed(let id): .removed(id)
        case .refused(let id, _): .refused(id)
        case .escalate: .ended(.escalated)
        case .terminated(let reason): .ended(.terminated(reason))
        case .autoShutdown: .ended(.automatic)
        case .report, .wake: nil
        }
    }

    /// The model without what makes no difference to what comes: which incarnation it is, what time it is, what is long past.
    func normalised(at now: Duration) -> Model {
        var model = self
        model.now = .zero
        model.last = [:]
        model.appointments = 0
        model.restarts = restarts.filter { $0 >= now - policy.period }.map { $0 - now }
        let appointments = children.compactMap { if case .waiting(_, let appointment?) = $0.state { appointment } else { nil } }.sorted()
        for index in children.indices {
            model.children[index].incarnation = 0
            switch children[index].state {
            case .ready(let since):
                model.children[index].state = .ready(since: max(since - now, .zero - policy.backoff.resetAfter))
            case .waiting(let time, let appointment):
                let rank = appointment.flatMap(appointments.firstIndex)
                model.children[index].state = .waiting(until: time - now, appointment: rank)
            case .starting, .stopping, .stopped:
                break
            }
        }
        switch course {
        case .stoppingSiblings(let turns, let members, let inOrder, let at):
            model.course = .stoppingSiblings(turns: turns, members: members, inOrder: inOrder, at: max(at - now, .zero))
        case .startingSiblings(let turns, let at):
            model.course = .startingSiblings(turns: turns, at: max(at - now, .zero))
        case .steady, .ending, .ended:
            break
        }
        return model
    }

    // MARK: - Events

    private func index(_ id: String) -> Int? {
        children.firstIndex { $0.specification.id == id }
    }

    private func index(_ id: String, _ incarnation: Incarnation) -> Int? {
        guard let index = index(id), children[index].incarnation == incarnation, children[index].isAlive else { return nil }
        return index
    }

    private func isRefused(_ specification: ChildSpecification<String>) -> Bool {
        if case .timeout(let time) = specification.shutdown, time < .zero { return true }
        return specification.isSignificant && (specification.restart == .permanent || policy.autoShutdown == .never)
    }

    private mutating func handle(_ event: Machine.Event) throws(Violation) {
        switch event {
        case .startRequested(let specification):
            guard !isEnding else { return }
            if isRefused(specification) { return deeds.append(.refused(specification.id)) }
            start(specification)
        case .specificationChanged(let specification):
            guard !isEnding else { return }
            if isRefused(specification) { return deeds.append(.refused(specification.id)) }
            if let index = index(specification.id) { children[index].specification = specification }
        case .stopRequested(let id):
            if !isEnding, let index = index(id) { stop(index, removing: false) }
        case .removeRequested(let id):
            if !isEnding, let index = index(id) { stop(index, removing: true) }
        case .restartRequested(let id):
            if !isEnding, let index = index(id) { restart(index) }
        case .started(let id, let incarnation):
            guard let index = index(id, incarnation), case .starting = children[index].state else { return }
            children[index].state = .ready(since: now)
        case .startFailed(let id, let incarnation, let reason), .exited(let id, let incarnation, let reason):
            if let index = index(id, incarnation) { try hasEnded(index, reason) }
        case .finished(let id, let incarnation):
            guard !isEnding, let index = index(id, incarnation) else { return }
            if case .stopping = children[index].state {
                children[index].state = .stopping(.remove)
            } else {
                children[index].isFinishing = true
                tellToStop(index, .remove)
            }
        case .timePassed:
            startWhatIsDue()
        case .shutdownRequested(let reason):
            end(.terminated(reason))
        case .policyChanged(let policy):
            if (try? policy.validate()) == nil { deeds.append(.refused(nil)) } else { self.policy = policy }
        }
    }

    private mutating func start(_ specification: ChildSpecification<String>) {
        guard let index = index(specification.id) else {
            children.append(Child(specification: specification, state: .stopped, incarnation: last[specification.id] ?? 0))
            return begin(children.count - 1, .first)
        }
        switch children[index].state {
        case .starting, .ready, .waiting:
            break
        case .stopped:
            children[index].specification = specification
            children[index].attempts = 0
            begin(index, .again)
        case .stopping(let follow):
            children[index].specification = specification
            guard follow == .stop || follow == .remove else { return }
            children[index].attempts = 0
            children[index].launch = follow == .stop ? .again : .first
            children[index].state = .stopping(.start)
        }
    }

    private mutating func stop(_ index: Int, removing: Bool) {
        switch children[index].state {
        case .starting, .ready: tellToStop(index, removing ? .remove : .stop)
        case .stopping(.remove): break
        case .stopping: children[index].state = .stopping(removing ? .remove : .stop)
        case .waiting: if removing { forget(index) } else { retire(index) }
        case .stopped: if removing { forget(index) }
        }
    }

    private mutating func restart(_ index: Int) {
        switch children[index].state {
        case .starting, .ready:
            tellToStop(index, .start)
        case .stopping(.stop):
            children[index].state = .stopping(.start)
        case .stopping:
            return
        case .waiting, .stopped:
            children[index].attempts = 0
            begin(index, .restart)
        }
        children[index].attempts = 0
        children[index].launch = .restart
    }

    private mutating func startWhatIsDue() {
        while true {
            var next: (index: Int, time: Duration, appointment: Int)?
            for index in children.indices {
                guard case .waiting(let time, let appointment?) = children[index].state, time <= now else { continue }
                if let next, (next.time, next.appointment) < (time, appointment) { continue }
                next = (index, time, appointment)
            }
            guard let next, !isEnding else { return }
            begin(next.index, .restart)
        }
    }

    // MARK: - Deeds

    private mutating func begin(_ index: Int, _ launch: Launch) {
        children[index].launch = launch
        children[index].hasGivenUp = false
        children[index].isFinishing = false
        children[index].incarnation += 1
        children[index].state = .starting
        deeds.append(.start(children[index].id, children[index].incarnation, attempt: children[index].attempts))
    }

    private mutating func tellToStop(_ index: Int, _ follow: Follow) {
        children[index].state = .stopping(follow)
        deeds.append(.stop(children[index].id, children[index].incarnation))
    }

    private mutating func retire(_ index: Int) {
        if children[index].specification.restart == .temporary {
            forget(index)
        } else {
            children[index].state = .stopped
        }
    }

    private mutating func forget(_ index: Int) {
        let child = children.remove(at: index)
        last[child.id] = child.incarnation
        deeds.append(.removed(child.id))
        leaveSiblings(child.id)
    }

    /// A child that was forgotten has no part any more in what its siblings do, even if its id comes again.
    private mutating func leaveSiblings(_ id: String) {
        guard case .stoppingSiblings(let turns, let members, let inOrder, let at) = course else { return }
        course = .stoppingSiblings(turns: turns, members: members.filter { $0 != id }, inOrder: inOrder, at: at)
    }

    // MARK: - Ends

    private mutating func hasEnded(_ index: Int, _ reason: ExitReason) throws(Violation) {
        let child = children[index]
        switch child.state {
        case .stopped, .waiting:
            return
        case .stopping(.stop):
            retire(index)
        case .stopping(.remove):
            forget(index)
            if child.isFinishing { hasEndedForGood(child) }
        case .stopping(.start):
            if child.launch == .first {
                children.append(children.remove(at: index))
                leaveSiblings(child.id)
                begin(children.count - 1, .first)
            } else {
                begin(index, child.launch)
            }
        case .stopping(.siblings):
            var until = now
            if case .stoppingSiblings(_, _, _, let at) = course { until = at }
            children[index].state = .waiting(until: until, appointment: nil)
        case .starting:
            if child.launch == .restart || child.specification.isRetriedAtFirstStart {
                try hasFailed(index, reason, isFailure: true)
            } else if child.launch == .first {
                forget(index)
            } else {
                retire(index)
            }
        case .ready(let since):
            if now - since >= policy.backoff.resetAfter { children[index].attempts = 0 }
            try hasFailed(index, reason, isFailure: !reason.isNormal)
        }
    }

    /// A life has ended by itself.
    private mutating func hasFailed(_ index: Int, _ reason: ExitReason, isFailure: Bool) throws(Violation) {
        let child = children[index]
        let type = child.specification.restart
        let isForGood = reason.isPermanentFailure && !isEnding
        if case .stoppingSiblings(_, let members, _, let at) = course, members.contains(child.id), type == .temporary || !isForGood {
            if type == .temporary { forget(index) } else { children[index].state = .waiting(until: at, appointment: nil) }
            return
        }
        guard !isEnding, !isForGood, type == .permanent || type == .transient && isFailure else {
            children[index].hasGivenUp = isForGood
            retire(index)
            return hasEndedForGood(child)
        }
        let oldest = now - policy.period
        restarts.removeAll { $0 < oldest }
        restarts.append(now)
        guard restarts.count <= policy.intensity else {
            children[index].hasGivenUp = true
            retire(index)
            if !isolatesFailures { end(.escalated) }
            return
        }
        children[index].attempts += 1
        let time = try restartTime(of: child.id)
        children[index].state = .waiting(until: time, appointment: nil)
        let affected: ArraySlice<Child> =
            switch policy.strategy {
            case .oneForOne: children[index...index]
            case .oneForAll: children[...]
            case .restForOne: children[index...]
            }
        if course == .steady, affected.count == 1 {
            guard time > now else { return begin(index, .restart) }
            appointments += 1
            children[index].state = .waiting(until: time, appointment: appointments)
        } else {
            restartTogether(affected.map(\.id))
        }
    }

    /// The time that the supervisor has chosen.
    private func restartTime(of id: String) throws(Violation) -> Duration {
        for case .report(id, _, .restarting(_, let time)) in answer { return time }
        throw Violation(.model, "\(id) should have been restarted, and was left or given up")
    }

    private mutating func hasEndedForGood(_ child: Child) {
        guard child.specification.isSignificant else { return }
        switch policy.autoShutdown {
        case .never: break
        case .anySignificant: end(.automatic)
        case .allSignificant:
            if !children.contains(where: { $0.specification.isSignificant && $0.isActive }) { end(.automatic) }
        }
    }

    private mutating func end(_ ending: Ending) {
        switch (course, ending) {
        case (.ended, _), (.ending(_, .terminated), _), (.ending, .escalated), (.ending, .automatic):
            return
        case (.ending(let turns, _), .terminated):
            course = .ending(turns: turns, ending)
        case (.steady, _), (.stoppingSiblings, _), (.startingSiblings, _):
            let all = children.map(\.id)
            course = .ending(turns: all.reversed(), ending)
            for id in all {
                guard let index = index(id) else { continue }
                switch children[index].state {
                case .stopping(.start), .stopping(.siblings): children[index].state = .stopping(.stop)
                case .waiting: retire(index)
                case .starting, .ready, .stopping, .stopped: break
                }
            }
        }
    }

    // MARK: - Turns

    private mutating func restartTogether(_ affected: [String]) {
        var members = affected
        switch course {
        case .stoppingSiblings(_, let others, _, _): members += others
        case .startingSiblings(let turns, _): members += turns.filter { id in index(id).map { children[$0].isWaiting } ?? false }
        case .steady, .ending, .ended: break
        }
        let inOrder = children.map(\.id).filter(members.contains)
        var at = now
        for child in children where inOrder.contains(child.id) {
            if case .waiting(let time, _) = child.state { at = max(at, time) }
        }
        for id in inOrder {
            guard let index = index(id) else { continue }
            let isTemporary = children[index].specification.restart == .temporary
            switch children[index].state {
            case .waiting, .stopped:
                if isTemporary {
                    forget(index)
                } else if children[index].isWaiting || !children[index].hasGivenUp {
                    guard children[index].isWaiting || affected.contains(id) else { continue }
                    if !children[index].isWaiting { children[index].attempts = 0 }
                    children[index].state = .waiting(until: at, appointment: nil)
                }
            case .stopping(.stop):
                if !isTemporary, affected.contains(id) { children[index].state = .stopping(.siblings) }
            case .starting, .ready, .stopping:
                break
            }
        }
        course = .stoppingSiblings(turns: inOrder.reversed(), members: inOrder, inOrder: inOrder, at: at)
    }

    private mutating func proceed() throws(Violation) {
        while true {
            switch course {
            case .steady, .ended:
                return
            case .ending(let turns, let ending):
                guard let id = turns.first else {
                    course = .ended
                    return deeds.append(.ended(ending))
                }
                guard isGone(id, elseStopThen: .stop) else { return }
                course = .ending(turns: Array(turns.dropFirst()), ending)
            case .stoppingSiblings(let turns, let members, let inOrder, let at):
                guard let id = turns.first else {
                    course = .startingSiblings(turns: inOrder, at: at)
                    continue
                }
                let isTemporary = index(id).map { children[$0].specification.restart == .temporary } ?? false
                guard !members.contains(id) || isGone(id, elseStopThen: isTemporary ? .remove : .siblings) else { return }
                course = .stoppingSiblings(turns: Array(turns.dropFirst()), members: members, inOrder: inOrder, at: at)
            case .startingSiblings(let turns, let at):
                guard at <= now else { return }
                guard let id = turns.first else { return course = .steady }
                if let index = index(id) {
                    if children[index].isWaiting { return begin(index, .restart) }
                    if children[index].state == .starting { return }
                }
                course = .startingSiblings(turns: Array(turns.dropFirst()), at: at)
            }
        }
    }

    private mutating func isGone(_ id: String, elseStopThen follow: Follow) -> Bool {
        guard let index = index(id) else { return true }
        switch children[index].state {
        case .starting, .ready:
            tellToStop(index, follow)
            return false
        case .stopping:
            return false
        case .waiting, .stopped:
            return true
        }
    }
}
