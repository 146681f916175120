// Saves: 30 % of the round trip of an ask to another process: 116 us without it, 81 us with it, for 14 % more processor time.
// Measured: `Measure round-trips place=worker busy-wait=0`, and 200; five rounds in turn.
// Off: `CoordinatorRuntime.Options.busyWait = .zero`, or COORDINATORS_SLOW_PATH_ONLY.

import ConcurrencySupport
import Glibc
import Synchronization

/// The beginning of the wait for another process's answer, for which the asking task keeps its thread.
///
/// To suspend a task and to wake a thread for it may take longer than the answer, above all on a virtual machine, where the host has to wake a
/// processor that has nothing to do. A task that looks for its answer has it at once, and keeps the processors awake for the other threads on
/// the way. Erlang's schedulers wait in this way before they sleep (`+sbwt`). Between two looks the processor is offered to other threads.
///
/// One task of the process waits so at a time. Waits in vain are paid by those that weren't: when too many answers are slow, a task in some
/// hundreds tries whether they are still. On a machine whose processors are all busy an offer takes as long as the others' turns: after one such
/// wait a thousand asks don't wait, and after the next one twice as many.
final class BusyWait: Sendable {
    static let shared = BusyWait()

    private enum Outcome {
        case answered, late
        /// The processor has come back much later than it was wanted.
        case preempted
    }

    /// The credit of a wait that ended with the answer.
    private static let gain = 1
    /// The price of one that didn't.
    private static let price = 4
    private static let mostCredit = 64
    /// The credit for another try: that of several waits, because the threads of both processes find their places in the first ones.
    private static let trial = 32
    /// The number of asks that don't wait when there is no credit left; it's doubled when a try fails.
    private static let rests = 1_024...65_536

    private let isTaken = Atomic(false)
    // Changed by the task that waits alone.
    private let credit = Atomic(mostCredit)
    private let rest = Atomic(rests.lowerBound)
    /// The number of waits that ended with the answer.
    private let answers = Atomic(0)
    /// The number of such waits after which a task gives up its thread all the same: others may want it, or the task's actor.
    private static let run = 16
    /// The number of asks that don't wait yet; one that isn't counted, because several begin at once, doesn't matter.
    private let skipped = Atomic(0)

    /// Waits until there is an answer, for as long as is worth it.
    ///
    /// - Parameter limit: The longest wait.
    /// - Returns: Whether the task is to give up its thread for a moment: it hasn't for a while.
    func wait(upTo limit: Duration, until hasAnswer: () -> Bool) -> Bool {
        let skips = skipped.load(ordering: .relaxed)
        guard skips == 0 else {
            skipped.store(skips - 1, ordering: .relaxed)
            return false
        }
        guard !isTaken.exchange(true, ordering: .acquiring) else { return false }
        defer { isTaken.store(false, ordering: .releasing) }
        let outcome = look(for: hasAnswer, upTo: limit)
        learn(outcome)
        guard outcome == .answered else { return false }
        return answers.wrappingAdd(1, ordering: .relaxed).newValue % Self.run == 0
    }

    private func look(for hasAnswer: () -> Bool, upTo limit: Duration) -> Outcome {
        let begin = MonotonicTime.now
        while !hasAnswer() {
            let elapsed = MonotonicTime.now - begin
            if elapsed >= limit { return elapsed < limit * 2 ? .late : .preempted }
            sched_yield()
        }
        return .answered
    }

    private func learn(_ outcome: Outcome) {
        let former = credit.load(ordering: .relaxed)
        switch outcome {
        case .answered:
            credit.store(min(former + Self.gain, Self.mostCredit), ordering: .relaxed)
            if former >= Self.mostCredit { rest.store(Self.rests.lowerBound, ordering: .relaxed) }
        case .late where former > Self.price: credit.store(former - Self.price, ordering: .relaxed)
        case .late, .preempted:
            let length = rest.load(ordering: .relaxed)
            skipped.store(length, ordering: .relaxed)
            rest.store(min(length * 2, Self.rests.upperBound), ordering: .relaxed)
            credit.store(Self.trial, ordering: .relaxed)
        }
    }
}

extension Envelope {
    /// Waits for the answer without giving up the thread, if another process is to answer, no other ask is open and the answer comes soon.
    ///
    /// - Returns: Whether the task is to give up the thread for a moment.
    @inline(never)
    func awaitsBusily() -> Bool { (way?.peer as? Peer)?.awaitBusily(self) == true }
}

extension Peer {
    /// Waits for the answer to an ask without giving up the thread, if no other ask is open and the answer comes soon.
    ///
    /// - Returns: Whether the task is to give up the thread for a moment.
    fileprivate func awaitBusily(_ envelope: Envelope) -> Bool {
        guard busyWait > .zero, counts.openAsks.load(ordering: .relaxed) == 1 else { return false }
        return BusyWait.shared.wait(upTo: busyWait) { envelope.hasEnded }
    }
}
