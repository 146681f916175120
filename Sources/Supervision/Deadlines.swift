/// The times at which children are to be started again, soonest first.
///
/// An entry stays when its restart is cancelled, so the reader checks whether an entry is still valid.
struct Deadlines: Sendable {
    struct Entry: Sendable, Comparable {
        let time: Duration
        /// The number of the appointment; the child stores the number of its current one.
        let ticket: UInt64
        let id: String

        /// Appointments for the same time are kept in the order in which they were made.
        static func < (left: Entry, right: Entry) -> Bool {
            left.time == right.time ? left.ticket < right.ticket : left.time < right.time
        }
    }

    private var heap = MinimumHeap<Entry>()
    private var lastTicket: UInt64 = 0

    var count: Int { heap.count }
    var first: Entry? { heap.first }

    mutating func add(_ id: String, at time: Duration) -> UInt64 {
        lastTicket += 1
        heap.insert(Entry(time: time, ticket: lastTicket, id: id))
        return lastTicket
    }

    mutating func removeFirst() { heap.removeFirst() }

    /// Keeps only the entries that are still valid.
    mutating func retain(where holds: (Entry) -> Bool) { heap.removeAll { !holds($0) } }
}
