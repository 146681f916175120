public import Supervision
public import WorkerLifecycle

/// A path with a worker and spares, before its first moment, and all that will be done to it.
public struct WorkerScenario: Sendable {
    /// Something that is done to the world, at a time of its own.
    public struct Step: Sendable {
        /// Its number in the whole scenario, which it keeps when others are left out.
        public var number: Int
        /// When, in microseconds.
        public var time: Int
        /// What.
        public var action: Action
    }

    /// Whom an action concerns.
    public enum Target: Sendable, Hashable {
        /// The worker that has the life.
        case life
        /// One of the spares.
        case spare
    }

    /// What can be done to the world.
    public enum Action: Sendable, Hashable {
        /// The life, or its start, is to end; whether it comes back.
        case stop(Shutdown, comesBack: Bool)
        /// The path is to have a life.
        case start
        /// The coordinator is paused, or resumed.
        case pause(Bool)
        /// The coordinator is sent so many messages.
        case messages(Int)
        /// The process occupies so much memory.
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
        /// For this long, in microseconds, no process can be spawned.
        case failSpawns(for: Int)
        /// For this long, in microseconds, the processes above take their time.
        case delayAnnouncements(for: Int)
        /// For this long, in microseconds, the parent does nothing.
        case delayParent(for: Int)
        /// The next process that is spawned has this about it.
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

    /// What a worker may have about it.
    public enum Trait: Sendable, Hashable, CaseIterable {
        /// It has closed the descriptor of its ticket.
        case closesTicket
        /// It exits with code 78 before it reads its ticket.
        case exitsAtOnce
        /// It reads its ticket and never dials.
        case neverDials
        /// It doesn't dial again when its link is lost.
        case neverDialsAgain
        /// Its hello is refused.
        case speaksAnotherProtocol
        /// Its start can't be told.
        case cannotBeTold
        /// Its start throws.
        case startThrows
        /// Its start takes seconds.
        case startsSlowly
        /// Its start doesn't end.
        case startHangs
        /// Its start takes long to end when it's stopped.
        case stopsStartSlowly
        /// It doesn't hear the stop frame.
        case ignoresStop
        /// It doesn't hear SIGTERM.
        case ignoresTermination
        /// It announces its end and doesn't exit.
        case staysAfterFarewell
        /// Its exit is told late.
        case exitsLate
        /// The processes above refuse to know of it.
        case announcementFails
    }

    /// Where all chance comes from.
    public var seed: UInt64
    /// How long things may take.
    public var limits: WorkerMachine.Limits
    /// How long a start may take.
    public var startTimeout: Duration
    /// How a life is stopped that is recycled.
    public var shutdown: Shutdown
    /// How many spares wait.
    public var spares: Int
    /// How often a process may spawn.
    public var bucket: TokenBucket
    /// How long it takes until the shell carries directives out, in microseconds.
    public var lag: Int
    /// One in how many workers has each trait; 0: none.
    public var rarity: Int
    /// What is done, in order of time.
    public var steps: [Step]

    /// The same world with some of the steps.
    public func keeping(_ numbers: Set<Int>) -> WorkerScenario {
        var scenario = self
        scenario.steps.removeAll { !numbers.contains($0.number) }
        return scenario
    }

    /// The step in words.
    public func describe(_ step: Step) -> String {
        WorkerViolation.plain("\(step.number) at \(Double(step.time) / 1_000) ms: \(step.action)")
    }

    /// The world in words, a line for each part.
    public var worldDescription: [String] {
        var recycling: [String] = []
        if let age = limits.age { recycling.append("an age of \(age)") }
        if let messages = limits.messages { recycling.append("\(messages) messages") }
        if let memory = limits.memory { recycling.append("\(memory) bytes") }
        return [
            "start timeout \(startTimeout), \(spares) spare(s), \(bucket.rate) spawns a second, \(bucket.burst) at once",
            "recycled after " + (recycling.isEmpty ? "nothing" : recycling.joined(separator: ", "))
                + "; \(WorkerViolation.plain("\(shutdown)"))",
            "heartbeat \(limits.heartbeat), the shell lags by \(lag) µs, traits: " + (rarity == 0 ? "none" : "one in \(rarity)"),
        ]
    }
}
