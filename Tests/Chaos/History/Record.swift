/// One line of a run's history: at a time, something happened in a process, or was done to it.
///
/// A process writes each of its lines with a single write(2) before it goes on, so that the line outlives a `kill -9`.
package struct Record: Hashable, Sendable {
    /// The nanoseconds of the machine's monotonic clock.
    package var time: Int64
    /// The process that the record is about.
    package var process: ProcessLife
    /// What happened.
    package var event: Event

    /// Creates a record.
    package init(time: Int64, process: ProcessLife, _ event: Event) {
        (self.time, self.process, self.event) = (time, process, event)
    }
}

/// One use of a process number.
package struct ProcessLife: Hashable, Sendable, CustomStringConvertible {
    /// The process number.
    package var processID: Int32
    /// The start time of the process, in clock ticks since the boot.
    package var startTime: UInt64

    /// Creates the value.
    package init(processID: Int32, startTime: UInt64) {
        (self.processID, self.startTime) = (processID, startTime)
    }

    /// The number and the start time, such as `4711.998877`.
    package var description: String { "\(processID).\(startTime)" }
}

/// The identity of a message: the life of its sender, and the sender's number for it, counted from 1.
package struct MessageID: Hashable, Sendable, CustomStringConvertible {
    /// The process of the sender, which has one sender only.
    package var sender: ProcessLife
    /// The number, which grows with each message that the sender sends.
    package var number: Int

    /// Creates the value.
    package init(sender: ProcessLife, number: Int) {
        (self.sender, self.number) = (sender, number)
    }

    /// The identity as text, such as `4711.998877/17`.
    package var description: String { "\(sender)/\(number)" }
}

extension Record {
    /// What happened in a process, or was done to it.
    package enum Event: Hashable, Sendable {
        /// An incarnation began in the process.
        ///
        /// It's alone when no other process held the lock of its path, which each life holds until the kernel has ended it. Where the lives of
        /// the path overlap, it may begin beside the one before it.
        case begun(path: String, incarnation: UInt32, role: Role, isAlone: Bool, overlaps: Bool = false)
        /// The incarnation is ready.
        case ready
        /// The incarnation has ended in order.
        case ended
        /// The incarnation is about to send a message to a path.
        case sent(number: Int, kind: MessageKind, target: String)
        /// The call with which a message was sent has returned or thrown.
        case settled(number: Int, outcome: Outcome)
        /// The incarnation has begun to handle a message.
        case executed(message: MessageID, kind: MessageKind)
        /// The driver has done something to the process.
        case fault(Fault)
        /// What the driver has held up goes on.
        case continued
        /// The driver has seen that the process lives.
        case alive
        /// The driver has seen that the process has ended.
        case gone
        /// The driver has seen that the process lives although the run has ended.
        case left
        /// The driver has looked at what the process has.
        case sampled(Sample)
    }

    /// The part that an incarnation plays.
    package enum Role: String, Sendable {
        /// The root of the tree, whose process is the daemon or plays it.
        case root
        case parent
        case leaf
        case sender
    }

    /// The way in which a message is sent.
    package enum MessageKind: String, Sendable {
        /// Sent one way, with an acknowledgement.
        case acknowledged
        /// Sent one way: it may be lost.
        case plain
        /// Asked.
        case ask
        /// Asked, and asked again by the runtime when a process was lost: it may be handled several times.
        case repeated
    }

    /// The end of the call that has sent a message.
    package enum Outcome: Hashable, Sendable {
        /// The message was handled.
        case acknowledged
        /// The message was accepted, which proves nothing.
        case accepted
        /// No coordinator responds to the message.
        case refused
        /// The call has thrown an error.
        case failed(code: String, maybeExecuted: Bool)
    }

    /// What the driver does to a process.
    package enum Fault: String, Sendable, CaseIterable {
        /// Kills it with -9.
        case kill
        /// Stops it for a while.
        case stop
        /// Holds back the bytes of its link for a while.
        case clog
        /// Breaks all its links, while it lives on.
        case cut
        /// Has it end in order, to be started again.
        case restart
        /// Ends the run: only of the root.
        case end

        /// Whether the process lives on, and is there again some time later.
        package var isInterruption: Bool {
            switch self {
            case .stop, .clog, .cut: true
            case .kill, .restart, .end: false
            }
        }
    }

    /// What a process has, as the kernel counts it.
    package struct Sample: Hashable, Sendable {
        /// The part of the run in which the sample was taken.
        package enum Phase: String, Sendable {
            /// Before the storm, when all is quiet.
            case before
            case during
            /// After the storm, when all is quiet again.
            case after
        }

        package var phase: Phase
        /// The resident memory.
        package var kibibytes: Int
        package var descriptors: Int
        package var threads: Int
        /// The children that have ended and were not waited for.
        package var zombies: Int
        /// The files in the runtime directory.
        package var files: Int

        /// Creates a sample.
        package init(_ phase: Phase, kibibytes: Int, descriptors: Int, threads: Int, zombies: Int, files: Int) {
            (self.phase, self.kibibytes, self.descriptors) = (phase, kibibytes, descriptors)
            (self.threads, self.zombies, self.files) = (threads, zombies, files)
        }
    }
}

extension Record.Event {
    /// Whether only a process that lives can have written the record, or caused it.
    var provesLife: Bool {
        switch self {
        case .begun, .ready, .ended, .sent, .settled, .executed, .alive: true
        case .fault, .continued, .gone, .left, .sampled: false
        }
    }
}
