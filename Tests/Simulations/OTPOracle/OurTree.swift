import Supervision
import SupervisionSimulation

/// A tree of our supervisors, each driven as OTP's process is: it carries out each start and stop at once and to its end, and whatever else
/// happens waits in its inbox.
final class OurTree {
    let trial: Trial
    private let listed: Set<Difference>
    private let mutation: (() -> Watched.Mutation)?
    private var plans: [Place: [Bool]] = [:]
    private var nodes: [Int: Node] = [:]
    private var tokens: [String] = []
    private var orphans: [String] = []
    /// The script by which OTP does the same.
    private(set) var script: [String]
    /// The course, a line per burst.
    private(set) var course: [String] = []
    /// How often each difference was met.
    private(set) var met: [Difference: Int] = [:]

    /// - Parameter listed: The differences that are left out of the comparison.
    init(_ trial: Trial, listed: Set<Difference>, mutation: (() -> Watched.Mutation)?) {
        self.listed = listed
        self.trial = trial
        self.mutation = mutation
        script = trial.definition
    }

    func run() {
        for burst in trial.bursts {
            ensureRoot()
            script += carryOut(burst.commands).map(\.line) + ["go"]
            tell()
        }
        ensureRoot()
        _ = carryOut([.shutDown(group: 0)])
        script.append("done")
        tell()
    }

    /// - Returns: The commands without those that concern a difference.
    private func carryOut(_ commands: [Command]) -> [Command] {
        var leftOut: Set<Int> = []
        for (number, command) in commands.enumerated() {
            switch command {
            case .end(let place, let reason): nodes[place.group].map { end(place, reason, of: $0) }
            case .plan(let place, let starts): plans[place] = starts
            default: nodes[command.group]?.inbox.append(.request(number, command))
            }
        }
        // Only one supervisor has something to do at a time: the bursts concern one, and its end concerns the next.
        while let node = nodes.values.filter({ !$0.inbox.isEmpty }).max(by: { $0.group < $1.group }) {
            if let number = handle(node.inbox.removeFirst(), node) { leftOut.insert(number) }
        }
        return commands.enumerated().filter { !leftOut.contains($0.offset) }.map(\.element)
    }

    private func tell() {
        let tables = nodes.sorted { $0.key < $1.key }.map { $1.table(trial) }
        course.append([tokens, orphans.sorted(), tables].map { $0.joined(separator: " ") }.joined(separator: " | "))
        tokens = []
        orphans = []
    }

    // MARK: - Supervisors

    private func ensureRoot() {
        guard nodes[0] == nil else { return }
        tokens.append("u")
        tokens.append(boot(group: 0, in: nil, nil) == nil ? "X" : "U")
    }

    /// Starts a supervisor and its children one after the other; the first that fails ends the start.
    private func boot(group number: Int, in parent: Node?, _ life: (id: String, incarnation: Incarnation)?) -> Node? {
        let group = trial.groups[number]
        let node = Node(group: number, policy: group.policy, isolatesFailures: group.isolatesFailures, parent, life, mutation?())
        nodes[number] = node
        for (slot, specification) in group.children {
            let id = Place(group: number, slot: slot).id
            node.requested = id
            feed(.startRequested(specification), node)
            node.requested = nil
            guard case .running = node.machine.state(of: id) else {
                node.isFailing = true
                feed(.shutdownRequested(.shutdown), node)
                nodes[number] = nil
                return nil
            }
        }
        return node
    }

    private func feed(_ event: Supervisor.Event, _ node: Node) {
        let hadViolation = node.violation != nil
        for directive in node.handle(event) { perform(directive, node) }
        // A planted fault is to be found by the comparison alone.
        if mutation == nil, !hadViolation, let violation = node.violation { tokens.append("\(violation)") }
        while !node.answers.isEmpty { feed(node.answers.removeFirst(), node) }
    }

    private func perform(_ directive: Supervisor.Directive, _ node: Node) {
        switch directive {
        case .start(let id, let incarnation, _): start(id, incarnation, node)
        case .stop(let id, let incarnation, let shutdown):
            let count = tokens.count
            stop(id, incarnation, shutdown, node)
            // Without those that were starting, which end at once, and of which nothing is told.
            if node.machine.isEnding, count < tokens.count { node.ends.append((id, Array(tokens[count...]))) }
        case .report(let id, _, .gaveUp):
            node.hasGivenUp = true
            tokens.append("g\(node.group)\(id)")
        case .escalate(let reason):
            // Only what has given up for a reason may be told in another way.
            let isListed = node.hasGivenUp && node.parent != nil && meets(.givingUpIsAFailure)
            hasEnded(node, isListed ? .shutdown : reason)
        case .terminated, .autoShutdown: hasEnded(node, .shutdown)
        case .refused(let id?, _): tokens.append("!\(node.group)\(id)")
        case .report, .removed, .wake, .refused: break
        }
    }

    /// Takes note of a difference, and returns whether it is listed.
    private func meets(_ difference: Difference) -> Bool {
        met[difference, default: 0] += 1
        return listed.contains(difference)
    }

    /// Tells the ends of children in OTP's order, if they have kept to their partial order.
    private func arrangeEnds(of node: Node) {
        guard node.machine.policy.stopOrder != .chain else { return }
        let isOutside = node.ends.map { end in Place.slot(of: end.id).map { trial.outside.contains(Place(group: node.group, slot: $0)) } }
        let first = isOutside.firstIndex(of: false) ?? node.ends.count
        guard !isOutside[first...].contains(true) else { return }
        var chain = node.ends[first...]
        var arranged: [String] = []
        for id in node.order.reversed() {
            if let end = node.ends[..<first].first(where: { $0.id == id }) { arranged += end.tokens }
            if node.ends[first...].contains(where: { $0.id == id }) { arranged += chain.removeFirst().tokens }
        }
        let told = node.ends.flatMap(\.tokens)
        if arranged != told, meets(.laterChildren) { tokens.replaceSubrange((tokens.count - told.count)..., with: arranged) }
    }

    private func hasEnded(_ node: Node, _ reason: ExitReason) {
        arrangeEnds(of: node)
        node.hasEnded = true
        guard nodes[node.group] === node else { return }
        nodes[node.group] = nil
        guard !node.isFailing else { return }
        tokens.append("e\(node.group == 0 ? "0" : name(node))=shutdown")
        guard !node.isBeingStopped, let parent = node.parent, let (id, incarnation) = node.life else { return }
        parent.lives[id]?.death = reason
        parent.inbox.append(.ended(id, incarnation))
    }

    private func name(_ node: Node) -> String { "\(node.parent?.group ?? 0)\(node.life?.id ?? "")" }

    // MARK: - Lives

    private func start(_ id: String, _ incarnation: Incarnation, _ node: Node) {
        guard let slot = Place.slot(of: id) else { return }
        let place = Place(group: node.group, slot: slot)
        tokens.append("s\(place.name)")
        var life = Node.Life(incarnation: incarnation)
        if willFail(place) {
            life.isUnborn = true
        } else if let group = trial.hosted(at: place) {
            life.node = boot(group: group, in: node, (id, incarnation))
            life.isUnborn = life.node == nil
        }
        tokens.append((life.isUnborn ? "f" : "r") + place.name)
        guard life.isUnborn else {
            node.lives[id] = life
            node.answers.append(.started(id, incarnation))
            return
        }
        if node.requested == id {
            node.answers.append(.startFailed(id, incarnation, .startFailed("planned")))
        } else {
            // OTP tries again when it has taken what waits in its inbox already; the failure is told then.
            node.lives[id] = life
            node.inbox.append(.failed(id, incarnation))
        }
    }

    private func willFail(_ place: Place) -> Bool {
        guard plans[place]?.isEmpty == false else { return false }
        return plans[place]?.removeFirst() == false
    }

    private func stop(_ id: String, _ incarnation: Incarnation, _ shutdown: Shutdown, _ node: Node) {
        guard let life = node.lives[id], let slot = Place.slot(of: id) else { return }
        let place = Place(group: node.group, slot: slot)
        var reason = life.death ?? .shutdown
        if !life.isUnborn, life.death == nil {
            if let hosted = life.node, shutdown != .brutalKill {
                hosted.isBeingStopped = true
                feed(.shutdownRequested(.shutdown), hosted)
            } else {
                let isKilled = shutdown == .brutalKill || trial.hung.contains(place)
                reason = isKilled ? .signaled(9) : .shutdown
                tokens.append("e\(place.name)=\(isKilled ? "killed" : "shutdown")")
                if let hosted = life.node { orphan(hosted) }
            }
        }
        node.lives[id] = nil
        node.answers.append(.exited(id, incarnation, reason))
    }

    private func end(_ place: Place, _ reason: Command.Reason, of node: Node) {
        guard let life = node.lives[place.id], !life.isUnborn, life.death == nil else { return }
        tokens.append("e\(place.name)=\(reason.theirs)")
        node.lives[place.id]?.death = reason.ours
        node.inbox.append(.ended(place.id, life.incarnation))
        if let hosted = life.node { orphan(hosted) }
    }

    /// Kills a supervisor, for which all below it die in no certain order.
    private func orphan(_ node: Node) {
        node.hasEnded = true
        if nodes[node.group] === node { nodes[node.group] = nil }
        for (id, life) in node.lives where !life.isUnborn && life.death == nil {
            orphans.append("\(node.group)\(id)")
            if let hosted = life.node { orphan(hosted) }
        }
    }

    // MARK: - The inbox

    /// - Returns: The number of the request if it was left out.
    private func handle(_ item: Node.Item, _ node: Node) -> Int? {
        switch item {
        case .ended(let id, let incarnation):
            guard let life = node.lives[id], life.incarnation == incarnation, let reason = life.death else { return nil }
            node.lives[id] = nil
            let isSignificant = node.machine.specification(of: id)?.isSignificant == true
            feed(.exited(id, incarnation, reason), node)
            if isSignificant, countsOnlySiblingsToRestart(id, node), meets(.completedRestart) { feed(.shutdownRequested(.shutdown), node) }
        case .failed(let id, let incarnation):
            guard let life = node.lives[id], life.incarnation == incarnation else { return nil }
            node.lives[id] = nil
            feed(.startFailed(id, incarnation, .startFailed("planned")), node)
        case .request(let number, let command):
            if let difference = difference(command, node), meets(difference) { return number }
            request(command, node)
        }
        return nil
    }

    /// Whether a supervisor lives on, after a significant child has ended for good, only for siblings that OTP takes for stopped: those that
    /// are to be started after a child whose start in a restart of siblings has failed.
    private func countsOnlySiblingsToRestart(_ ended: String, _ node: Node) -> Bool {
        let machine = node.machine
        guard !node.hasEnded, machine.policy.autoShutdown == .allSignificant, node.lives[ended] == nil,
            machine.state(of: ended).map({ $0 == .stopped }) ?? true
        else { return false }
        let others = machine.children.filter { $0.specification.isSignificant && $0.state != .stopped }
        return !others.isEmpty && node.lives.values.contains(where: \.isUnborn)
            && others.allSatisfy { $0.state.kind == .waiting && node.lives[$0.specification.id]?.isUnborn != true }
    }

    /// Returns the difference for whose sake a command isn't given at all.
    private func difference(_ command: Command, _ node: Node) -> Difference? {
        let machine = node.machine
        let isAmidRestart = machine.children.contains { $0.state.kind == .waiting }
        func isRefused(_ specification: ChildSpecification?) -> Bool {
            guard let specification else { return false }
            return (try? specification.validate(under: machine.policy.autoShutdown)) == nil
        }
        switch command {
        case .stop(let place), .remove(let place), .restart(let place):
            if isAmidRestart, node.lives[place.id]?.isUnborn == true { return .completedRestart }
            if case .restart = command, isRefused(machine.specification(of: place.id)), mayFail(place) { return .significanceKept }
        case .start(let place, let specification):
            if machine.state(of: place.id)?.kind == .waiting { return .completedRestart }
            if !isRefused(specification), isRefused(machine.specification(of: place.id)) { return .significanceKept }
        case .setPolicy:
            if isAmidRestart { return .completedRestart }
        case .setSpecification(let place, let specification):
            if isAmidRestart { return .completedRestart }
            let isDown = machine.state(of: place.id) == .stopped || node.lives[place.id]?.isUnborn == true
            if isDown, specification.restart == .temporary { return .becomesTemporary }
            let others = machine.children.lazy.map(\.specification).filter { $0.id != place.id }
            if others.contains(where: isRefused) { return .significanceKept }
        case .end, .plan, .shutDown: break
        }
        return nil
    }

    private func request(_ command: Command, _ node: Node) {
        switch command {
        case .start(let place, let specification): start(place, specification, node)
        case .stop(let place): feed(.stopRequested(place.id), node)
        case .remove(let place): feed(.removeRequested(place.id), node)
        case .restart(let place): restart(place, node)
        case .setPolicy(_, let policy): feed(.policyChanged(policy), node)
        case .setSpecification(let place, let specification):
            if node.machine.specification(of: place.id) != nil { feed(.specificationChanged(specification), node) }
        case .shutDown: feed(.shutdownRequested(.shutdown), node)
        case .end, .plan: break
        }
    }

    private func start(_ place: Place, _ specification: ChildSpecification, _ node: Node) {
        var specification = specification
        let isValid = (try? specification.validate(under: node.machine.policy.autoShutdown)) != nil
        if isValid, node.machine.state(of: place.id) == .stopped, let kept = node.machine.specification(of: place.id),
            specification != kept, meets(.newSpecification)
        {
            specification = kept
        }
        node.requested = place.id
        feed(.startRequested(specification), node)
        node.requested = nil
    }

    private func restart(_ place: Place, _ node: Node) {
        guard let kept = node.machine.specification(of: place.id) else { return feed(.restartRequested(place.id), node) }
        guard kept.restart == .temporary || mayFail(place), meets(.supervisedRequest) else {
            return feed(.restartRequested(place.id), node)
        }
        feed(.stopRequested(place.id), node)
        if node.machine.specification(of: place.id) != nil { start(place, kept, node) }
    }

    /// Whether the next start at this place may fail, because of the place itself or of one below it.
    private func mayFail(_ place: Place) -> Bool {
        if plans[place]?.contains(false) == true { return true }
        guard let group = trial.hosted(at: place) else { return false }
        return trial.groups[group].hosted.indices.contains { mayFail(Place(group: group, slot: $0)) }
    }
}
