public import Testing

/// The place of the coordinator that a scenario is about: the scenario runs for both places, with the same expectations.
public enum Where: String, CaseIterable, CustomTestStringConvertible, Sendable {
    case inProcess, worker

    public var isWorker: Bool { self == .worker }
    public var testDescription: String { rawValue }
}
