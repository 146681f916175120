public import Coordinators

/// A coordinator with what it needs and nothing else: no hook, no row.
public actor LifeBare: Coordinator {
    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }
}
