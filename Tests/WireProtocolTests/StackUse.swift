import Glibc
import Testing

/// A measurement of the stack that a function takes.
enum StackUse {
    private static let size = 4 << 20
    private static let pattern: UInt8 = 0xA5

    private final class Job {
        let body: () throws -> Void
        var error: (any Error)?
        init(_ body: @escaping () throws -> Void) { self.body = body }
    }

    /// Runs the body on a thread of its own, whose stack was painted before.
    static func bytes(_ body: () throws -> Void) throws -> Int {
        let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        let stack = try #require(memory == MAP_FAILED ? nil : memory)
        defer { munmap(stack, size) }
        memset(stack, Int32(pattern), size)
        // Not `pthread_attr_t()`: the type belongs to the module whose headers the compiler reads first, which need not be that of Glibc.
        let attributes = UnsafeMutablePointer<pthread_attr_t>.allocate(capacity: 1)
        pthread_attr_init(attributes)
        defer {
            pthread_attr_destroy(attributes)
            attributes.deallocate()
        }
        try #require(pthread_attr_setstack(attributes, stack, size) == 0)
        try withoutActuallyEscaping(body) { body in
            let job = Job(body)
            var thread = pthread_t()
            // Unsafe: the job outlives the thread, which is waited for.
            let status = pthread_create(
                &thread,
                attributes,
                { argument in
                    let job = Unmanaged<Job>.fromOpaque(argument!).takeUnretainedValue()
                    do { try job.body() } catch { job.error = error }
                    return nil
                },
                Unmanaged.passUnretained(job).toOpaque()
            )
            try #require(status == 0)
            pthread_join(thread, nil)
            if let error = withExtendedLifetime(job, { job.error }) { throw error }
        }
        let painted = UnsafeRawBufferPointer(start: stack, count: size)
        return size - (painted.firstIndex { $0 != pattern } ?? size)
    }
}
