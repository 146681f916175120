import Supervision
import SupervisionSimulation

extension OurTree {
    /// One life of one of our supervisors.
    final class Node {
        /// A life of a child.
        struct Life {
            let incarnation: Incarnation
            /// The supervisor that the child is.
            var node: Node?
            /// The reason of the life's end, which its supervisor hasn't taken notice of yet.
            var death: ExitReason?
            /// Whether the start has failed, which the supervisor hasn't taken notice of yet.
            var isUnborn = false
        }

        /// What waits for the supervisor.
        enum Item {
            case ended(String, Incarnation)
            case failed(String, Incarnation)
            case request(Int, Command)
        }

        let group: Int
        weak let parent: Node?
        let life: (id: String, incarnation: Incarnation)?
        /// The supervisor, under observation by the invariants of the simulations.
        private var watched: Watched
        /// The first invariant that was broken.
        private(set) var violation: Violation?
        var lives: [String: Life] = [:]
        var inbox: [Item] = [] { didSet { if hasEnded { inbox = [] } } }
        /// What comes of the directives, which the supervisor takes notice of before anything else.
        var answers: [Supervisor.Event] = []
        /// The child whose start was requested, and whose failure is the answer.
        var requested: String?
        /// The children in start order when the end began.
        var order: [String] = []
        /// The ends of children since then, each with what was told of it.
        var ends: [(id: String, tokens: [String])] = []
        var hasGivenUp = false
        var isFailing = false
        var isBeingStopped = false
        var hasEnded = false { didSet { inbox = [] } }

        init(
            group: Int,
            policy: SupervisionPolicy,
            isolatesFailures: Bool,
            _ parent: Node?,
            _ life: (id: String, incarnation: Incarnation)?,
            _ mutation: Watched.Mutation?
        ) {
            self.group = group
            self.parent = parent
            self.life = life
            watched = Watched(policy, isolatesFailures: isolatesFailures, mutation: mutation)
        }

        var machine: Supervisor { watched.supervisor }

        /// Hands an event to the machine, for which no time ever passes.
        func handle(_ event: Supervisor.Event) -> [Supervisor.Directive] {
            if !machine.isEnding { order = machine.ids }
            var answer: [Supervisor.Directive] = []
            do throws(Violation) {
                try watched.handle(event, now: .zero, answer: &answer)
            } catch {
                violation = violation ?? error
            }
            return answer
        }

        /// The children in start order, as OTP's `which_children` and `count_children` show them.
        func table(_ trial: Trial) -> String {
            let children = machine.children
            let signs = children.map { specification, state in
                switch state.kind {
                case .running: "\(specification.id)+"
                case .stopped, .waiting: "\(specification.id)-"
                case .starting, .stopping: "\(specification.id)~"
                }
            }
            let supervisors = children.count { specification, _ in
                Place.slot(of: specification.id).flatMap { trial.groups[group].hosted[$0] } != nil
            }
            let counts = [children.count, machine.count(in: .running), supervisors, children.count - supervisors]
            return "\(group):\(signs.joined())(\(counts.map(String.init).joined(separator: ",")))"
        }
    }
}
