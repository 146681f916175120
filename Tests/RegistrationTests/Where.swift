import Testing

/// Where the registration lives: every scenario is run for both, with the same expectations.
enum Where: String, CaseIterable, CustomTestStringConvertible {
    case inProcess, worker

    var testDescription: String { rawValue }
}
