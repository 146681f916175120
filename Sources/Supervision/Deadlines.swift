/// The times at which children are to be started again, soonest first: a binary heap.
///
/// An entry stays in the heap when its restart is cancelled, so the reader checks whether an entry is still valid.
struct Deadlines<ID: Hashable & Sendable>: Sendable {
    struct Entry: Sendable {
        let time: Duration
        /// The number of the appointment; the child stores the number of its current one.
        let ticket: UInt64
        let id: ID

        /// Appointments for the same time are kept in the order in which they were made.
        static func < (left: Entry, right: Entry) -> Bool {
            left.time == right.time ? left.ticket < right.ticket : left.time < right.time
        }
    }

    private var heap: [Entry] = []
    private var lastTicket: UInt64 = 0

    var count: Int { heap.count }
    var first: Entry? { heap.first }

    mutating func add(_ id: ID, at time: Duration) -> UInt64 {
        lastTicket += 1
        heap.append(Entry(time: time, ticket: lastTicket, id: id))
        siftUp(from: heap.count - 1)
        return lastTicket
    }

    mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        siftDown(from: 0)
    }

    /// Keeps only the entries that are still valid.
    mutating func retain(where holds: (Entry) -> Bool) {
        heap.removeAll { !holds($0) }
        for index in stride(from: heap.count / 2 - 1, through: 0, by: -1) {
            siftDown(from: index)
        }
    }

    private mutating func siftUp(from start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child] < heap[parent] else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func siftDown(from start: Int) {
        var parent = start
        while true {
            var smallest = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && heap[child] < heap[smallest] {
                smallest = child
            }
            guard smallest != parent else { return }
            heap.swapAt(parent, smallest)
            parent = smallest
        }
    }
}
