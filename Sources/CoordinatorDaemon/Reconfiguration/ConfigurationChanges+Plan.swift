import Control
import DaemonConfiguration

extension ConfigurationChanges {
    /// The number of values that are told; the changes after them have their keys alone.
    private static let maximumValues = 10_000

    /// - Parameters:
    ///   - places: the places of what the file says; nil when the change isn't one of the file.
    ///   - failures: the changes that failed or go on, by path; nil when the plan wasn't carried out.
    init(_ plan: ConfigurationPlan, file: String, places: ConfigurationPlaces? = nil, failures: Reconfiguration.Failures? = nil) {
        func place(of key: String? = nil, at path: String) -> Place? {
            places?.place(of: key, at: path).map { Place(file: $0.file, line: $0.line, column: $0.column) }
        }
        var told = 0
        func values(of change: ConfigurationPlan.Change) -> [Value]? {
            told += change.differences.count
            guard !change.differences.isEmpty, told <= Self.maximumValues else { return nil }
            return change.differences.map { difference in
                Value(key: difference.key, from: difference.former, to: difference.next, place: place(of: difference.key, at: change.path))
            }
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
                    pending: failures?[change.path].flatMap { $0.goesOn ? $0.text : nil },
                    // What is removed may be an instance, of which the file still has the child.
                    place: change.kind == .removed ? nil : place(of: change.path == "/" ? change.keys.first : nil, at: change.path)
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
