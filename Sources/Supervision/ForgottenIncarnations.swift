/// The last incarnations of children that were removed, so that no number is used twice for an id.
///
/// Remembering every id for ever would be a leak under many short-lived children. Past the limit all are folded into one number:
/// the highest of them, above which every new child then begins.
struct ForgottenIncarnations: Sendable {
    static var limit: Int { 1_024 }

    private var latest: [String: Incarnation] = [:]
    private var floor: Incarnation = 0

    var count: Int { latest.count }

    /// Returns the last incarnation that an id may have had, and drops the id from here, since it is a child again.
    mutating func recall(_ id: String) -> Incarnation {
        latest.isEmpty ? floor : max(latest.removeValue(forKey: id) ?? 0, floor)
    }

    mutating func remember(_ id: String, _ incarnation: Incarnation) {
        latest[id] = incarnation
        if latest.count > Self.limit {
            floor = max(floor, latest.values.max() ?? 0)
            latest = [:]
        }
    }
}
