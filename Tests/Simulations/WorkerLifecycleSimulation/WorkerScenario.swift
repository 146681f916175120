import SimulationSupport
package import Supervision
package import WorkerLifecycle

/// A path with a worker and spares, before its first moment, and all that will be done to it.
package struct WorkerScenario: SeededScenario {
    /// An action on the world at a given time.
    package struct Step: NumberedStep {
        /// The step's number in the whole scenario, which it keeps when others are left out.
        package var number: Int
        /// The time of the step, in microseconds.
        package var time: Int
        /// The action.
        package var action: Action
    }

    /// The process that an action concerns.
    package enum Target: Sendable, Hashable {
        /// The worker that has the life.
        case life
        /// One of the spares.
        case spare
    }

    /// An action on the world.
    package enum Action: Sendable, Hashable {
        /// The life, or its start, is to end; `comesBack`: whether the path gets another life then.
        case stop(Shutdown, comesBack: Bool)
        /// The path is to have a life.
        case start
        /// The coordinator is paused, or resumed.
        case pause(Bool)
        /// The coordinator is sent this number of messages.
        case messages(Int)
        /// The process occupies this amount of memory.
        case memory(Int)
        /// The process exits or is killed from outside.
        case exit(Target, ExitReason)
        /// The process does nothing any more.
        case hang(Target)
        /// The coordinator ends by itself, and says so.
        case finish(ExitReason)
        /// The link breaks.
        case cutLink(Target)
        /// The worker dials again although it has a link.
        case dialAgain(Target)
        /// A worker that isn't welcome dials with the same secret.
        case strangerDials(Target)
        /// The kernel spawns no process for this time, in microseconds.
        case failSpawns(for: Int)
        /// The processes above answer late for this time, in microseconds.
        case delayAnnouncements(for: Int)
        /// The parent does nothing for this time, in microseconds.
        case delayParent(for: Int)
        /// The next process that is spawned has this trait.
        case nextWorker(Trait)
        /// A spare is of no use.
        case discardSpare
        /// A spare has become too old.
        case ageSpare
        /// The pool is to be filled.
        case fill
        /// The pool is to be closed.
        case closePool
        /// The machines are woken without cause.
        case wake
    }

    /// A peculiarity of a worker.
    package enum Trait: Sendable, Hashable, CaseIterable {
        /// The worker has closed the descriptor of its ticket.
        case closesTicket
        /// The worker exits with code 78 before it reads its ticket.
        case exitsAtOnce
        /// The worker reads its ticket and never dials.
        case neverDials
        /// The worker doesn't dial again when its link is lost.
        case neverDialsAgain
        /// The worker's hello is refused.
        case speaksAnotherProtocol
        /// The worker can't be told to start.
        case cannotBeTold
        /// The coordinator's start throws.
        case startThrows
        /// The coordinator's start takes seconds.
        case startsSlowly
        /// The coordinator's start doesn't end.
        case startHangs
        /// The coordinator's start takes long to end when it's stopped.
        case stopsStartSlowly
        /// The worker ignores the stop frame.
        case ignoresStop
        /// The worker ignores SIGTERM.
        case ignoresTermination
        /// The worker announces its end and doesn't exit.
        case staysAfterFarewell
        /// The worker's exit is reported late.
        case exitsLate
        /// The processes above refuse to know of it.
        case announcementFails
        /// The process lives already, as the life of a parent that was killed, and is adopted.
        case livesAlready
        /// The process that is adopted dies in the gap between two parents: it dials no more.
        case diesInTheGap
        /// The coordinators leave their executor no time to answer.
        case neverYields
        /// The coordinators leave their executor time to answer only now and then.
        case yieldsRarely
    }

    /// The seed of all random numbers.
    package var seed: UInt64
    /// The limits of the worker's machine.
    package var limits: WorkerMachine.Limits
    /// The time that a start may take.
    package var startTimeout: Duration
    /// The way in which a recycled life is stopped.
    package var shutdown: Shutdown
    /// The number of spares that wait.
    package var spares: Int
    /// The limit on the rate of spawns.
    package var bucket: TokenBucket
    /// The time until the shell carries directives out, in microseconds.
    package var lag: Int
    /// The number of workers of which one has each trait; 0: no worker has any.
    package var rarity: Int
    /// The steps, in order of time.
    package var steps: [Step]

    /// Returns the step in words.
    package func describe(_ step: Step) -> String {
        WorkerViolation.plain("\(step.number) at \(Double(step.time) / 1_000) ms: \(step.action)")
    }

    /// The world in words, a line for each part.
    package var worldDescription: [String] {
        var recycling: [String] = []
        if let age = limits.age { recycling.append("an age of \(age)") }
        if let messages = limits.messages { recycling.append("\(messages) messages") }
        if let memory = limits.memory { recycling.append("\(memory) bytes") }
        if let limit = limits.memoryLimit { recycling.append("killed above \(limit) bytes") }
        return [
            "start timeout \(startTimeout), \(spares) spare(s), \(bucket.rate) spawns a second, \(bucket.burst) at once",
            "recycled after " + (recycling.isEmpty ? "nothing" : recycling.joined(separator: ", "))
                + "; \(WorkerViolation.plain("\(shutdown)"))",
            "heartbeat \(limits.heartbeat), a silent executor is \(limits.restartsSilentExecutor ? "given up" : "reported"), the shell lags by \(lag) µs, traits: "
                + (rarity == 0 ? "none" : "one in \(rarity)"),
        ]
    }
}
