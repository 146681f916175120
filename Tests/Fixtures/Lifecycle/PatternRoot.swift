public import Coordinators

/// The root of the worker's program, should anybody run that by hand: the tests' trees have roots of their own.
public actor PatternRoot: Coordinator {
    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }
}
