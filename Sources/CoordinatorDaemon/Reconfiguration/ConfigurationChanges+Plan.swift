import Control
import DaemonConfiguration

extension ConfigurationChanges {
    /// The number of values that are told; the changes after them have their keys alone.
    private static let maximumValues = 10_000

    /// - Parameter failures: the changes that failed or go on, by path; nil when the plan wasn't carried out.
    init(_ plan: ConfigurationPlan, file: String, failures: Reconfiguration.Failures? = nil) {
        var told = 0
        func values(of change: ConfigurationPlan.Change) -> [Value]? {
            told += change.differences.count
            guard !change.differences.isEmpty, told <= Self.maximumValues else { return nil }
            return change.differences.map { Value(key: $0.key, from: $0.former, to: $0.next) }
        }
        self.init(
            file: file,
            isApplied: failures != nil,
            changes: plan.changes.map { change in
                Change(
                    path: change.path,
                    kind: change.kind.rawValue,
                    keys: change.keys,
                    values: values(of: change),
                    effect: change.effect.rawValue,
                    cause: change.cause,
                    error: failures?[change.path].flatMap { $0.goesOn ? nil : $0.text },
                    pending: failures?[change.path].flatMap { $0.goesOn ? $0.text : nil }
                )
            },
            reordered: plan.reordered,
            unchanged: plan.unchanged
        )
    }

    /// Returns the differences as a requester may know them: without values, unless the daemon's file is that one's.
    func told(to requester: Requester?) -> ConfigurationChanges {
        requester?.foreignAccount == nil ? self : withoutValues
    }
}
