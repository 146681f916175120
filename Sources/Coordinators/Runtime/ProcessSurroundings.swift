import ConcurrencySupport
import Processes
import WireProtocol

/// What a child process has around its program: its environment, its directory, its attributes.
struct ProcessSurroundings: Sendable, Hashable {
    /// The variables that are set on top of all others.
    var environment: [String: String] = [:]
    /// The files of variables that are read at each start.
    var environmentFiles: [String] = []
    var inheritsEnvironment = true
    var directory: String?
    var attributes = ProcessAttributes()

    /// The variables, for comparisons; the number of a child's instances counts as it was when the process began.
    var condensedVariables: JSONValue {
        let compared = environment.filter { $0.key != InstanceVariables.count }.sorted { $0.key < $1.key }
        return .array(compared.flatMap { [.string($0.key), .string($0.value)] })
    }

    /// What a process may have besides its variables and its directory, for comparisons; a file counts by its name.
    var condensed: JSONValue {
        let limits = attributes.limits.sorted { $0.key.rawValue < $1.key.rawValue }.flatMap { resource, limit in
            [resource.rawValue] + [limit.soft, limit.hard].map { $0.map { String($0) } ?? "" }
        }
        let texts = [attributes.umask.map { String($0) } ?? "", attributes.nice.map { String($0) } ?? ""] + limits
        var fields: [JSONValue] = [
            .bool(inheritsEnvironment), .array(environmentFiles.map { .string($0) }), .array(texts.map { .string($0) }),
        ]
        // Most processes have this one's.
        let accounts = [attributes.user, attributes.group]
        if accounts != [nil, nil] { fields.append(.array(accounts.map { $0.map { .string($0) } ?? .null })) }
        // Few processes have these.
        if let score = attributes.oomScoreAdjustment { fields.append(.string("oom \(score)")) }
        if let capabilities = attributes.capabilities {
            fields.append(.string("capabilities \(capabilities.map(\.rawValue).sorted().joined(separator: " "))"))
        }
        if let limits = attributes.groupLimits { fields.append(.string("group \(limits)")) }
        return .array(fields)
    }

    /// Reads the files, and returns the variables that are set on top of the inherited ones; may block.
    ///
    /// - Parameters:
    ///   - account: That of the process, if it isn't this one's.
    ///   - limit: The time for each file.
    func variables(for account: Account?, within limit: Duration = BlockingCalls.usualLimit) throws(ProcessError) -> [String: String] {
        if environmentFiles.isEmpty { return environment }
        return try EnvironmentFile.load(environmentFiles, for: account, within: limit).merging(environment) { $1 }
    }
}

extension ProgramSpecification {
    var surroundings: ProcessSurroundings {
        ProcessSurroundings(
            environment: environment,
            environmentFiles: environmentFiles,
            inheritsEnvironment: inheritsEnvironment,
            directory: directory,
            attributes: attributes
        )
    }
}
