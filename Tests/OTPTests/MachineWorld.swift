import Coordinators
import Fixtures

/// The clock and the agenda of simulated supervisors, and the log of what becomes of their children.
final class MachineWorld {
    private(set) var now = Duration.seconds(1_000)
    var log: [Entry] = []
    private var agenda: [(time: Duration, action: () -> Void)] = []

    /// Has something done at a time; at one time, in the order in which it was asked for.
    func at(_ time: Duration, _ action: @escaping () -> Void) {
        let place = agenda.firstIndex { $0.time > time } ?? agenda.endIndex
        agenda.insert((time, action), at: place)
    }

    func soon(_ action: @escaping () -> Void) { at(now, action) }

    /// Does what is due.
    func settle() {
        while let next = agenda.first, next.time <= now {
            agenda.removeFirst()
            next.action()
        }
    }

    /// Moves on to the next thing that is to be done.
    ///
    /// - Returns: whether there was one.
    func advance() -> Bool {
        guard let next = agenda.first else { return false }
        now = max(now, next.time)
        settle()
        return true
    }

    func advance(by duration: Duration) {
        let end = now + duration
        while let next = agenda.first, next.time <= end {
            now = max(now, next.time)
            settle()
        }
        now = end
    }
}
