import Processes
import Supervision
import WireProtocol

/// The data that a parent keeps of a child, and needs again at every restart.
final class ChildDefinition: Sendable {
    /// The kind of the child and its data.
    enum Kind: Sendable {
        case coordinator(CoordinatorDefinition)
        indirect case program(ProgramSpecification)
    }

    /// The specification for the supervisor; the id is the key.
    let specification: ChildSpecification
    let kind: Kind

    init(_ specification: ChildSpecification, _ kind: Kind) {
        self.specification = specification
        self.kind = kind
    }

    var key: String { specification.id }

    /// The name of the type, by which a living child is compared with the requested one.
    var typeName: String {
        switch kind {
        case .coordinator(let coordinator): coordinator.typeName
        case .program(let program): program.command.first ?? ""
        }
    }

    /// The configuration of a coordinator.
    var configuration: ConfigurationValue? {
        if case .coordinator(let coordinator) = kind { coordinator.configuration } else { nil }
    }

    /// Whether the child is known to have no configuration.
    var hasNoConfiguration: Bool {
        switch configuration {
        case .value(let value): value is NoConfiguration
        case .json, .encoded: false
        case nil: true
        }
    }

    /// Returns the same definition with another configuration; `nil` for a program, which has none.
    func configured(with configuration: ConfigurationValue) -> ChildDefinition? {
        guard case .coordinator(let coordinator) = kind else { return nil }
        return ChildDefinition(specification, .coordinator(CoordinatorDefinition(configuration: configuration, place: coordinator.place)))
    }

    /// Returns the names of the fields in which the configuration differs from that of another child.
    func differences(from other: ChildDefinition) throws(CoordinatorError) -> [String] {
        guard let configuration, let others = other.configuration else { return [] }
        return try configuration.differences(from: others)
    }

    /// Whether the child is a coordinator in the process of its parent.
    var isInProcess: Bool {
        if case .coordinator(let coordinator) = kind { coordinator.isInProcess } else { false }
    }

    /// Whether the child is a coordinator in a process of its own.
    var isInWorker: Bool {
        if case .coordinator(let coordinator) = kind, case .worker = coordinator.place { true } else { false }
    }
}

/// A coordinator that is to be started.
struct CoordinatorDefinition: Sendable {
    enum Place: Sendable {
        case inProcess(CoordinatorType)
        /// Whether the child runs in the parent's process although it was placed in a worker, as in tests.
        indirect case insteadOfWorker(CoordinatorType)
        indirect case worker(typeName: String, WorkerProgram, WorkerPlan)
    }

    // In this order the definition has no padding inside.
    let place: Place
    let configuration: ConfigurationValue

    init(configuration: ConfigurationValue, place: Place) {
        self.place = place
        self.configuration = configuration
    }

    var isInProcess: Bool {
        switch place {
        case .inProcess, .insteadOfWorker: true
        case .worker: false
        }
    }

    var typeName: String {
        switch place {
        case .inProcess(let type), .insteadOfWorker(let type): type.name
        case .worker(let typeName, _, _): typeName
        }
    }
}

/// The program that a worker runs.
struct WorkerProgram: Sendable, Hashable {
    /// The path or name of the executable; `nil`: the runtime's own executable.
    var executable: String?
    var arguments: [String] = []
    /// The variables that are set on top of the parent's environment.
    var environment: [String: String] = [:]
    var directory: String?
    var environmentFiles: [String] = []
    var inheritsEnvironment = true
    var attributes = ProcessAttributes()
    /// The epoch under which a node of a cluster owns the subtree; `nil`: it isn't a cluster's.
    ///
    /// A worker that has one dies with its parent.
    var fence: UInt64?
}

extension WorkerProgram {
    var surroundings: ProcessSurroundings {
        ProcessSurroundings(
            environment: fence.map { environment.merging([WorkerEnvironment.fenceVariable: "\($0)"]) { $1 } } ?? environment,
            environmentFiles: environmentFiles,
            inheritsEnvironment: inheritsEnvironment,
            directory: directory,
            attributes: attributes
        )
    }
}
