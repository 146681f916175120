import ConcurrencySupport
import Glibc
import Synchronization
import Testing

@Suite struct SanitizedContinuationTests {
    private final class Thing: Sendable {
        let number: Int

        init(_ number: Int) { self.number = number }
    }

    private final class Handover: Sendable {
        let continuation: CheckedContinuation<Thing, Never>
        /// Relaxed, so that the sanitizer knows of no other order than that of the continuation.
        let isResumed = Atomic(false)

        init(_ continuation: CheckedContinuation<Thing, Never>) { self.continuation = continuation }
    }

    @Test("What a continuation hands over before its task is suspended is no race to the sanitizer")
    func resumedEarly() async {
        let thing = await withCheckedContinuation { continuation in
            let handover = Handover(continuation)
            var thread = pthread_t()
            let status = pthread_create(
                &thread,
                nil,
                { pointer in
                    guard let pointer else { return nil }
                    let handover = Unmanaged<Handover>.fromOpaque(pointer).takeRetainedValue()
                    handover.continuation.resume(returning: Thing(7))
                    handover.isResumed.store(true, ordering: .relaxed)
                    return nil
                },
                Unmanaged.passRetained(handover).toOpaque()
            )
            precondition(status == 0)
            pthread_detach(thread)
            while !handover.isResumed.load(ordering: .relaxed) { sched_yield() }
        }
        #expect(thing.number == 7)
    }
}
