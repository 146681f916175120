public import Coordinators

/// The root of the worker's program, should anybody run that by hand: the tests' trees have roots of their own.
public actor PatternRoot: Coordinator {
    public nonisolated let context: Context<PatternRoot>

    public init(_ context: Context<PatternRoot>, _ configuration: NoConfiguration) {
        self.context = context
    }
}
