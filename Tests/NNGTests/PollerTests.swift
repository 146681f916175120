import ConcurrencySupport
import Glibc
import TestSupport
import Testing

@testable import NNG

#if !SLOW_PATH_ONLY
@Suite("nng's poller", .serialized, .timeLimit(minutes: 1))
struct PollerTests {
    /// The policies of sched(7) of all threads of this process.
    private static func policies() throws -> [Int32] {
        let directory = try #require(opendir("/proc/self/task"))
        defer { closedir(directory) }
        var policies: [Int32] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            // A thread may have ended since.
            if let thread = pid_t(name), case let policy = sched_getscheduler(thread), policy >= 0 { policies.append(policy) }
        }
        return policies
    }

    @Test("The poller takes no thread's place while a socket is connected, and is scheduled as before afterwards")
    func policy() async throws {
        Library.prepare()
        var during: [Int32] = []
        Poller.standBack { during = (try? Self.policies()) ?? [] }
        // SCHED_BATCH is 3.
        #expect(during.count { $0 == 3 } == 1)
        // Under the lock, since other tests connect meanwhile.
        #expect(try Poller.thread.withLock { _ in try Self.policies() }.allSatisfy { $0 == SCHED_OTHER })
        let pair = try await StreamPair()
        #expect(try Poller.thread.withLock { _ in try Self.policies() }.allSatisfy { $0 == SCHED_OTHER })
        pair.close()
    }
}
#endif
