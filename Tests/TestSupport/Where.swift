public import Testing

/// Where what a scenario is about lives: the scenario is run for both, with the same expectations.
public enum Where: String, CaseIterable, CustomTestStringConvertible, Sendable {
    case inProcess, worker

    public var isWorker: Bool { self == .worker }
    public var testDescription: String { rawValue }
}
