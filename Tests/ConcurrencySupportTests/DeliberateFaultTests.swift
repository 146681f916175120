import Glibc
import Testing

/// Faults that are there on purpose: `Deploy/test --sanitize` runs the one of its sanitizer alone, and fails unless it is reported.
@Suite struct DeliberateFaultTests {
    private static let requested = getenv("COORDINATORS_TEST_FAULT").map { String(cString: $0) }

    @Test(.enabled(if: requested == "address", "the sanitizer reports it"))
    func memoryIsReadThatWasFreed() {
        let memory = UnsafeMutablePointer<Int>.allocate(capacity: 1)
        memory.initialize(to: 1)
        memory.deallocate()
        print("freed memory has \(memory.pointee)")
    }

    @Test(.enabled(if: requested == "thread", "the sanitizer reports it"))
    func twoThreadsWriteToTheSameMemoryWithoutALock() throws {
        let memory = UnsafeMutablePointer<Int>.allocate(capacity: 1)
        memory.initialize(to: 0)
        defer { memory.deallocate() }
        let threads = try (0..<2).map { _ in
            var thread = pthread_t()
            let status = pthread_create(
                &thread,
                nil,
                { memory in
                    memory?.assumingMemoryBound(to: Int.self).pointee += 1
                    return nil
                },
                memory
            )
            try #require(status == 0)
            return thread
        }
        for thread in threads { pthread_join(thread, nil) }
        #expect((1...2).contains(memory.pointee))
    }
}
