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
                    effect: change.effect.rawValue,
                    cause: change.cause,
                    error: failures?[change.path]
                )
            },
            reordered: plan.reordered,
            unchanged: plan.unchanged
        )
    }
}
