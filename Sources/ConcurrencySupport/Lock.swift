// The lock of every target, tests included. Its mutex is Synchronization's, except for the thread sanitizer: that mutex is a futex in a
// library that isn't instrumented, so that the sanitizer doesn't see it and reports everything that it guards. The sanitizer knows the
// POSIX mutex.

#if !COORDINATORS_SANITIZE_THREAD
public import Synchronization

/// A value that one thread at a time can use.
///
/// The type is public, its members aren't: in other targets the compiler inlines only what belongs to public types.
public struct Lock<Value: ~Copyable>: ~Copyable, Sendable {
    @usableFromInline let mutex: Mutex<Value>

    @inlinable
    package init(_ initialValue: consuming sending Value) { mutex = Mutex(initialValue) }

    /// Runs a function that may use the value; nothing that waits or calls back belongs in it.
    @inlinable
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock(body)
    }
}
#else
import Glibc

/// A value that one thread at a time can use.
///
/// `@unchecked`: the mutex guards the value.
public struct Lock<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    // Unsafe: both belong to this lock alone, from its initializer to its end.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let value: UnsafeMutablePointer<Value>

    @usableFromInline
    package init(_ initialValue: consuming sending Value) {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        let status = pthread_mutex_init(mutex, nil)
        precondition(status == 0, "a mutex could not be made: \(status)")
        value = .allocate(capacity: 1)
        value.initialize(to: initialValue)
    }

    deinit {
        value.deinitialize(count: 1)
        value.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs a function that may use the value; nothing that waits or calls back belongs in it.
    @usableFromInline
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        // Unsafe: the mutex, which is held here, guards what it points to.
        nonisolated(unsafe) let value = value
        return try body(&value.pointee)
    }
}
#endif
