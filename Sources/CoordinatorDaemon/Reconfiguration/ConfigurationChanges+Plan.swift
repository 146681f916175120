import Control
import DaemonConfiguration

extension ConfigurationChanges {
    /// - Parameter failures: the errors of changes that failed, by path; nil when the plan wasn't carried out.
    init(_ plan: ConfigurationPlan, file: String, failures: [String: String]? = nil) {
        self.init(
            file: file,
            isApplied: failures != nil,
            changes: plan.changes.map { change in
                Change(
                    path: change.path,
                    kind: change.kind.rawValue,
                    keys: change.keys,
                    values: change.differences.isEmpty
                        ? nil : change.differences.map { Value(key: $0.key, from: $0.former, to: $0.next) },
                    effect: change.effect.rawValue,
                    cause: change.cause,
                    error: failures?[change.path]
                )
            },
            reordered: plan.reordered,
            unchanged: plan.unchanged
        )
    }

    /// Returns the differences as a requester may know them: without values, unless the daemon's file is that one's.
    func told(to requester: Requester?) -> ConfigurationChanges {
        guard requester?.foreignAccount != nil else { return self }
        var told = self
        for index in told.changes.indices { told.changes[index].values = nil }
        return told
    }
}
