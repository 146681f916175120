import CProcess
import Glibc

/// The attributes of a child in the kernel's terms: names are resolved.
package struct SpawnAttributes: Sendable {
    var account: Account?
    var umask: UInt32?
    var nice: Int?
    var oomScore: Int?
    /// The capabilities as bits of their numbers.
    var capabilities: UInt64?
    /// The limits in the order in which they are set.
    var limits: [(resource: ProcessAttributes.Resource, limit: ProcessAttributes.Limit)]

    /// Returns nil when all attributes are inherited.
    init?(_ attributes: ProcessAttributes, _ account: Account?) {
        if attributes.isEmpty { return nil }
        self.account = account
        umask = attributes.umask
        nice = attributes.nice
        oomScore = attributes.oomScoreAdjustment
        capabilities = attributes.capabilities?.reduce(0) { $0 | 1 << UInt64($1.number) }
        limits = attributes.limits.sorted { $0.key.number < $1.key.number }.map { ($0.key, $0.value) }
    }

    /// Creates the attributes of a process that only becomes another user's.
    init(account: Account) { (self.account, limits) = (account, []) }

    /// Calls a function with the attributes as C has them.
    ///
    /// Unsafe: the pointers in the structure are valid during the call.
    func withC<Result>(_ body: (UnsafePointer<coordinator_process_attributes>) -> Result) -> Result {
        let limits = limits.map { resource, limit in
            coordinator_process_limit(resource: resource.number, soft: limit.soft ?? .max, hard: limit.hard ?? .max)
        }
        return (account?.groups ?? []).withUnsafeBufferPointer { groups in
            limits.withUnsafeBufferPointer { limits in
                var attributes = coordinator_process_attributes(
                    changes_user: account == nil ? 0 : 1,
                    user: account?.user ?? 0,
                    group: account?.group ?? 0,
                    groups: groups.baseAddress,
                    group_count: Int32(groups.count),
                    umask: umask.map { Int32($0) } ?? -1,
                    has_nice: nice == nil ? 0 : 1,
                    nice: Int32(clamping: nice ?? 0),
                    limits: limits.baseAddress,
                    limit_count: Int32(limits.count),
                    has_oom_score: oomScore == nil ? 0 : 1,
                    oom_score: Int32(clamping: oomScore ?? 0),
                    has_capabilities: capabilities == nil ? 0 : 1,
                    capabilities: capabilities ?? 0
                )
                return body(&attributes)
            }
        }
    }
}

extension ProcessError {
    /// Creates the error of a failed spawn.
    ///
    /// - Parameter failure: The error number, with the step that has failed in the bits above.
    init(spawning specification: ProcessSpecification, _ attributes: SpawnAttributes?, failedWith failure: Int32) {
        let shift = Int32(COORDINATOR_PROCESS_STEP_SHIFT.rawValue)
        let (step, errno) = (failure >> shift, failure & ((1 << shift) - 1))
        let (executable, directory) = (specification.executable, specification.workingDirectory)
        self =
            ProcessError(spawning: executable, with: attributes, in: directory, step: step, errno: errno)
            ?? ProcessError(
                spawning: executable,
                in: directory,
                failedWith: errno,
                isThere: step == Int32(COORDINATOR_PROCESS_INTERPRETER.rawValue),
                searchPath: specification.searchPath
            )
    }

    /// Creates the error of a spawn in which an attribute couldn't be set; nil when the failed step wasn't one of these.
    private init?(spawning executable: String, with attributes: SpawnAttributes?, in directory: String?, step: Int32, errno: Int32) {
        let user = attributes?.account.map { " by user \($0.user)" } ?? ""
        let what: String
        switch step {
        case Int32(COORDINATOR_PROCESS_PRIORITY.rawValue):
            what = "the niceness \(attributes?.nice ?? 0) can't be set"
        case Int32(COORDINATOR_PROCESS_OOM_SCORE.rawValue):
            what = "its `oom_score_adj` \(attributes?.oomScore ?? 0) can't be set"
        case Int32(COORDINATOR_PROCESS_CAPABILITIES.rawValue):
            what = "its capabilities can't be set"
        case Int32(COORDINATOR_PROCESS_GROUPS.rawValue), Int32(COORDINATOR_PROCESS_GROUP.rawValue),
            Int32(COORDINATOR_PROCESS_USER.rawValue):
            what = "it can't become a process of user \(attributes?.account?.user ?? 0), group \(attributes?.account?.group ?? 0)"
        case Int32(COORDINATOR_PROCESS_CONTROL_GROUP.rawValue):
            self.init(
                code: .spawnFailed,
                errno: errno,
                message: "Could not start \"\(executable)\": it can't join the control group that is to hold its limits: "
                    + "\(Self.explanation(of: errno)). The groups below this process's own must be left to it alone (Delegate=yes)."
            )
            return
        case Int32(COORDINATOR_PROCESS_DIRECTORY.rawValue):
            self.init(
                code: .workingDirectoryUnavailable,
                errno: errno,
                message: "Could not start \"\(executable)\": its working directory \"\(directory ?? "")\" can't be entered\(user): "
                    + "\(Self.explanation(of: errno)). Create it, or correct the path or its permissions."
            )
            return
        case let step where step >= Int32(COORDINATOR_PROCESS_LIMIT.rawValue):
            let index = Int(step - Int32(COORDINATOR_PROCESS_LIMIT.rawValue))
            guard let limits = attributes?.limits, limits.indices.contains(index) else { return nil }
            what = "its limit \(limits[index].resource.rawValue) can't be set"
        default: return nil
        }
        let remedy = errno == EPERM || errno == EACCES ? " Only root may do this: run as root, or leave the setting out." : ""
        self.init(
            code: errno == EPERM || errno == EACCES ? .permissionDenied : .spawnFailed,
            errno: errno,
            message: "Could not start \"\(executable)\": \(what): \(Self.explanation(of: errno)).\(remedy)"
        )
    }
}
