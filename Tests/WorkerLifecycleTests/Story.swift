import Supervision
import WorkerLifecycle

/// A worker's machine, and what it says, told step by step in a time of its own.
struct Story {
    var machine: WorkerMachine
    private(set) var now = Duration.seconds(100)
    /// The wake that is known to the owner.
    private(set) var wake: Duration?

    init(_ change: (inout WorkerMachine.Limits) -> Void = { _ in }) {
        var limits = WorkerMachine.Limits()
        change(&limits)
        machine = WorkerMachine(limits: limits)
    }

    /// Says that something has happened, and returns what is to be done but for the wake.
    @discardableResult
    mutating func tell(_ event: WorkerMachine.Event) -> [String] {
        var said: [String] = []
        if case .timePassed = event { wake = nil }
        for directive in machine.handle(event, now: now) {
            if case .process(.wake(let time)) = directive { wake = time } else { said.append(Self.words(directive)) }
        }
        return said
    }

    /// Lets time pass, with the wakes that are due, and returns what is to be done.
    @discardableResult
    mutating func wait(_ duration: Duration) -> [String] {
        let end = now + duration
        var said: [String] = []
        while let time = wake, time <= end {
            now = max(now, time)
            said += tell(.timePassed)
        }
        now = end
        return said
    }

    /// Lets seconds pass in which the worker's link answers each ping.
    @discardableResult
    mutating func beat(_ seconds: Int) -> [String] {
        (0..<seconds).flatMap { _ in
            defer { tell(.heard) }
            return wait(.seconds(1))
        }
    }

    /// Lets time pass of which the owner notices nothing until its end.
    mutating func oversleep(_ duration: Duration) {
        now += duration
    }

    /// Brings the process to where the processes above know of it.
    mutating func spawn(isSpare: Bool = false, timeout: Duration = .seconds(30)) {
        tell(isSpare ? .spareRequested : .startRequested(isRestart: false, timeout: timeout))
        tell(.spawned)
        tell(.announced)
    }

    /// Brings the coordinator to where it's ready, on link 1.
    mutating func makeReady() {
        spawn()
        tell(.linkAttached(1, refusal: nil))
        tell(.ready)
    }

    private static func words(_ directive: WorkerMachine.Directive) -> String {
        var text =
            switch directive {
            case .process(let directive): "\(directive)"
            case .link(let directive): "\(directive)"
            }
        for module in ["WorkerLifecycle.", "Supervision.", "WorkerLifecycleTests.", "WorkerMachine."] { text.replace(module, with: "") }
        return text
    }
}

struct StoryError: Error, CustomStringConvertible {
    var description: String { "an error" }
}
