import Supervision

/// All that can happen to a few children in a few events, in every order.
///
/// An exploration draws no random numbers. After every event it tries each of the following that is possible: a start succeeds or fails, a
/// stop is answered, a life ends in one of two ways, a child is wanted, stopped, removed or restarted, the time that is waited for
/// comes, the supervisor is asked to end. States that were seen already are not explored again; two states are the same when
/// their models differ at most by incarnations and the present time.
package struct Exploration: CustomStringConvertible {
    /// The outcome of an exploration.
    package struct Outcome {
        /// The invariant that was broken; nil when none was.
        package let violation: Violation?
        /// The events that lead to the violation.
        package let path: [String]
        /// The number of different states that were seen.
        package let states: Int
        /// The number of events that were tried.
        package let events: Int
    }

    /// The supervisor's policy.
    let policy: SupervisionPolicy
    /// The children, which are all started first; those events don't count.
    let children: [ChildSpecification]
    /// The number of events that follow one another.
    let events: Int
    /// Whether a child that is given up falls alone.
    var isolatesFailures = false
    /// The function that makes the mutation between the supervisor and the world.
    var mutation: (() -> Machine.Mutation)?

    /// The supervisor and its children, in words.
    package var description: String {
        "\(policy.strategy), \(policy.intensity) restart(s)\(isolatesFailures ? " each" : ""), auto shutdown \(policy.autoShutdown), children "
            + children.map { "\($0.restart)\($0.isSignificant ? " (significant)" : "")" }.joined(separator: ", ")
    }

    /// Returns the explorations for every strategy, each with a choice of restart types and of an auto shutdown.
    package static func all(children: Int, events: Int, mutation: (() -> Machine.Mutation)? = nil) -> [Exploration] {
        let casts: [[RestartType]] = [[.permanent, .permanent, .permanent], [.permanent, .transient, .temporary]]
        var all: [Exploration] = []
        for strategy in SupervisionPolicy.Strategy.allCases {
            for cast in casts {
                let isMixed = cast.contains(.transient) && children > 1
                let autoShutdown: SupervisionPolicy.AutoShutdown =
                    isMixed ? (strategy == .oneForAll ? .anySignificant : .allSignificant) : .never
                let specifications = zip(Place.ids, cast).prefix(children).map { id, restart in
                    ChildSpecification(
                        id: id,
                        restart: restart,
                        isSignificant: autoShutdown != .never && restart != .permanent,
                        isRetriedAtFirstStart: restart == .transient
                    )
                }
                let backoff = Backoff(minimum: .seconds(1), maximum: .seconds(1), jitter: 0, resetAfter: .seconds(2))
                let policy = SupervisionPolicy(strategy, intensity: 2, period: .seconds(2), backoff: backoff, autoShutdown: autoShutdown)
                all.append(Exploration(policy: policy, children: specifications, events: events, mutation: mutation))
            }
        }
        return all + [isolating(children: children, events: events, mutation)]
    }

    /// Returns an exploration of children that are counted by themselves, one of them with limits of its own.
    private static func isolating(children: Int, events: Int, _ mutation: (() -> Machine.Mutation)?) -> Exploration {
        let backoff = Backoff(minimum: .seconds(1), maximum: .seconds(1), jitter: 0, resetAfter: .seconds(2))
        let specifications = Place.ids.prefix(children).enumerated().map { number, id in
            ChildSpecification(id: id, restartLimits: number == 1 ? RestartLimits(intensity: .unlimited, backoff: backoff) : nil)
        }
        return Exploration(
            policy: SupervisionPolicy(intensity: 1, period: .seconds(2), backoff: backoff),
            children: specifications,
            events: events,
            isolatesFailures: true,
            mutation: mutation
        )
    }

    private struct Node {
        var watched: Watched
        var now: Duration
        /// The index in the list of links from which the path to this node goes on, backwards.
        var link: Int
    }

    private struct Key: Hashable {
        let model: Model
        let wake: Duration?

        init(_ node: Node) {
            model = node.watched.model.normalised(at: node.now)
            wake = node.watched.checker.wake.map { $0 - node.now }
        }
    }

    /// Looks at all states, those that are fewer events away first.
    package func run(progress: (_ depth: Int, _ states: Int) -> Void = { _, _ in }) -> Outcome {
        var links: [(parent: Int, event: Machine.Event?)] = [(-1, nil)]
        var seen: Set<Key> = []
        var count = 0
        var layer = [
            Node(
                watched: Watched(policy, seed: 0, isolatesFailures: isolatesFailures, checks: .all, mutation: mutation?()),
                now: .seconds(1_000),
                link: 0
            )
        ]
        func outcome(_ violation: Violation?, _ link: Int = 0) -> Outcome {
            var path: [String] = []
            var link = link
            while link > 0 {
                if let event = links[link].event { path.append("\(event)") }
                link = links[link].parent
            }
            return Outcome(violation: violation, path: path.reversed(), states: seen.count, events: count)
        }
        // The children are there before anything else happens.
        for specification in children {
            links.append((layer[0].link, .startRequested(specification)))
            layer[0].link = links.count - 1
            var answer: [Machine.Directive] = []
            do throws(Violation) {
                try layer[0].watched.handle(.startRequested(specification), now: layer[0].now, answer: &answer)
            } catch {
                return outcome(error, layer[0].link)
            }
        }
        for depth in 1...events {
            var next: [Node] = []
            for node in layer {
                for event in possible(in: node) {
                    var after = node
                    if case .timePassed = event { after.now = max(node.now, node.watched.checker.wake ?? node.now + policy.period) }
                    count += 1
                    var answer: [Machine.Directive] = []
                    do throws(Violation) {
                        try after.watched.handle(event, now: after.now, answer: &answer)
                    } catch {
                        links.append((node.link, event))
                        return outcome(error, links.count - 1)
                    }
                    guard seen.insert(Key(after)).inserted else { continue }
                    links.append((node.link, event))
                    after.link = links.count - 1
                    if depth < events { next.append(after) }
                }
            }
            layer = next
            progress(depth, seen.count)
        }
        return outcome(nil)
    }

    private func possible(in node: Node) -> [Machine.Event] {
        var possible: [Machine.Event] = [.timePassed]
        if node.watched.checker.isOver { return [] }
        for (slot, specification) in children.enumerated() {
            let id = specification.id
            if let life = node.watched.checker.life(slot) {
                if life.isToldToStop {
                    possible.append(.exited(id, life.incarnation, .shutdown))
                } else if life.isReady {
                    possible += [.exited(id, life.incarnation, .hung), .exited(id, life.incarnation, .normal)]
                } else {
                    possible += [.started(id, life.incarnation), .startFailed(id, life.incarnation, .startTimedOut)]
                }
            }
            possible += [.startRequested(specification), .stopRequested(id), .removeRequested(id), .restartRequested(id)]
        }
        possible.append(.shutdownRequested(.shutdown))
        return possible
    }
}
