#if SLOW_PATH_ONLY
import Synchronization

/// A reference that is set once, and is the same for all threads from then on: the standard library's.
public struct LazyReference<Instance: AnyObject & Sendable>: ~Copyable, Sendable {
    private let reference = AtomicLazyReference<Instance>()

    package init() {}

    package borrowing func load() -> Instance? { reference.load() }

    /// Calls a function with the instance, if there is one.
    package borrowing func withInstance<Result>(_ body: (Instance) -> Result) -> Result? { load().map(body) }

    /// Sets the reference, unless another thread has set it before.
    ///
    /// - Returns: The instance that is referred to.
    package borrowing func storeIfNil(_ instance: Instance) -> Instance { reference.storeIfNil(instance) }
}
#endif
