/// What an operator can ask of a coordinator, from any process.
enum Operation: String, Sendable {
    case inspect, start, stop, restart, kill, pause, resume, counters

    /// It only looks, and must be quick; a start or a stop may take as long as the coordinators do.
    var isDescription: Bool { self == .inspect || self == .counters }
}
