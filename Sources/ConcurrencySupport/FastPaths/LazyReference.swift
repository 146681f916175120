// Saves: 31 % of the instructions of an ask in its asker's task: 1,908 without it, 1,321 with it; 4 % of a queued ask's.
// Measured: `Benchmarks/guard ask-direct ask-queued`, with this type and with one on `AtomicLazyReference`.
// Off: COORDINATORS_SLOW_PATH_ONLY: the standard library's reference, in LazyReference+Standard.swift.

public import Synchronization

/// A reference that is set once, and is the same for all threads from then on.
///
/// The standard library's `AtomicLazyReference` is compiled for all types at once: each load looks its own type up at run time, which took an
/// eighth of the instructions of an ask.
///
/// The type is public, its members aren't: in other targets the compiler inlines only what belongs to public types.
public struct LazyReference<Instance: AnyObject & Sendable>: ~Copyable, Sendable {
    /// The address of the instance, which this reference retains; zero: there is none yet.
    @usableFromInline let address = Atomic<UInt>(0)

    @inlinable
    package init() {}

    deinit {
        guard let pointer = UnsafeRawPointer(bitPattern: address.load(ordering: .acquiring)) else { return }
        // Unsafe: the address is that of an instance that was retained when it was stored.
        Unmanaged<Instance>.fromOpaque(pointer).release()
    }

    @inlinable
    package borrowing func load() -> Instance? {
        guard let pointer = UnsafeRawPointer(bitPattern: address.load(ordering: .acquiring)) else { return nil }
        // Unsafe: the instance lives as long as this reference.
        return Unmanaged<Instance>.fromOpaque(pointer).takeUnretainedValue()
    }

    /// Calls a function with the instance, if there is one, without retaining it.
    @inlinable
    package borrowing func withInstance<Result>(_ body: (Instance) -> Result) -> Result? {
        guard let pointer = UnsafeRawPointer(bitPattern: address.load(ordering: .acquiring)) else { return nil }
        // Unsafe: the instance lives as long as this reference, which the caller borrows.
        return Unmanaged<Instance>.fromOpaque(pointer)._withUnsafeGuaranteedRef(body)
    }

    /// Sets the reference, unless another thread has set it before.
    ///
    /// - Returns: The instance that is referred to.
    @inlinable
    package borrowing func storeIfNil(_ instance: Instance) -> Instance {
        let retained = Unmanaged.passRetained(instance)
        let desired = UInt(bitPattern: retained.toOpaque())
        if address.compareExchange(expected: 0, desired: desired, ordering: .acquiringAndReleasing).exchanged { return instance }
        retained.release()
        return load() ?? instance
    }
}
