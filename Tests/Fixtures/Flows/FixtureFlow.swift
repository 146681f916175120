public import Coordinators

/// The messages of the tests of flows, delegates, dependencies and pages to their coordinators.
public enum FixtureFlow {
    /// The slice of the navigation stack that a step coordinator calls its own.
    public struct Pages: ResponderMessage {
        public typealias Reply = [StepCoordinator.Page]
        public init() {}
    }

    /// Starts a step coordinator as a child of the responder.
    public struct StartStep: ResponderMessage {
        public typealias Reply = String
        public var key: String
        public var inWorker: Bool
        public var configuration: StepCoordinator.Configuration
        public init(_ key: String, inWorker: Bool, _ configuration: StepCoordinator.Configuration) {
            self.key = key
            self.inWorker = inWorker
            self.configuration = configuration
        }
    }

    /// Starts a coordinator of the responder's type as its child, with the same notebook.
    public struct StartAlike: ResponderMessage {
        public var key: String
        public var inWorker: Bool
        public init(_ key: String, inWorker: Bool) { (self.key, self.inWorker) = (key, inWorker) }
    }

    /// A parent's decision about the dismissal of its children.
    public enum Decision: String, Codable, Sendable {
        case dismiss, refuse, forward
        /// The parent never decides.
        case never
    }

    static func decide(_ decision: Decision) async -> DismissalDecision {
        switch decision {
        case .dismiss: return .dismiss
        case .refuse: return .refuse
        case .forward: return .forward
        case .never:
            try? await Fixture.untilCancelled()
            return .dismiss
        }
    }
}

extension CoordinatorContext where C.Configuration: NotingConfiguration, C.ChildKey == String {
    func startAlike(_ start: FixtureFlow.StartAlike) async throws {
        let notebook = configuration.notebook
        try await self.start(C.self, as: start.key, in: start.inWorker ? .worker : .inProcess) { $0.notebook = notebook }
    }
}
