import Testing

/// The implementation that carries out a case: each case runs on all that it fits, with the same expectations.
enum Backend: String, CaseIterable, CustomTestStringConvertible {
    /// Coordinators in the process of the tests.
    case inProcess
    /// The supervisor's children in worker processes.
    case worker
    /// The supervision machine alone, under a clock that is moved by hand.
    case machine

    var testDescription: String { rawValue }
}
