import Glibc
import Testing

/// A race that is there on purpose: `Deploy/test --sanitize thread` runs it alone, and fails unless the sanitizer reports it.
@Suite struct DeliberateRaceTests {
    @Test(.enabled(if: getenv("COORDINATORS_TEST_RACE") != nil, "the sanitizer reports it"))
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
