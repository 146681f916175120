// Swift's runtime tells the thread sanitizer that the resumption of a continuation happens before its task goes on, unless the task has not
// been suspended yet: `swift_continuation_await` returns at once then, and the sanitizer would report everything that the resumption hands
// over. In a build for the sanitizer these functions take the place of the standard library's, and tell it in any case.

#if COORDINATORS_SANITIZE_THREAD
@usableFromInline
package func withCheckedContinuation<T>(
    isolation: isolated (any Actor)? = #isolation,
    function: String = #function,
    _ body: (CheckedContinuation<T, Never>) -> Void
) async -> sending T {
    let result = await _Concurrency.withCheckedContinuation(isolation: isolation, function: function, body)
    acquireResumption()
    return result
}

@usableFromInline
package func withUnsafeContinuation<T>(
    isolation: isolated (any Actor)? = #isolation,
    _ body: (UnsafeContinuation<T, Never>) -> Void
) async -> sending T {
    let result = await _Concurrency.withUnsafeContinuation(isolation: isolation, body)
    acquireResumption()
    return result
}

private func acquireResumption() {
    // The runtime's own name for the resumption: the address of the task, which is all that this structure holds.
    withUnsafeCurrentTask { task in
        if let task { acquire(unsafeBitCast(task, to: UnsafeMutableRawPointer.self)) }
    }
}

@_silgen_name("__tsan_acquire")
private func acquire(_ address: UnsafeMutableRawPointer)
#endif
